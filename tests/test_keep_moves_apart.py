"""`moves-apart`: kernels that only move data stay out of fusion groups."""

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.passes.keep_moves_apart import KeepMovesApart


@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def slice(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 2})
        for i in range(4):
            B[i] = A[i + 2]

    @T.prim_func(private=True, s_tir=True)
    def flip(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 2})
        for i in range(8):
            B[i] = A[7 - i]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Before
        y = R.call_tir(cls.flip, (x,), out_ty=R.Tensor((8,), "float32"))
        z = R.call_tir(cls.slice, (y,), out_ty=R.Tensor((4,), "float32"))
        return z


@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def slice(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
        T.func_attr({"op_pattern": 8})
        for i in range(4):
            B[i] = A[i + 2]

    @T.prim_func(private=True, s_tir=True)
    def flip(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"op_pattern": 2})
        for i in range(8):
            B[i] = A[7 - i]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Expected
        y = R.call_tir(cls.flip, (x,), out_ty=R.Tensor((8,), "float32"))
        z = R.call_tir(cls.slice, (y,), out_ty=R.Tensor((4,), "float32"))
        return z


def test_moves_become_opaque():
    tvm.ir.assert_structural_equal(KeepMovesApart()(Before), Expected)


@I.ir_module
class Net:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(R.permute_dims(y))
            c = R.concat((a, R.permute_dims(b)), 0)
            d = R.nn.relu(c)
            e = R.split(R.tanh(d), 2, axis=0)
            f = R.add(e[0], e[1])
            R.output(f)
        return f


def kernels(*passes):
    front = [relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern(), *passes]
    back = [relax.transform.FuseOps(), relax.transform.FuseTIR()]
    mod = tvm.transform.Sequential([*front, *back])(Net)
    return sorted(n.name_hint for n in mod.get_global_vars() if n.name_hint != "main")


def test_fusion_leaves_them_alone():
    assert {"concatenate", "split"}.isdisjoint(kernels())
    apart = kernels(KeepMovesApart())
    assert {"concatenate", "split"} <= set(apart)
    assert any("transpose" in name and name.startswith("fused") for name in apart)
