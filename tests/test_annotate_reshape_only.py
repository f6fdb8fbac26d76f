"""K0 marks what only reshapes, and changes nothing else."""

import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.passes.annotate_reshape_only import AnnotateReshapeOnly


@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def foo(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            with T.sblock("foo"):
                v = T.axis.spatial(8, i)
                B[v] = A[v // 4, v % 4]

    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 2), "float32")):
        for i, j in T.grid(4, 2):
            with T.sblock("T_reshape"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        cls = Before
        with R.dataflow():
            y = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((4, 2), "float32"))
            z = R.call_tir(cls.foo, (x,), out_ty=R.Tensor((8,), "float32"))
            R.output(y, z)
        return (y, z)


@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def foo(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tirx.noalias": True, "reshape_only": True})
        for i in range(8):
            with T.sblock("foo"):
                v = T.axis.spatial(8, i)
                B[v] = A[v // 4, v % 4]

    @T.prim_func(private=True, s_tir=True)
    def reshape(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 2), "float32")):
        for i, j in T.grid(4, 2):
            with T.sblock("T_reshape"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @R.function
    def main(x: R.Tensor((2, 4), "float32")):
        cls = Expected
        with R.dataflow():
            y = R.call_tir(cls.reshape, (x,), out_ty=R.Tensor((4, 2), "float32"))
            z = R.call_tir(cls.foo, (x,), out_ty=R.Tensor((8,), "float32"))
            R.output(y, z)
        return (y, z)


def test_marks_by_the_body():
    tvm.ir.assert_structural_equal(AnnotateReshapeOnly()(Before), Expected)


def test_the_key_is_what_backends_are_told():
    """The literal key, not the constant that the passes share."""
    after = AnnotateReshapeOnly()(Before)
    marked = {
        name.name_hint
        for name, function in after.functions_items()
        if "reshape_only" in function.attrs
    }
    assert marked == {"foo"}


def test_nothing_else_changes():
    """Forms as TVM legalises and fuses them: equal once the attribute is taken away."""
    x = relax.Var("x", relax.TensorType((2, 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.expand_dims(x, 0))
            z = bb.emit(relax.op.flatten(y))
            w = bb.emit(relax.op.squeeze(y))
            result = bb.emit_output(relax.Tuple([z, bb.emit(relax.op.add(w, w))]))
        bb.emit_func_output(result)
    before = relax.transform.LegalizeOps()(bb.get())
    after = AnnotateReshapeOnly()(before)
    marked = [
        name
        for name, function in after.functions_items()
        if isinstance(function, tirx.PrimFunc) and "reshape_only" in function.attrs
    ]
    assert sorted(name.name_hint for name in marked) == ["expand_dims", "reshape", "squeeze"]
    for name in marked:
        after.update_func(name, after[name].without_attr("reshape_only"))
    tvm.ir.assert_structural_equal(after, before)


def test_twice_is_once():
    once = AnnotateReshapeOnly()(Before)
    tvm.ir.assert_structural_equal(AnnotateReshapeOnly()(once), once)


@I.ir_module
class Mistaken:
    @T.prim_func(private=True, s_tir=True)
    def flip(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"reshape_only": True, "tirx.noalias": True})
        for i in range(8):
            with T.sblock("flip"):
                v = T.axis.spatial(8, i)
                B[v] = A[7 - v]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Mistaken
        return R.call_tir(cls.flip, (x,), out_ty=R.Tensor((8,), "float32"))


@I.ir_module
class Corrected:
    @T.prim_func(private=True, s_tir=True)
    def flip(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            with T.sblock("flip"):
                v = T.axis.spatial(8, i)
                B[v] = A[7 - v]

    @R.function
    def main(x: R.Tensor((8,), "float32")):
        cls = Corrected
        return R.call_tir(cls.flip, (x,), out_ty=R.Tensor((8,), "float32"))


def test_takes_away_a_mark_that_the_body_does_not_prove():
    tvm.ir.assert_structural_equal(AnnotateReshapeOnly()(Mistaken), Corrected)
