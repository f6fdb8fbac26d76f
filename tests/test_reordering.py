"""What another order of kernels gives: found where there is one, right when it is run."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.analysis.orders import may_move
from tvm_aliasing.approaches import approach as approach_of
from tvm_aliasing.build import build
from tvm_aliasing.errors import InputError
from tvm_aliasing.measure.bounds import live_bound
from tvm_aliasing.measure.reordering import reordered_bound
from tvm_aliasing.values import check_arguments, to_arrays, to_device

MIB, UNIT = 2**20, 128  # bytes of a `Small`
Small, Row = R.Tensor((4, 8), "float32"), R.Tensor((8,), "float32")
X = np.arange(32, dtype="float32").reshape(4, 8)
TRUE = np.array(True)


def built_of(module, approach="copy", **options):
    return build(module, approach, planner="arena", fused=False, **options)


def in_units(found):
    return found.bound_before / UNIT, found.bound_after / UNIT


def result(built, planned, *arrays):
    """What a planned module computes once the build's last stage has lowered it."""
    passes = approach_of(built.approach).stages(built._options)["vm"]
    lower = tvm.transform.Sequential(passes)
    executable = relax.build(planned, built._options.target, relax_pipeline=lower)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    arguments = to_device(planned["main"].params, arrays, tvm.cpu())
    return to_arrays(machine["main"](*arguments))


@pytest.mark.parametrize(
    ("approach", "before", "after"), [("alias", 11 * MIB, 10 * MIB), ("stock", 17 * MIB, 16 * MIB)]
)
def test_values_of_an_attention_are_projected_after_its_softmax(approach, before, after):
    work = ta.workload("mha")
    built = build(work.mod, approach, planner="arena", params=work.params)
    found = reordered_bound(built, *work.inputs)
    assert (found.bound_before, found.bound_after) == (before, after)
    assert found.bound_before == built.memory(*work.inputs).live_bound
    values = "lv4 (fused_matmul_add) and lv5 (fused_reshape_transpose)"
    assert found.moves == (f"{values} later, before lv16 (matmul2)",)
    assert found.settled
    sizes = check_arguments(found.planned["main"].params, work.inputs)
    workspaces = built.workspaces_of(found.planned)
    assert live_bound(found.planned, "main", sizes, workspaces) == after
    np.testing.assert_allclose(
        result(built, found.planned, *work.inputs), work.expected, rtol=1e-4, atol=1e-5
    )


@I.ir_module
class NoBetterOrder:
    @R.function
    def main(x: Small):
        with R.dataflow():
            a = R.exp(x)
            b = R.negative(x)
            c = R.add(a, b)
            R.output(c)
        return c


def test_where_no_order_helps_nothing_moves():
    """a, b and c, whichever of the first two comes first."""
    found = reordered_bound(built_of(NoBetterOrder), X)
    assert in_units(found) == (3, 3)
    assert found.moves == () and found.settled


@I.ir_module
class Late:
    @R.function
    def main(x: Small):
        with R.dataflow():
            v = R.concat((x, x, x, x), 0)
            q = R.concat((x, x, x, x, x, x), 0)
            r = R.sum(q, axis=0)
            s = R.max(q, axis=0)
            w = R.add(v, r)
            R.output(s, w)
        return (s, w)


def test_a_move_late():
    """From v, q, r and s (a quarter of a unit each) to v, r, s and w."""
    built = built_of(Late)
    found = reordered_bound(built, X)
    assert in_units(found) == (10.5, 8.5)
    assert found.moves == ("v (concatenate) later, before w (add)",)
    expected = X.max(axis=0), np.concatenate([X] * 4) + 6 * X.sum(axis=0)
    for actual, wanted in zip(result(built, found.planned, X), expected):
        np.testing.assert_allclose(actual, wanted)


@I.ir_module
class Early:
    @R.function
    def main(x: Small):
        with R.dataflow():
            p = R.concat((x, x, x, x), 0)
            t = R.sum(p, axis=0, keepdims=True)
            q = R.concat((t, t, t, t, t, t, t, t, t, t, t, t), 0)
            r = R.sum(q, axis=0)
            s = R.max(q, axis=0)
            u = R.min(p, axis=0)
            R.output(r, s, u)
        return (r, s, u)


def test_a_move_early():
    """From p, q, r and s, q being three units, to p, t and u."""
    built = built_of(Early)
    found = reordered_bound(built, X)
    assert in_units(found) == (7.5, 4.5)
    assert found.moves == ("u (min) earlier, before t (sum)",)
    t = 4 * X.sum(axis=0)
    for actual, wanted in zip(result(built, found.planned, X), (12 * t, t, X.min(axis=0))):
        np.testing.assert_allclose(actual, wanted)


@I.ir_module
class TwoPeaks:
    """`Late` twice, the second time on what the first makes."""

    @R.function
    def main(x: Small):
        with R.dataflow():
            y = R.exp(x)
            v = R.concat((y, y, y, y), 0)
            q = R.concat((y, y, y, y, y, y), 0)
            r = R.sum(q, axis=0)
            s = R.max(q, axis=0)
            w = R.add(R.add(v, r), s)
            y2 = R.strided_slice(w, [0], [0], [4])
            v2 = R.concat((y2, y2, y2, y2), 0)
            q2 = R.concat((y2, y2, y2, y2, y2, y2), 0)
            r2 = R.sum(q2, axis=0)
            s2 = R.max(q2, axis=0)
            w2 = R.add(R.add(v2, r2), s2)
            R.output(w2)
        return w2


def test_equal_peaks_fall_one_after_the_other():
    """In each half from y, v and q to v, both sums and what they are added to."""
    found = reordered_bound(built_of(TwoPeaks), X)
    assert in_units(found) == (11, 8.5)
    assert sorted(found.moves) == [
        "v (concatenate) later, before lv5 (add)",
        "v2 (concatenate) later, before lv12 (add)",
    ]


def test_a_search_cut_short_says_what_it_has_found():
    built = built_of(Late)
    for evaluations, after, moves in ((0, 10.5, 0), (1, 8.5, 1)):
        found = reordered_bound(built, X, evaluations=evaluations)
        assert in_units(found) == (10.5, after)
        assert len(found.moves) == moves and not found.settled
    assert not reordered_bound(built_of(NoBetterOrder), X, evaluations=1).settled


def test_a_move_that_lowers_one_of_two_equal_peaks_only_is_not_told():
    """The first step alone: the other peak is as high as before."""
    found = reordered_bound(built_of(TwoPeaks), X, evaluations=10)
    assert in_units(found) == (11, 11)
    assert found.moves == () and not found.settled


@I.ir_module
class BesideWorkspace:
    @T.prim_func(private=True, s_tir=True)
    def kernel(x: T.Buffer((64, 64), "float32"), y: T.Buffer((64,), "float32")):
        T.func_attr({"tirx.is_scheduled": True})  # a schedule would do without the buffer
        a = T.sblock_alloc_buffer((64, 64), "float32")
        for i, j in T.grid(64, 64):
            with T.sblock("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = x[vi, vj] + T.float32(1)
        for i in range(64):
            with T.sblock("y"):
                vi = T.axis.spatial(64, i)
                y[vi] = a[vi, 0] + a[0, vi]

    @R.function
    def main(x: R.Tensor((64, 64), "float32")):
        with R.dataflow():
            v = R.exp(x)
            y = R.call_tir(BesideWorkspace.kernel, (x,), R.Tensor((64,), "float32"))
            w = R.matmul(v, y)
            R.output(w)
        return w


def test_workspaces_count():
    """A square, a row and a workspace of a square; then a square, its row and w."""
    built, square, row = built_of(BesideWorkspace), 64 * 64 * 4, 64 * 4
    x = np.ones((64, 64), "float32")
    found = reordered_bound(built, x)
    assert found.bound_before == built.memory(x).live_bound == 2 * square + row
    assert found.bound_after == square + 2 * row
    assert found.moves == ("v (tir_exp) later, before w (matmul)",)


@I.ir_module
class AcrossBranches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Small):
        v = R.concat((x, x, x, x), 0)
        if c:
            q = R.concat((x, x, x, x, x, x), 0)
            r = R.sum(q, axis=0)
        else:
            r = R.sum(x, axis=0)
        w = R.add(v, r)
        return w


@I.ir_module
class AcrossEffect:
    @R.function(pure=False)
    def main(x: Small):
        v = R.concat((x, x, x, x), 0)
        _ = R.call_packed("tests.seen", x, ty_args=R.Tuple())
        q = R.concat((x, x, x, x, x, x), 0)
        r = R.sum(q, axis=0)
        w = R.add(v, r)
        return w


@I.ir_module
class AcrossMatch:
    @R.function
    def main(x: R.Tensor(("m", 8), "float32")):
        n = T.int64()
        with R.dataflow():
            v = R.concat((x, x, x, x), 0)
            y = R.match_cast(x, R.Tensor((n, 8), "float32"))
            q = R.concat((y, y, y, y, y, y), 0)
            r = R.sum(q, axis=0)
            w = R.add(v, r)
            R.output(w)
        return w


@I.ir_module
class AcrossWrite:
    @T.prim_func(private=True, s_tir=True)
    def double(a: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                a[vi, vj] = a[vi, vj] * T.float32(2)

    @R.function
    def main(x: Small):
        with R.dataflow():
            g = R.exp(x)
            v = R.concat((g, g, g, g), 0)
            y = R.call_tir_inplace(AcrossWrite.double, (g,), [0], Small)
            q = R.concat((y, y, y, y, y, y), 0)
            r = R.sum(q, axis=0)
            w = R.add(v, r)
            R.output(w)
        return w


@I.ir_module
class AcrossCall:
    @R.function
    def callee(x: Small) -> Small:
        return R.exp(x)

    @R.function
    def main(x: Small):
        v = R.concat((x, x, x, x), 0)
        y = AcrossCall.callee(x)
        q = R.concat((y, y, y, y, y, y), 0)
        r = R.sum(q, axis=0)
        w = R.add(v, r)
        return w


@pytest.mark.parametrize(
    ("module", "inputs", "bound"),
    [
        (AcrossBranches, (TRUE, X), 10.25),
        (AcrossEffect, (X,), 10.25),
        (AcrossMatch, (X,), 10.25),
        (AcrossWrite, (X,), 11),
        (AcrossCall, (X,), 11),
    ],
)
def test_nothing_moves_across(module, inputs, bound):
    """In each of them v later would help, had it not to cross what it may not."""
    found = reordered_bound(built_of(module), *inputs)
    assert in_units(found) == (bound, bound)
    assert found.moves == () and found.settled


@I.ir_module
class Prints:
    @R.function(pure=False)
    def main(x: Small):
        y = R.exp(x)
        _ = R.print(y, format="{}")
        z = R.exp(y)
        return z


def test_an_operator_with_effects_stays():
    """Asked of the source: `LegalizeOps` makes a call of an extern function of it."""
    (block,) = Prints["main"].body.blocks
    assert [may_move(binding) for binding in block.bindings] == [True, False, True]


@I.ir_module
class WithinBranch:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Small):
        if c:
            v = R.concat((x, x, x, x), 0)
            q = R.concat((x, x, x, x, x, x), 0)
            r = R.sum(q, axis=0)
            s = R.max(q, axis=0)
            z = R.add(R.add(v, r), s)
        else:
            z = R.concat((x, x, x, x), 0)
        return z


def test_within_a_branch_bindings_move():
    built = built_of(WithinBranch)
    found = reordered_bound(built, TRUE, X)
    assert in_units(found) == (10.5, 8.5)
    z = np.concatenate([X] * 4) + 6 * X.sum(axis=0) + X.max(axis=0)
    np.testing.assert_allclose(result(built, found.planned, TRUE, X), z)


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        n = T.int64()
        with R.dataflow():
            v = R.reshape(R.concat((x, x, x, x), 0), (n * 4, 8))
            q = R.concat((x, x, x, x, x, x), 0)
            r = R.sum(q, axis=0)
            s = R.max(q, axis=0)
            w = R.add(v, r)
            R.output(s, w)
        return (s, w)


@pytest.mark.parametrize("n", [4, 12])
def test_symbolic_sizes(n):
    built = built_of(Symbolic, "alias", dims={"n": 16})
    x = np.ones((n, 8), "float32")
    found = reordered_bound(built, x)
    assert found.bound_before == 10 * x.nbytes + 2 * 32
    assert found.bound_after < found.bound_before
    for actual, wanted in zip(result(built, found.planned, x), (x[0], x.repeat(4, 0) + 6 * n)):
        np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize(
    ("approach", "options"), [("alias", {"placement": "early"}), ("shipped", {})]
)
def test_a_build_without_a_program_of_values_is_refused(approach, options):
    with pytest.raises(InputError, match="no program without aliasing"):
        reordered_bound(build(NoBetterOrder, approach, **options), X)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="inputs given"):
        reordered_bound(built_of(NoBetterOrder), X, X)
