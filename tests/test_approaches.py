"""Approaches by name: their planners, the features of `alias`, and each one as a pipeline."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.ir.instrument import pass_instrument
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from tvm_aliasing.build import check_options
from tvm_aliasing.errors import InputError

ANY = ("token", "arena", "tvm")

#: approach: (its default planner, those that it takes)
PLANNERS = {
    "copy": ("token", ANY),
    "shipped": ("tvm", ("tvm",)),
    "stock": ("tvm", ANY),
    "stock+inplace": ("tvm", ("tvm",)),
    "stock+offset-abi": ("tvm", ANY),
    "stock-noalias": ("tvm", ANY),
    "k0": ("token", ANY),
    "k0-run": ("token", ANY),
    "k0+": ("token", ANY),
    "alias:reshape": ("token", ANY),
    "alias": ("token", ANY),
    "k0+:inplace": ("token", ANY),
    "k0+:views+donate": ("token", ANY),
    "alias:views": ("token", ANY),
    "alias:dest": ("token", ANY),
    "alias:inplace": ("token", ANY),
    "alias:views+dest": ("token", ANY),
    "alias:outputs": ("token", ANY),
}


@I.ir_module
class Moves:
    """A reshape, two halves, and both put together again."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.reshape(a, (8, 4))
            halves = R.split(b, 2, axis=0)
            c = R.concat((R.tanh(halves[1]), R.sigmoid(halves[0])), axis=0)
            d = R.negative(c)
            R.output(d)
        return d


X = np.linspace(-1, 1, 32, dtype="float32").reshape(4, 8)


def expected_of_moves(x):
    first, second = np.exp(x).reshape(2, 4, 4)
    return -np.concatenate([np.tanh(second), 1 / (1 + np.exp(-first))])


# Names


def test_names_in_the_order_of_tables():
    listed = [name for name in PLANNERS if name == "alias:reshape" or ":" not in name]
    assert ta.approaches() == listed
    ta.approaches().clear()
    assert ta.approaches() == listed


# Planners


@pytest.mark.parametrize("approach", PLANNERS)
def test_each_approach_has_a_planner_of_its_own(approach):
    default, _ = PLANNERS[approach]
    assert check_options(approach).planner == default
    assert check_options(approach, planner=None).planner == default


@pytest.mark.parametrize("planner", ANY)
@pytest.mark.parametrize("approach", PLANNERS)
def test_each_planner_is_taken_or_refused(approach, planner):
    _, taken = PLANNERS[approach]
    if planner in taken:
        assert check_options(approach, planner=planner).planner == planner
        return
    for refusing in (check_options, ta.pipeline):
        with pytest.raises(InputError) as caught:
            refusing(approach, "llvm", planner=planner)
        assert str(caught.value) == f"{approach} takes planner {', '.join(taken)} only"


@pass_instrument
class Passes:
    def __init__(self):
        self.names = []

    def run_after_pass(self, _mod, info):
        self.names.append(info.name)


def passes_of(approach, planner):
    """Those that decide where tensors lie, of all that a build runs."""
    seen = Passes()
    with tvm.transform.PassContext(instruments=[seen]):
        assert_right(ta.build(Moves, approach, planner=planner))
    decide = ("StaticPlanBlockMemory", "PlanTokens", "PlanArena", "AcceptOffsets")
    return [name for name in seen.names if name in decide]


@pytest.mark.parametrize(
    ("approach", "planner", "passes"),
    [
        ("copy", "tvm", ["StaticPlanBlockMemory", "AcceptOffsets"]),
        ("k0", None, ["PlanTokens", "AcceptOffsets"]),
        ("alias", "arena", ["PlanArena", "AcceptOffsets"]),
        ("stock", None, ["StaticPlanBlockMemory"]),
        ("stock", "token", ["PlanTokens"]),
        ("stock", "arena", ["PlanArena", "AcceptOffsets"]),  # its tensors begin inside
        ("stock+offset-abi", None, ["AcceptOffsets", "StaticPlanBlockMemory"]),  # every kernel
    ],
)
def test_the_planner_that_is_named_is_the_one_that_runs(approach, planner, passes):
    assert passes_of(approach, planner) == passes


def assert_right(built):
    np.testing.assert_allclose(built.run(X), expected_of_moves(X), rtol=1e-4, atol=1e-5)


# Features of `alias`

#: What is left to copy of a reshape, a split and a concatenation.
COPIES = {
    "copy": 3,
    "alias:reshape": 2,
    "alias:views": 1,
    "alias:dest": 1,
    "alias:reshape+dest": 1,
    "alias:views+dest": 0,
    "alias:dest+views": 0,
    "alias": 0,
}


@pytest.mark.parametrize("approach", COPIES)
def test_each_feature_elides_copies_of_its_own(approach):
    built = ta.build(Moves, approach, fused=False)
    assert built.approach == approach
    assert_right(built)
    assert built.memory(X).copy_kernels == COPIES[approach]


def test_the_default_approach_is_alias_with_all_features():
    built = ta.build(Moves)
    assert built.approach == "alias"
    assert_right(built)


# Pipelines


@pytest.mark.parametrize(
    ("approach", "options"),
    [
        ("copy", {"planner": "arena"}),
        ("shipped", {"planner": "tvm"}),
        ("stock", {"planner": "token"}),
        ("stock+inplace", {}),
        ("stock+offset-abi", {"planner": "arena"}),
        ("stock-noalias", {"planner": "tvm", "fused": False}),
        ("k0", {"planner": "tvm"}),
        ("k0-run", {}),
        ("alias:reshape", {"planner": "arena", "fused": "moves-apart"}),
        ("alias:views+dest", {"planner": "token", "fused": False}),
        ("alias", {"planner": "arena", "fused": False}),
        ("alias", {"outputs": "view"}),
    ],
)
def test_a_pipeline_makes_what_build_makes(approach, options):
    built = ta.build(Moves, approach, **options)
    target = tvm.target.Target("llvm")
    with target:
        after = ta.pipeline(approach, target, **options)(Moves)
    tvm.ir.assert_structural_equal(after, built.stages["vm"], map_free_vars=True)
    executable = tvm.compile(Moves, target, relax_pipeline=ta.pipeline(approach, target, **options))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(X)).numpy(), built.run(X))
