"""Kernels that cannot take a tensor at any offset: right under every approach and planner."""

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.offsets import demanding_parameters
from tvm_aliasing.errors import UnsupportedError

X = np.asarray([5, 1, 4, 2, 3, 0], dtype="float32")
PROGRAMS = {}


def program(expected):
    def add(module):
        PROGRAMS[module.__name__] = module, expected(X)
        return module

    return add


@program(lambda x: np.concatenate([x, np.sort(x)]))
@I.ir_module
class SortIsJoined:
    @R.function
    def main(x: R.Tensor((6,), "float32")):
        return R.concat((x, R.sort(x, 0)), axis=0)


@program(lambda x: np.argsort(x[2:6]).astype("int32"))
@I.ir_module
class SortOfASlice:
    @R.function
    def main(x: R.Tensor((6,), "float32")):
        s = R.strided_slice(x, axes=[0], begin=[2], end=[6])
        return R.argsort(s, 0, dtype="int32")


@program(lambda x: np.sort(x * 2) + np.sort(x + 1) + x * 2 + x + 1)
@I.ir_module
class SortInAnArena:
    @R.function
    def main(x: R.Tensor((6,), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(x, R.const(2.0, "float32"))
        return R.add(R.add(R.add(R.sort(b, 0), R.sort(a, 0)), b), a)


@program(lambda x: np.sort(x[2:6]))
@I.ir_module
class SortOfAView:
    @R.function
    def main(x: R.Tensor((6,), "float32")):
        v = R.memory.view(x, R.shape([4]), R.dtype("float32"), 8)
        return R.sort(v, 0)


@program(lambda x: np.concatenate([x, x[1:5] + 1]))
@I.ir_module
class CopiesByPointer:
    @T.prim_func(private=True, s_tir=True)
    def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        with T.sblock("copy"):
            T.reads(A[0:4])
            T.writes(B[0:4])
            T.evaluate(T.call_extern("int32", "memcpy", B.data, A.data, 16))

    @R.function
    def main(x: R.Tensor((6,), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[5])
        t = R.call_tir(CopiesByPointer.copy, (s,), out_ty=R.Tensor((4,), "float32"))
        return R.concat((x, t), axis=0)


@program(lambda x: np.concatenate([x, (x + 1)[2:6] * 2]))
@I.ir_module
class DeclaresOffsetsInSteps:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (4,), "float32", offset_factor=16)
        B = T.match_buffer(b, (4,), "float32", offset_factor=16)
        for i in range(4):
            with T.sblock("double"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(2)

    @R.function
    def main(x: R.Tensor((6,), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[2], end=[6])
        t = R.call_tir(DeclaresOffsetsInSteps.double, (s,), out_ty=R.Tensor((4,), "float32"))
        return R.concat((x, t), axis=0)


@program(lambda x: x.reshape(2, 3).T.reshape(6))
@I.ir_module
class SplitAcrossIsJoined:
    """A kernel of several outputs, each of which has a place."""

    @R.function
    def main(x: R.Tensor((6,), "float32")):
        s = R.split(R.reshape(x, (2, 3)), 3, axis=1)
        return R.reshape(R.concat((s[0], s[1], s[2]), axis=0), (6,))


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("approach", ["copy", "k0", "alias:views", "alias:dest", "alias"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right(name, approach, planner):
    module, expected = PROGRAMS[name]
    for fused in (True, False):
        assert agrees(ta.build(module, approach, planner=planner, fused=fused).run(X), expected)


def test_an_arena_under_stock():
    module, expected = PROGRAMS["SortInAnArena"]
    assert agrees(ta.build(module, "stock", planner="arena").run(X), expected)


def test_parameters():
    assert demanding_parameters(CopiesByPointer["copy"]) == (0, 1)
    assert demanding_parameters(DeclaresOffsetsInSteps["double"]) == (0, 1)
    front = ta.build(SortOfAView, "copy").stages["front"]
    (sort,) = (name for name in front.get_global_vars() if name.name_hint.startswith("sort"))
    assert demanding_parameters(front[sort]) == (0, 1)


@I.ir_module
class Misaligned:
    @R.function
    def main(x: R.Tensor((32,), "int8")):
        v = R.memory.view(x, R.shape([4]), R.dtype("int32"), 3)
        return R.add(v, R.const(1, "int32"))


@pytest.mark.parametrize("approach", ["copy", "k0", "alias"])
def test_elements_that_are_not_whole_are_refused(approach):
    """TVM divides the byte offset by the size of an element, and reads from byte 0 here."""
    with pytest.raises(UnsupportedError, match="begins at a multiple of 1 bytes, and int32"):
        ta.build(Misaligned, approach)
