"""DropNoalias: the attribute goes, everything else stays."""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from tvm_aliasing.passes.drop_noalias import DropNoalias


@I.ir_module
class Before:
    @T.prim_func(s_tir=True)
    def promised(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.noalias": True, "op_pattern": 0})
        for i in range(4):
            with T.sblock("copy"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    @T.prim_func(s_tir=True)
    def silent(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("copy"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]


@I.ir_module
class Expected:
    @T.prim_func(s_tir=True)
    def promised(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(4):
            with T.sblock("copy"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    @T.prim_func(s_tir=True)
    def silent(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("copy"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]


def test_the_attribute_goes():
    given = Before.clone()
    tvm.ir.assert_structural_equal(DropNoalias()(given), Expected)
    tvm.ir.assert_structural_equal(given, Before)


def test_overlapping_tensors_are_then_read_and_written_in_order():
    """A shift over itself: each element is read before it is overwritten, in the loop's order."""

    @I.ir_module
    class Shift:
        @T.prim_func(s_tir=True)
        def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
            T.func_attr({"tirx.noalias": True})
            for i in range(7):
                with T.sblock("shift"):
                    v = T.axis.spatial(7, i)
                    B[v] = A[v + 1]

    run = tvm.compile(DropNoalias()(Shift), "llvm")["main"]
    tensor = tvm.runtime.tensor(np.arange(8, dtype="int32"))
    run(tensor, tensor)
    np.testing.assert_array_equal(tensor.numpy(), [1, 2, 3, 4, 5, 6, 7, 7])
