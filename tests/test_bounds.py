"""Bounds: the largest sum of what is live, computed by hand for small programs."""

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.build import build
from tvm_aliasing.errors import UnsupportedError
from tvm_aliasing.measure.bounds import live_bound, value_bound
from tvm_aliasing.values import check_arguments

UNIT = 128  # bytes of a `Small`
Small = R.Tensor((4, 8), "float32")
X = np.arange(32, dtype="float32").reshape(4, 8)
TRUE, FALSE = np.array(True), np.array(False)


def bounds(module, *inputs, approach="copy"):
    """(live bound, value bound) in units; nothing is run."""
    built = build(module, approach, fused=False)
    planned, copying = built.stages["planned"], built.planned_by_copy
    sizes = [check_arguments(mod["main"].params, inputs) for mod in (planned, copying)]
    return (
        live_bound(planned, "main", sizes[0], built.workspaces) / UNIT,
        value_bound(copying, "main", sizes[1]) / UNIT,
    )


def peak(module, *inputs):
    """Measured, in units; each branch has its own storages, as TVM plans them, sound or not."""
    built = build(module, "copy", planner="tvm", fused=False, verify=False)
    return built.memory(*inputs).peak / UNIT


@I.ir_module
class Chain:
    @R.function
    def main(x: Small):
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, (32,))
            c = R.negative(a)
            d = R.add(R.reshape(c, (32,)), b)
            R.output(d)
        return d


@pytest.mark.parametrize(("approach", "live"), [("copy", 3), ("k0", 3)])
def test_straight_line(approach, live):
    """`copy`: b, c and c's reshape, then b, that and d. `k0`: a and c and, over both, d."""
    assert bounds(Chain, X, approach=approach) == (live, 3)


@I.ir_module
class SharedByViews:
    @R.function
    def main(x: Small):
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, (32,))
            c = R.reshape(a, (8, 4))
            d = R.reshape(a, (2, 16))
            e = R.add(R.sum(b), R.add(R.sum(c), R.sum(d)))
            R.output(e)
        return e


def test_tensors_that_share_bytes_count_once():
    """Copied: a, b and c, then d; later b and d with three sums of 4 bytes at most."""
    live, value = bounds(SharedByViews, X, approach="k0")
    assert live == 1 + 3 * 4 / UNIT
    assert value == 4


@I.ir_module
class Returned:
    @R.function
    def main(x: Small):
        a = R.exp(x)
        b = R.negative(x)
        c = R.concat((b, b), 0)
        d = R.sum(c)
        return (a, d)


def test_what_is_returned_is_live_to_the_end():
    assert bounds(Returned, X) == (4, 4)


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Small):
        a = R.exp(x)
        if c:
            b = R.concat((a, a), 0)
            d = R.concat((b, b), 0)
            z = R.sum(d, axis=0)
        else:
            e = R.concat((x, x), 0)
            z = R.sum(e, axis=0)
        y = R.concat((a, a, a, a), 0)
        return (y, z)


def test_one_branch_does_not_see_the_other():
    """First branch: a, b and d. After both: a, z and y; z is a quarter of a unit in each."""
    assert bounds(Branches, TRUE, X) == (7, 7)
    assert peak(Branches, TRUE, X) == 7


@I.ir_module
class ResultsOfBranches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Small):
        if c:
            z = R.exp(x)
        else:
            z = R.negative(x)
        y = R.concat((z, z), 0)
        return y


def test_after_both_branches_one_result_is_live():
    assert bounds(ResultsOfBranches, TRUE, X) == (3, 3)
    assert peak(ResultsOfBranches, TRUE, X) == 3


@I.ir_module
class ReadInOneBranch:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Small):
        a = R.concat((x, x, x, x), 0)
        if c:
            b = R.concat((x, x), 0)
            d = R.concat((b, b), 0)
            z = R.sum(d, axis=0)
        else:
            z = R.sum(a, axis=0)
        return z


def test_what_only_the_second_branch_reads_is_not_live_in_the_first():
    assert bounds(ReadInOneBranch, TRUE, X) == (6, 6)


@I.ir_module
class Nested:
    @R.function
    def main(c: R.Tensor((), "bool"), d: R.Tensor((), "bool"), x: Small):
        if c:
            if d:
                z = R.exp(x)
            else:
                z = R.negative(x)
            y = R.concat((z, z), 0)
        else:
            y = R.concat((x, x), 0)
        w = R.concat((y, y), 0)
        return w


def test_branches_within_branches():
    assert bounds(Nested, TRUE, FALSE, X) == (6, 6)


@I.ir_module
class Calls:
    @R.function
    def callee(x: Small) -> Small:
        a = R.concat((x, x), 0)
        b = R.strided_slice(a, [0], [2], [6])
        return b

    @R.function
    def main(x: Small):
        y = Calls.callee(x)
        z = Calls.callee(y)
        w = Calls.callee(z)
        return R.add(w, y)


def test_a_called_function_adds_to_what_is_live_at_the_call():
    """In the last call y and z are live, and a and b in the called function."""
    assert bounds(Calls, X) == (5, 5)
    assert peak(Calls, X) == 5


@I.ir_module
class ResultsOfCalls:
    @R.function
    def callee(x: Small) -> R.Tuple(Small, Small):
        a = R.exp(x)
        b = R.negative(x)
        return (a, b)

    @R.function
    def main(x: Small):
        y = ResultsOfCalls.callee(x)
        z = R.concat((x, x, x, x), 0)
        w = R.concat((z, z), 0)
        return (R.sum(w), y[0])


def test_what_a_called_function_returned_is_live_in_the_caller():
    """One of its two results is read by nobody: it takes nothing after the call."""
    assert bounds(ResultsOfCalls, X) == (13, 13)


@I.ir_module
class BranchesOfACallee:
    @R.function
    def callee(c: R.Tensor((), "bool"), x: Small) -> Small:
        if c:
            z = R.exp(x)
        else:
            z = R.negative(x)
        return z

    @R.function
    def main(c: R.Tensor((), "bool"), x: Small):
        y = BranchesOfACallee.callee(c, x)
        z = R.concat((y, y), 0)
        return z


def test_a_called_function_returns_from_one_branch():
    assert bounds(BranchesOfACallee, TRUE, X) == (3, 3)


@I.ir_module
class Recursion:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Small) -> Small:
        if c:
            y = R.exp(x)
            z = Recursion.main(R.const(False, "bool"), y)
        else:
            z = R.negative(x)
        return z


def test_of_a_function_that_calls_itself_nothing_is_said():
    report = build(Recursion, "copy").memory(TRUE, X)
    assert report.live_bound is report.value_bound is None


@I.ir_module
class Symbolic:
    @R.function
    def callee(x: R.Tensor(("m", 8), "float32")) -> R.Tensor(("m", 8), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        y = R.concat((x, x), 0)
        z = Symbolic.callee(y)
        w = R.concat((z, z), 0)
        return w


@pytest.mark.parametrize("n", [1, 4, 12])
def test_symbolic_sizes(n):
    x = np.ones((n, 8), "float32")
    assert bounds(Symbolic, x) == (6 * n / 4, 6 * n / 4)
    assert peak(Symbolic, x) == 6 * n / 4


@I.ir_module
class SymbolicWorkspace:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32")):
        n = T.int64()
        a = R.arange(0, n * 64, 1, "float32")
        b = R.add(R.reshape(a, (n, 64)), x)
        c = R.nn.softmax(b, axis=1)
        return c


@pytest.mark.parametrize("n", [16, 64])
def test_symbolic_workspaces(n):
    """Softmax of an unscheduled kernel: input, output and the exponentials are live."""
    report = build(SymbolicWorkspace, "shipped").memory(np.ones((n, 64), "float32"))
    assert report.workspace >= n * 64 * 4
    assert report.live_bound == 2 * n * 64 * 4 + report.workspace
    assert report.live_bound <= report.peak
    assert report.value_bound == 2 * n * 64 * 4


def test_sizes_that_nothing_gives_are_refused():
    planned = build(SymbolicWorkspace, "copy").stages["planned"]
    with pytest.raises(UnsupportedError, match="depends on data"):
        live_bound(planned, "main", {}, None)


ALL = {
    "chain": (Chain, (X,)),
    "shared by views": (SharedByViews, (X,)),
    "returned": (Returned, (X,)),
    "branches": (Branches, (TRUE, X)),
    "nested": (Nested, (TRUE, FALSE, X)),
    "calls": (Calls, (X,)),
    "results of calls": (ResultsOfCalls, (X,)),
    "symbolic": (Symbolic, (X,)),
}


def check(built, inputs, report):
    """What holds of every program whose largest path is the one that was run."""
    assert report.live_bound <= report.peak
    planned = built.stages["planned"]
    sizes = check_arguments(planned[built.entry].params, inputs)
    without_workspaces = live_bound(planned, built.entry, sizes, None)
    assert without_workspaces <= report.live_bound <= without_workspaces + report.workspace
    if built.approach == "copy":
        assert report.value_bound == without_workspaces
    assert value_bound(planned, built.entry, sizes) == without_workspaces


@pytest.mark.parametrize("approach", ["copy", "stock", "k0"])
@pytest.mark.parametrize("name", ALL)
def test_of_small_programs(name, approach):
    module, inputs = ALL[name]
    built = build(module, approach, fused=False)
    check(built, inputs, built.memory(*inputs))


@pytest.mark.parametrize("name", ta.workloads())
def test_of_workloads(name):
    found = ta.workload(name)
    for approach in ("copy", "k0"):
        built = build(found.mod, approach, params=found.params, dims=found.dims)
        check(built, found.inputs, built.memory(*found.inputs))


def test_the_value_bound_is_the_same_under_every_approach():
    found = ta.workload("matmul_reshape_chain")
    reports = [
        build(found.mod, approach, params=found.params).memory(*found.inputs)
        for approach in ("copy", "stock", "stock+inplace", "k0")
    ]
    assert len({report.value_bound for report in reports}) == 1
    assert reports[-1].live_bound < reports[0].live_bound  # reshapes elided at the peak
