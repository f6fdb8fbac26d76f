"""Aliasing said early, before constants are folded and operators fused: as it is, and fenced."""

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from plans import faults
from tvm_aliasing.agreement import agrees
from tvm_aliasing.errors import InputError
from tvm_aliasing.passes.fence_aliasing import FenceAliasing, RemoveFence

X = np.arange(32, dtype="float32").reshape(4, 8) / 8
PROGRAMS = {}


def program(expected, *inputs):
    def add(module):
        PROGRAMS[module.__name__] = module, inputs, expected(*inputs)
        return module

    return add


@program(lambda x: np.exp(np.tanh(x).reshape(8, 4)), X)
@I.ir_module
class Reshape:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.tanh(x)
            b = R.exp(R.reshape(a, (8, 4)))
            R.output(b)
        return b


@program(lambda x: np.exp(np.tanh(x))[:2] * np.sin(np.tanh(x))[2:], X)
@I.ir_module
class Ranges:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.tanh(x)
            lower = R.strided_slice(a, axes=[0], begin=[0], end=[2])
            upper = R.strided_slice(a, axes=[0], begin=[2], end=[4])
            b = R.multiply(R.exp(lower), R.sin(upper))
            R.output(b)
        return b


@program(lambda x: np.exp(np.concatenate([np.tanh(x), np.sin(x), x])), X)
@I.ir_module
class Concat:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.tanh(x)
            b = R.exp(R.concat([a, R.sin(x), x], axis=0))
            R.output(b)
        return b


def _split_and_joined(x):
    half = x[:2]
    return np.concatenate([half, half[:1], half])


@program(_split_and_joined, X)
@I.ir_module
class FieldOfAnUnusedTuple:
    """What writes into the concat has a use, and that has none: both would be dropped."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            halves = R.split(x, 2, axis=0)
            half = halves[0]
            quarters = R.split(half, 2, axis=0)
            quarter = quarters[0]
            c = R.concat([half, quarter, half], axis=0)
            R.output(c)
        return c


@program(lambda x: np.tanh(X) + x, X)
@I.ir_module
class MadeOfConstants:
    """What is written over would be folded into a constant."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(R.const(X))
        return R.add(a, x)


def _read_and_overwritten(x):
    a = np.tanh(x)
    return np.concatenate([np.sin(a), np.exp(a)], 1)


@program(_read_and_overwritten, X)
@I.ir_module
class ReadBeforeAWrite:
    """`sin` must have read `a` when `exp` is written over it, whatever it is fused with."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            a = R.tanh(x)
            b = R.sin(a)
            c = R.exp(a)
            d = R.concat([b, c], axis=1)
            R.output(d)
        return d


@program(lambda x: (np.tanh(x), X), X)
@I.ir_module
class ConstantReturned:
    """The copy for the caller would be folded, and the caller given the constant."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        c = R.const(X)
        return R.tanh(x), c


@program(lambda c, x: np.sin(x) if c else x, np.asarray(False), X)
@program(lambda c, x: np.sin(x) if c else x, np.asarray(True), X)
@I.ir_module
class Branches:
    """The fence rebuilds the `If`, which must have a type afterwards."""

    @R.function(private=True)
    def same(p: R.Tensor((4, 8), "float32")):
        return p

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        cls = Branches
        if c:
            y = R.sin(x)
        else:
            y = cls.same(x)
        return y


def is_right(built, inputs, expected):
    """Whether two calls are right, with all that the first returned overwritten in between."""
    given = [tvm.runtime.tensor(array) for array in inputs]
    for _ in range(2):
        result = built.call(*given)
        outputs = [result] if isinstance(result, tvm.runtime.Tensor) else list(result)
        found = [output.numpy() for output in outputs]
        if not agrees(tuple(found) if len(found) > 1 else found[0], expected):
            return False
        for output in outputs:
            output.copyfrom(np.full(output.shape, 9, output.dtype))
    return True


APPROACHES = ["k0", "k0+", "alias:reshape", "alias:dest", "alias:inplace", "alias"]


#: Approaches that early placement without a fence gets wrong, fused.
WRONG_WHEN_EARLY = {
    # What is written into the buffer has no use that TVM's passes see: it is dropped.
    "Concat": {"alias:dest", "alias"},
    "FieldOfAnUnusedTuple": {"alias:dest"},
    # A constant is folded out of what is written over, or of the copy that the caller gets.
    "MadeOfConstants": {"alias:inplace", "alias"},
    "ConstantReturned": {"alias:reshape", "alias:dest", "alias:inplace", "alias"},
}


#: Those whose fault the verifier sees: a write that was dropped leaves nothing to see.
CONSTANT_FOLDED = ("MadeOfConstants", "ConstantReturned")


@pytest.mark.parametrize("approach", APPROACHES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_early_loses_what_the_graph_does_not_say(name, approach):
    module, inputs, expected = PROGRAMS[name]
    built = ta.build(module, approach, placement="early", verify=False)
    wrong = approach in WRONG_WHEN_EARLY.get(name, ())
    assert is_right(built, inputs, expected) != wrong
    hazards = ta.verify(built.stages["planned"])
    assert bool(hazards) == (wrong and name in CONSTANT_FOLDED)


@pytest.mark.parametrize(
    ("approach", "fused"), [*((name, True) for name in APPROACHES), ("alias", False)]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_fenced_is_right(name, approach, fused):
    module, inputs, expected = PROGRAMS[name]
    built = ta.build(module, approach, placement="early-fenced", planner="arena", fused=fused)
    assert faults(built.stages["planned"]) == []
    assert is_right(built, inputs, expected)


@pytest.mark.parametrize("approach", ["k0", "k0+", "alias"])
@pytest.mark.parametrize("name", ["residual", "qkv_split"])
def test_workloads_fenced(name, approach):
    found = ta.workload(name)
    built = ta.build(found.mod, approach, placement="early-fenced", params=found.params)
    assert agrees(built.run(*found.inputs), found.expected)


@pytest.mark.parametrize("approach", ["k0", "k0+", "alias"])
def test_what_is_said_early_comes_before_the_front(approach):
    stages = {
        placement: ta.build(Concat, approach, placement=placement, fused=False).stages
        for placement in ("late", "early", "early-fenced")
    }
    assert list(stages["late"]) == ["front", "introduced", "planned", "vm"]
    assert list(stages["early"]) == ["introduced", "front", "planned", "vm"]
    assert list(stages["early-fenced"]) == ["introduced", "front", "planned", "vm"]


def bound_in(mod, operator):
    return mod["main"].script().count(operator)


def test_early_the_aliasing_is_there_before_fusion():
    early = ta.build(Ranges, "alias:views", placement="early").stages
    late = ta.build(Ranges, "alias:views", fused=True).stages
    assert bound_in(early["introduced"], "R.memory.view(") == 2
    assert bound_in(late["front"], "R.memory.view(") == 0
    fused_late = [n.name_hint for n in late["front"].get_global_vars() if "fused" in n.name_hint]
    assert fused_late  # fusion has swallowed the slices before anything is said of them


def test_the_fence_keeps_reads_and_writes_in_order():
    built = ta.build(ReadBeforeAWrite, "alias:inplace", placement="early-fenced")
    script = built.stages["front"]["main"].script()
    assert script.index("sin") < script.index("call_tir_inplace")


def test_the_ties_of_the_fence_are_gone_in_the_end():
    stages = ta.build(Concat, "alias:dest", placement="early-fenced").stages
    assert bound_in(stages["introduced"], "tvm_aliasing.tie") == 1
    assert bound_in(stages["front"], "tvm_aliasing.tie") == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fence_leaves_types_everywhere(name):
    mod = PROGRAMS[name][0]
    for fenced in (FenceAliasing()(mod), RemoveFence()(FenceAliasing()(mod))):
        tvm.relax.analysis.well_formed(fenced)


@pytest.mark.parametrize("approach", ["copy", "stock", "shipped", "stock+inplace"])
def test_what_says_nothing_of_aliasing_has_no_early_form(approach):
    with pytest.raises(InputError, match="placement late only"):
        ta.build(Concat, approach, placement="early")
