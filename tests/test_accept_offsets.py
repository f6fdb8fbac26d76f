"""AcceptOffsets: kernels that take tensors at offsets, and what else stays as it was."""

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from tvm_aliasing.passes.accept_offsets import ALIGNMENT, AcceptOffsets


def module(dtype):
    @I.ir_module
    class Add:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((32,), dtype), B: T.Buffer((32,), dtype)):
            T.func_attr({"tirx.noalias": True})
            for i in T.parallel(8):
                for j in T.vectorized(4):
                    with T.sblock("add"):
                        v = T.axis.spatial(32, i * 4 + j)
                        B[v] = A[v] + A[v]

    return Add


def at_offset(array, begin):
    """The elements of an array as a tensor that begins inside a longer one."""
    item = array.itemsize
    long = tvm.runtime.empty((len(array) + begin // item,), str(array.dtype))
    view = long._create_view(array.shape, str(array.dtype), begin)
    view.copyfrom(array)
    return view


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "float32", "float64"])
@pytest.mark.parametrize("begin", [0, ALIGNMENT, 5 * ALIGNMENT])
def test_tensors_at_offsets(dtype, begin):
    run = tvm.compile(AcceptOffsets(everywhere=True)(module(dtype)), "llvm")["main"]
    values = np.arange(32).astype(dtype)
    source, result = at_offset(values, begin), at_offset(np.zeros_like(values), 2 * begin)
    run(source, result)
    np.testing.assert_array_equal(result.numpy(), values + values)


def test_without_the_pass_an_offset_is_refused():
    run = tvm.compile(module("float32"), "llvm")["main"]
    values = np.arange(32, dtype="float32")
    with pytest.raises(Exception, match="byte_offset"):
        run(at_offset(values, ALIGNMENT), at_offset(values, 0))


def test_an_offset_that_is_not_aligned_is_refused():
    run = tvm.compile(AcceptOffsets(everywhere=True)(module("float32")), "llvm")["main"]
    values = np.arange(32, dtype="float32")
    with pytest.raises(Exception, match="Misaligned"):
        run(at_offset(values, ALIGNMENT // 2), at_offset(values, 0))


def test_the_body_stays_and_the_module_given_is_not_changed():
    mod = module("float32")
    before = mod.clone()
    after = AcceptOffsets(everywhere=True)(mod)
    tvm.ir.assert_structural_equal(mod, before)
    assert [param.ty.elem_offset for param in mod["main"].params] == [0, 0]
    assert all(isinstance(param.ty.elem_offset, tirx.Var) for param in after["main"].params)
    assert [list(param.ty.shape) for param in after["main"].params] == [[32], [32]]
    assert after["main"].attrs["tirx.noalias"]


def test_symbolic_shapes():
    @I.ir_module
    class Double:
        @T.prim_func(s_tir=True)
        def main(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i in range(n):
                with T.sblock("double"):
                    v = T.axis.spatial(n, i)
                    B[v] = A[v] + A[v]

    run = tvm.compile(AcceptOffsets(everywhere=True)(Double), "llvm")["main"]
    values = np.arange(5, dtype="float32")
    source, result = at_offset(values, ALIGNMENT), at_offset(np.zeros_like(values), 2 * ALIGNMENT)
    run(source, result)
    np.testing.assert_array_equal(result.numpy(), 2 * values)
