"""Kernels that are given the same bytes twice get a form for that; other calls keep theirs."""

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.alias_classes import AliasClasses
from tvm_aliasing.analysis.bindings import bindings_of, callee_of
from tvm_aliasing.passes.accept_overlaps import AcceptOverlaps, Overlap, overlaid, overlap_of

X = np.arange(32, dtype="float32").reshape(4, 8)


@I.ir_module
class Before:
    @T.prim_func(s_tir=True, private=True)
    def add(
        a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")
    ):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            c[i] = a[i] + b[i]

    @R.function(pure=False)
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        cls = Before
        _ = cls.add(x, y, x)
        _1 = cls.add(y, y, x)
        return x


@I.ir_module
class Expected:
    @T.prim_func(s_tir=True, private=True)
    def add(
        a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")
    ):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            c[i] = a[i] + b[i]

    @T.prim_func(s_tir=True, private=True)
    def add_in_place(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            a[i] = a[i] + b[i]

    @R.function(pure=False)
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        cls = Expected
        _ = cls.add_in_place(x, y)
        _1 = cls.add(y, y, x)
        return x


def test_one_tensor_is_one_parameter_and_other_calls_keep_their_kernel():
    tvm.ir.assert_structural_equal(AcceptOverlaps()(Before), Expected)


def test_a_module_without_overlaps_is_returned_as_it_is():
    twice = AcceptOverlaps()(Before)
    assert AcceptOverlaps()(twice).same_as(twice)


def variables_of(kernel):
    found = list(kernel.params)
    tvm_ffi.structural_walk(kernel.body, (ir.Var, found.append))
    return set(found)


def test_the_merged_kernel_has_variables_of_its_own():
    mod = AcceptOverlaps()(Before)
    merged, kept = variables_of(mod["add_in_place"]), variables_of(mod["add"])
    assert merged
    assert merged.isdisjoint(kept)


def overlaps(mod):
    """The overlap of each call in `main`, in order."""
    classes = AliasClasses(mod, mod["main"], elided=True)
    calls = [b.value for b in bindings_of(mod["main"].body)]
    kernels = [(call, callee_of(call, mod)) for call in calls]
    return [
        overlap_of(call, kernel, classes)
        for call, kernel in kernels
        if isinstance(kernel, tirx.PrimFunc)
    ]


@I.ir_module
class Overlapping:
    @T.prim_func(s_tir=True, private=True)
    def add(
        a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")
    ):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            c[i] = a[i] + b[i]

    @T.prim_func(s_tir=True, private=True)
    def cast(a: T.Buffer((8,), "float32"), c: T.Buffer((8,), "int32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            c[i] = T.Cast("int32", a[i])

    @T.prim_func(s_tir=True, private=True)
    def both(
        a: T.Buffer((8,), "float32"),
        b: T.Buffer((8,), "float32"),
        c: T.Buffer((8,), "float32"),
        d: T.Buffer((8,), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            c[i] = a[i] + T.float32(1)
            d[i] = b[i] + T.float32(1)

    @R.function(pure=False)
    def main(x: R.Tensor((8,), "float32"), z: R.Tensor((16,), "float32")):
        cls = Overlapping
        lower = R.memory.view(z, R.shape([8]), R.dtype("float32"), 0)
        middle = R.memory.view(z, R.shape([8]), R.dtype("float32"), 16)
        upper = R.memory.view(z, R.shape([8]), R.dtype("float32"), 32)
        bits = R.memory.view(x, R.shape([8]), R.dtype("int32"), 0)
        again = R.memory.view(z, R.shape([8]), R.dtype("float32"), 16)
        _ = cls.add(x, x, x)
        _1 = cls.add(lower, upper, lower)
        _2 = cls.add(lower, upper, middle)
        _3 = cls.add(middle, x, again)
        _4 = cls.cast(x, bits)
        _5 = cls.both(lower, upper, lower, upper)
        _6 = cls.add(lower, lower, upper)
        return x


def test_what_is_merged_and_what_overlaps_otherwise():
    assert overlaps(Overlapping) == [
        Overlap(((1, 0), (2, 0)), partial=False),
        Overlap(((2, 0),), partial=False),
        Overlap((), partial=True),
        Overlap(((2, 0),), partial=False),
        Overlap((), partial=True),
        Overlap(((2, 0), (3, 1)), partial=False),
        None,
    ]


@I.ir_module
class OneOfSeveral:
    @T.prim_func(s_tir=True, private=True)
    def add(
        a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32"), c: T.Buffer((8,), "float32")
    ):
        for i in range(8):
            c[i] = a[i] + b[i]

    @R.function(pure=False)
    def main(c: R.Tensor((), "bool"), x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "float32")):
        cls = OneOfSeveral
        if c:
            z = x
        else:
            z = y
        _ = cls.add(z, x, x)
        return x


def test_what_may_be_the_same_tensor_is_not_taken_for_it():
    assert overlaps(OneOfSeveral) == [Overlap(((2, 1),), partial=True)]


def _noalias(kernel):
    return bool(kernel.attrs and kernel.attrs.get("tirx.noalias", False))


def test_where_anything_overlaps_otherwise_no_kernel_keeps_noalias():
    found = AcceptOverlaps()(Overlapping)
    kernels = {
        name.name_hint: function
        for name, function in found.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }
    assert {"add", "cast", "both", "add_in_place", "both_in_place"} <= kernels.keys()
    assert not any(map(_noalias, kernels.values()))
    assert len(kernels["cast"].params) == 2
    tvm.ir.assert_structural_equal(kernels["cast"].body, Overlapping["cast"].body, True)


def test_what_is_merged_keeps_noalias():
    assert _noalias(overlaid(Overlapping["add"], ((2, 0),)))


def test_three_parameters_become_one():
    found = overlaid(Overlapping["add"], ((1, 0), (2, 0)))

    @T.prim_func(s_tir=True)
    def doubled(a: T.Buffer((8,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(8):
            a[i] = a[i] + a[i]

    tvm.ir.assert_structural_equal(found.body, doubled.body, map_free_vars=True)
    assert len(found.params) == 1


def test_self_stores_are_gone():
    @T.prim_func(s_tir=True)
    def put(
        cache: T.Buffer((4, 8), "float32"),
        row: T.Buffer((1, 8), "float32"),
        out: T.Buffer((4, 8), "float32"),
    ):
        for i, j in T.grid(4, 8):
            out[i, j] = cache[i, j]
        for j in range(8):
            out[2, j] = row[0, j]

    found = overlaid(put, ((2, 0),))

    @T.prim_func(s_tir=True)
    def expected(cache: T.Buffer((4, 8), "float32"), row: T.Buffer((1, 8), "float32")):
        for j in range(8):
            cache[2, j] = row[0, j]

    expected = expected.with_attr("global_symbol", "put")
    tvm.ir.assert_structural_equal(found, expected, map_free_vars=True)


@I.ir_module
class Casts:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.multiply(x, R.const(2.0, "float32"))
        b = R.astype(a, "int32")
        c = R.astype(b, "float32")
        d = R.add(c, c)
        e = R.astype(R.astype(x, "int32"), "float32")
        return R.add(d, e)


@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("planner", ["token", "arena"])
def test_casts_in_place_are_right(planner, exec_mode):
    built = ta.build(Casts, planner=planner, exec_mode=exec_mode, fused=False)
    assert agrees(built.run(X), 5 * X)
    mod = built.stages["planned"]
    assert any(overlap and overlap.partial for overlap in overlaps(mod))
    assert not any(_noalias(f) for _, f in mod.functions_items() if isinstance(f, tirx.PrimFunc))
