"""Where the outputs of a build lie under each output policy, and what that costs."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.alias_classes import Root
from tvm_aliasing.attributes import DONATED
from tvm_aliasing.models.relax_files import execute_file
from tvm_aliasing.output_policies import ALLOWED, may_be_part
from tvm_aliasing.values import to_device

X = np.arange(32, dtype="float32").reshape(4, 8) / 8
WHOLE = X.nbytes
PROGRAMS = {}


def program(expected, *inputs):
    """Add a module to `PROGRAMS`, with its inputs and what NumPy makes of them."""

    def add(module):
        PROGRAMS[module.__name__] = module, inputs, expected(*inputs)
        return module

    return add


@program(lambda x: (np.tanh(x), np.tanh(x).reshape(32)), X)
@I.ir_module
class ValueAndReshape:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return a, R.reshape(a, (32,))


@program(lambda x: (np.tanh(x), np.tanh(x)[2:]), X)
@I.ir_module
class ValueAndSlice:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return a, R.strided_slice(a, axes=[0], begin=[2], end=[4])


@program(lambda x: (np.tanh(x)[1:3], np.tanh(x).reshape(8, 4)), X)
@I.ir_module
class SliceAndReshape:
    """The slice comes first; the whole of what it is a range of is no variable that is returned."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return R.strided_slice(a, axes=[0], begin=[1], end=[3]), R.reshape(a, (8, 4))


@program(lambda x: np.tanh(x)[2:], X)
@I.ir_module
class Slice:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return R.strided_slice(a, axes=[0], begin=[2], end=[4])


@program(lambda x: np.tanh(x)[2:].reshape(16), X)
@I.ir_module
class ReshapeOfASlice:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return R.reshape(R.strided_slice(a, axes=[0], begin=[2], end=[4]), (16,))


@program(lambda x: (np.tanh(x)[:2], np.tanh(x)[2:]), X)
@I.ir_module
class BothHalves:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        halves = R.split(R.tanh(x), 2, axis=0)
        return halves[0], halves[1]


@program(lambda x: (np.tanh(x)[:2].reshape(16), np.tanh(x)[2:].reshape(4, 4)), X)
@I.ir_module
class ReshapedHalves:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        halves = R.split(R.tanh(x), 2, axis=0)
        return R.reshape(halves[0], (16,)), R.reshape(halves[1], (4, 4))


@program(lambda x: (np.tanh(x)[2:], np.exp(np.tanh(x)[:2])), X)
@I.ir_module
class OneHalf:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        halves = R.split(R.tanh(x), 2, axis=0)
        return halves[1], R.exp(halves[0])


@program(lambda x: (np.tanh(x), np.exp(np.concatenate([np.tanh(x), np.sin(x)]))), X)
@I.ir_module
class OperandOfAConcat:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return a, R.exp(R.concat([a, R.sin(x)], axis=0))


@program(lambda x: (np.sin(x), np.concatenate([np.tanh(x), np.sin(x)])), X)
@I.ir_module
class ConcatAndOperand:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        b = R.sin(x)
        return b, R.concat([R.tanh(x), b], axis=0)


@program(lambda x: (np.sin(x), np.concatenate([np.tanh(x), np.sin(x), np.cos(x)])), X)
@I.ir_module
class NestedConcatAndOperand:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        b = R.sin(x)
        inner = R.concat([R.tanh(x), b], axis=0)
        return b, R.concat([inner, R.cos(x)], axis=0)


@program(lambda x: (x.reshape(32), np.tanh(x)), X)
@I.ir_module
class ReshapedParameter:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        return R.reshape(x, (32,)), R.tanh(x)


@program(lambda x: (x[2:], np.tanh(x)), X)
@I.ir_module
class SlicedParameter:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        return R.strided_slice(x, axes=[0], begin=[2], end=[4]), R.tanh(x)


@program(lambda x: (np.arange(8, dtype="float32")[4:], np.arange(8, dtype="float32")), X)
@I.ir_module
class Constant:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        k = R.const(np.arange(8, dtype="float32").reshape(2, 4))
        return R.reshape(R.strided_slice(k, axes=[0], begin=[1], end=[2]), (4,)), R.reshape(k, (8,))


@program(lambda x: (np.tanh(x)[2:], np.tanh(x).reshape(32), np.tanh(x)), X)
@I.ir_module
class Callee:
    """What is called keeps to `copy`, and its caller need not copy again."""

    @R.function(private=True)
    def pieces(a: R.Tensor((4, 8), "float32")):
        return R.strided_slice(a, axes=[0], begin=[2], end=[4]), R.reshape(a, (32,))

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = Callee
        b = R.tanh(x)
        c = cls.pieces(b)
        return c[0], c[1], b


@program(lambda c, x: np.tanh(x)[2:] if c else np.exp(x)[:2], np.asarray(True), X)
@I.ir_module
class SliceInABranch:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        if c:
            a = R.tanh(x)
            y = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        else:
            b = R.exp(x)
            y = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        return y


@program(lambda x: np.tanh(x)[2:], X)
@I.ir_module
class SymbolicSlice:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        a = R.tanh(x)
        return R.strided_slice(a, axes=[0], begin=[2], end=[4])


@program(lambda x: (np.tanh(x), np.tanh(x)[:2], np.tanh(x)[2:]), X)
@I.ir_module
class ValueAndHalves:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        halves = R.split(a, 2, axis=0)
        return a, halves[0], halves[1]


@program(lambda x: (x[:2], x[2:]), X)
@I.ir_module
class HalvesOfAParameter:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        halves = R.split(x, 2, axis=0)
        return halves[0], halves[1]


COUNT = R.const(np.arange(8, dtype="float32"))


@program(lambda x: (np.arange(4, dtype="float32"), np.arange(4, 8, dtype="float32")), X)
@I.ir_module
class HalvesOfAConstant:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        halves = R.split(COUNT, 2, axis=0)
        return halves[0], halves[1]


# Where it would cost more than it saves.


def _inner_slices(x):
    a, b = np.tanh(x), np.sin(x)
    most = np.exp(x).sum(0, keepdims=True) * 2
    return a[2:], b[:1] * b[1:2] * most * np.exp(np.cos(x)).sum(0, keepdims=True)


@program(_inner_slices, X)
@I.ir_module
class InnerSlicesFirst:
    """There is room to keep what both inner slices lie in, or what the returned one lies in."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        most = R.sum(R.exp(R.repeat(x, 2, axis=0)), axis=0, keepdims=True)
        lower = R.strided_slice(R.tanh(x), axes=[0], begin=[2], end=[4])
        b = R.sin(x)
        first = R.strided_slice(b, axes=[0], begin=[0], end=[1])
        second = R.strided_slice(b, axes=[0], begin=[1], end=[2])
        rest = R.sum(R.exp(R.cos(x)), axis=0, keepdims=True)
        return lower, R.multiply(R.multiply(R.multiply(first, second), most), rest)


@program(lambda x: (np.sin(x), np.tile(x, (4, 1)) + (np.tanh(x) + np.sin(x)).sum()), X)
@I.ir_module
class OtherOperandsFirst:
    """There is room for the buffer of the concat until it is read, and not to the end."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.sin(x)
        c = R.sum(R.concat([a, b], axis=0))
        return b, R.add(R.tile(x, (4, 1)), c)


def _copy_at_the_end(x):
    first, second = np.split(np.exp(x) + np.sin(np.exp(x)), 2)
    more = np.repeat(np.tanh(first), 2, axis=0)
    return second, more, np.exp(more)


@program(_copy_at_the_end, X)
@I.ir_module
class CopyAtTheEnd:
    """There is room for what a half lies in, and not for a copy of the half besides."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        u = R.exp(x)
        halves = R.split(R.add(u, R.sin(u)), 2, axis=0)
        more = R.repeat(R.tanh(halves[0]), 2, axis=0)
        return halves[1], more, R.exp(more)


@program(lambda x: (np.sin(x), np.full((4, 8), (x + np.sin(x)).sum())), X)
@I.ir_module
class CopyOfAnOperand:
    """There is room for the buffer of the concat, and not for a copy of an operand besides."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        b = R.sin(x)
        c = R.sum(R.concat([x, b], axis=0))
        return b, R.broadcast_to(c, (4, 8))


def _halves_of_a_half(x):
    first, second = np.split(np.exp(x) + np.sin(np.exp(x)), 2)
    return first, first[:1], first[1:], np.exp(second)


@program(_halves_of_a_half, X)
@I.ir_module
class HalvesOfAHalf:
    """An output is the whole of a half, and no longer of a storage once the half is a view."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        u = R.exp(x)
        halves = R.split(R.add(u, R.sin(u)), 2, axis=0)
        a = halves[0]
        quarters = R.split(a, 2, axis=0)
        return a, quarters[0], quarters[1], R.exp(halves[1])


def tensors(value):
    """Those in nested tuples, from left to right."""
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return [tensor for field in value for tensor in tensors(field)]
    return [value]


def byte_range(tensor):
    """Where a tensor's bytes lie: address and end."""
    array = np.from_dlpack(tensor)
    return array.ctypes.data, array.ctypes.data + array.nbytes


def overlap(one, other):
    (begin, end), (other_begin, other_end) = byte_range(one), byte_range(other)
    return begin < other_end and other_begin < end


def covered(ranges):
    """Bytes in the union of ranges."""
    total, last = 0, 0
    for begin, end in sorted(ranges):
        total += max(0, end - max(begin, last))
        last = max(last, end)
    return total


class Called:
    """One call of a build: where its outputs lie.

    Attributes
    ----------
    values : list of ndarray
    pairs : set of (int, int)
        Outputs that overlap.
    in_params : set of int
        Outputs that lie in a parameter.
    bytes : int
        Those that the other outputs cover.
    memory : MemoryReport
    """

    def __init__(self, module, inputs, approach="alias", **options):
        built = ta.build(module, approach, fused=False, **options)
        given = to_device(module["main"].params, inputs, tvm.cpu())
        outputs = tensors(built.call(*given))
        params = [param for param in tensors(given) if isinstance(param, tvm.runtime.Tensor)]
        self.values = [output.numpy() for output in outputs]
        numbered = list(enumerate(outputs))
        self.pairs = {
            (i, j) for (i, a), (j, b) in itertools.combinations(numbered, 2) if overlap(a, b)
        }
        self.in_params = {i for i, a in numbered if any(overlap(a, param) for param in params)}
        self.bytes = covered([byte_range(a) for i, a in numbered if i not in self.in_params])
        self.memory = built.memory(*inputs)


@pytest.fixture(scope="module")
def called():
    """A program of `PROGRAMS` called under a policy and an approach, once."""
    known = {}

    def call(name, policy, approach="alias"):
        key = name, policy, approach
        if key not in known:
            module, inputs, expected = PROGRAMS[name]
            known[key] = Called(module, inputs, approach, outputs=policy)
            assert agrees(tuple(known[key].values), tuple(tensors(expected)))
        return known[key]

    return call


#: The features that are about ranges; what is written in place changes what else is worth it.
RANGES = "alias:views+dest+outputs"
#: Where outputs share nothing until a policy allows it: that policy, and from there on which
#: outputs overlap, which lie in a parameter, and the bytes retained.
SHARED = {
    "ValueAndReshape": ("share", {(0, 1)}, set(), WHOLE),
    "ValueAndSlice": ("share", {(0, 1)}, set(), WHOLE),
    "SliceAndReshape": ("share", {(0, 1)}, set(), WHOLE),
    "ConcatAndOperand": ("share", {(0, 1)}, set(), 2 * WHOLE),
    "NestedConcatAndOperand": ("share", {(0, 1)}, set(), 3 * WHOLE),
    "Slice": ("view", set(), set(), WHOLE),
    "ReshapeOfASlice": ("view", set(), set(), WHOLE),
    "BothHalves": ("view", set(), set(), WHOLE),
    "ReshapedHalves": ("view", set(), set(), WHOLE),
    "OneHalf": ("view", set(), set(), WHOLE + WHOLE // 2),
    "OperandOfAConcat": ("view", set(), set(), 4 * WHOLE),
    "SliceInABranch": ("view", set(), set(), WHOLE),
    "SymbolicSlice": ("view", set(), set(), WHOLE),
    "ReshapedParameter": ("alias_params", set(), {0}, WHOLE),
    "SlicedParameter": ("alias_params", set(), {0}, WHOLE),
    "Constant": None,
    "ValueAndHalves": ("share", {(0, 1), (0, 2)}, set(), WHOLE),
    "HalvesOfAParameter": ("alias_params", set(), {0, 1}, 0),
    "HalvesOfAConstant": None,
    "Callee": None,
    "InnerSlicesFirst": None,
    "OtherOperandsFirst": None,
    "CopyAtTheEnd": ("view", set(), set(), 3 * WHOLE),
    "CopyOfAnOperand": ("view", set(), set(), 3 * WHOLE),
    "HalvesOfAHalf": ("view", {(0, 1), (0, 2)}, set(), WHOLE + WHOLE // 2),
}
#: The same under `k0`, which knows reshapes only.
SHARED_BY_K0 = {
    "ValueAndReshape": SHARED["ValueAndReshape"],
    "Slice": None,
    "ReshapedParameter": SHARED["ReshapedParameter"],
}
WANTED = [(RANGES, *item) for item in SHARED.items()]
WANTED += [("k0", *item) for item in SHARED_BY_K0.items()]


@pytest.mark.parametrize("policy", ALLOWED)
@pytest.mark.parametrize(("approach", "name", "wanted"), WANTED)
def test_what_shares_from_which_policy_on(approach, name, wanted, policy, called):
    found = called(name, policy, approach)
    order = list(ALLOWED)
    if wanted is not None and order.index(policy) >= order.index(wanted[0]):
        shares = found.pairs, found.in_params, found.memory.retained
        assert shares == wanted[1:]
    else:
        assert not found.pairs and not found.in_params
        assert found.memory.retained == sum(value.nbytes for value in found.values)


@pytest.mark.parametrize("policy", ALLOWED)
@pytest.mark.parametrize("name", SHARED)
def test_written_in_place_as_well(name, policy, called):
    found = called(name, policy)
    if policy == "copy":
        assert not found.pairs and not found.in_params
        assert found.memory.retained == sum(value.nbytes for value in found.values)
    assert found.memory.peak <= called(name, policy, RANGES).memory.peak


@pytest.mark.parametrize("name", SHARED)
def test_each_policy_costs_no_more_than_the_one_before(name, called):
    for before, after in itertools.pairwise(ALLOWED):
        before, after = called(name, before, RANGES).memory, called(name, after, RANGES).memory
        assert after.kernels <= before.kernels
        assert after.live_bound <= before.live_bound
        assert after.bytes_copied <= before.bytes_copied


@pytest.mark.parametrize("name", SHARED)
def test_what_would_be_copied_again_is_not_elided(name, called):
    """What `alias` elides besides reshapes costs no more than under `k0`, copies included."""
    only_reshapes, aliasing = (called(name, "copy", each).memory for each in ("k0", "alias"))
    assert aliasing.live_bound <= only_reshapes.live_bound
    assert aliasing.kernels <= only_reshapes.kernels


def test_of_a_split_only_what_is_returned_is_copied(called):
    assert called("OneHalf", "copy").memory.bytes_copied == WHOLE // 2


def test_a_callee_of_which_nothing_is_shared_copies_once(called):
    assert {called("Callee", policy).memory.kernels for policy in ALLOWED} == {3}


#: Kind of root, whether an output is the whole of it, whether it is donated: the policies under
#: which another output may be a range of it.
MAY_BE_PART = {
    ("fresh", False, False): {"view", "alias_params"},
    ("fresh", True, False): {"share", "view", "alias_params"},
    ("param", True, False): {"alias_params"},
    ("param", False, True): {"view", "alias_params"},
    ("param", True, True): {"share", "view", "alias_params"},
    ("constant", True, False): set(),
}


@pytest.mark.parametrize(("kind", "of_output", "donated"), MAY_BE_PART)
def test_what_an_output_may_be_a_range_of(kind, of_output, donated):
    root = Root(kind, (0,))
    found = {p for p in ALLOWED if may_be_part(p, root, of_output=of_output, donated=donated)}
    assert found == MAY_BE_PART[kind, of_output, donated]


# What the source program says itself.


@I.ir_module
class Declared:
    """A view of what is not returned, twice, and a parameter with a view of it."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        v = R.memory.view(a, R.shape([2, 8]), "float32", 64)
        w = R.memory.view(x, R.shape([32]), "float32", 0)
        return v, v, x, w


@pytest.mark.parametrize("policy", ALLOWED)
@pytest.mark.parametrize("approach", ["copy", "k0", "k0-run", "alias"])
def test_what_the_source_says_is_kept(approach, policy):
    found = Called(Declared, (X,), approach, outputs=policy)
    assert agrees(tuple(found.values), (np.tanh(X)[2:], np.tanh(X)[2:], X, X.reshape(32)))
    assert (found.pairs, found.in_params) == ({(0, 1), (2, 3)}, {2, 3})
    assert (found.memory.retained, found.memory.kernels) == (WHOLE, 1)


@I.ir_module
class DeclaredInACallee:
    @R.function(private=True)
    def lower(a: R.Tensor((4, 8), "float32")):
        b = R.tanh(a)
        return R.memory.view(b, R.shape([2, 8]), "float32", 64)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = DeclaredInACallee
        c = cls.lower(x)
        return c, R.exp(c)


@pytest.mark.parametrize("approach", ["copy", "alias"])
def test_a_range_that_a_callee_returns_is_read_where_it_begins(approach):
    found = Called(DeclaredInACallee, (X,), approach)
    assert agrees(tuple(found.values), (np.tanh(X)[2:], np.exp(np.tanh(X)[2:])))
    assert found.memory.retained == WHOLE + WHOLE // 2


@I.ir_module
class ViewOfAHalf:
    """The view is of a value that a policy may have copied: both share storage all the same."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        halves = R.split(R.tanh(x), 2, axis=0)
        a = halves[0]
        return a, R.memory.view(a, R.shape([8]), "float32", 32), R.exp(halves[1])


@pytest.mark.parametrize("policy", ALLOWED)
def test_a_view_of_a_range_shares_with_it(policy):
    found = Called(ViewOfAHalf, (X,), outputs=policy)
    first, second = np.split(np.tanh(X), 2)
    assert agrees(tuple(found.values), (first, first[1], np.exp(second)))
    assert found.pairs == {(0, 1)}


# Donated parameters.


@I.ir_module
class Donated:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        R.func_attr({DONATED: ["x"]})
        lower = R.strided_slice(x, axes=[0], begin=[2], end=[4])
        return R.reshape(x, (32,)), R.reshape(x, (8, 4)), R.reshape(y, (32,)), lower


@pytest.mark.parametrize("policy", ALLOWED)
def test_the_whole_of_a_donated_parameter_is_an_output_s_own(policy):
    found = Called(Donated, (X, X + 1), outputs=policy)
    expected = (X.reshape(32), X.reshape(8, 4), (X + 1).reshape(32), X[2:])
    assert agrees(tuple(found.values), expected)
    in_params = {"copy": {0}, "share": {0, 1, 3}, "view": {0, 1, 3}, "alias_params": {0, 1, 2, 3}}
    assert found.in_params == in_params[policy]


@I.ir_module
class RangeOfDonated:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        R.func_attr({DONATED: ["x"]})
        return R.strided_slice(x, axes=[0], begin=[2], end=[4])


@pytest.mark.parametrize("policy", ALLOWED)
def test_a_range_of_a_donated_parameter_is_a_part(policy):
    found = Called(RangeOfDonated, (X,), outputs=policy)
    assert agrees(tuple(found.values), (X[2:],))
    assert found.in_params == ({0} if policy in ("view", "alias_params") else set())


# Who heeds the policy.


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("approach", ["stock", "stock+offset-abi", "stock-noalias"])
def test_stock_ignores_the_policy(approach, planner):
    module, _, _ = PROGRAMS["ValueAndReshape"]
    one, other = (
        ta.build(module, approach, planner=planner, fused=False, outputs=policy).stages["vm"]
        for policy in ("copy", "alias_params")
    )
    tvm.ir.assert_structural_equal(one, other, map_free_vars=True)


def test_alias_heeds_it_by_a_feature(called):
    features = ("alias:views+dest", "alias:views+dest+outputs")
    without, with_it = (called("Slice", "view", approach).memory for approach in features)
    assert (without.retained, with_it.retained) == (WHOLE // 2, WHOLE)


@pytest.mark.parametrize("approach", ["copy", "k0-run"])
def test_approaches_that_elide_nothing_have_nothing_to_share(approach, called):
    for policy in ALLOWED:
        found = called("ValueAndReshape", policy, approach)
        assert not found.pairs and found.memory.kernels == 2


# The programs in `cases/`.


HERE = Path(__file__).parent
CASES = {
    (path.stem, name): case[:3]
    for path in sorted(HERE.glob("cases/*.py"))
    if path.stem != "devices"  # they are run on two
    for name, case in execute_file(path)["CASES"].items()
}
#: Some of them: the whole takes four minutes.
CHOSEN = [case for i, case in enumerate(CASES) if i % (3 if case[0] == "outputs" else 12) == 0]


@pytest.mark.parametrize("case", CHOSEN, ids="-".join)
def test_cases(case):
    """Each is right under each policy, costs no more than under `copy`, and shares as allowed."""
    module, inputs, expected = CASES[case]
    said = Called(module, inputs, "copy")  # it elides nothing: what it shares the source says
    if callable(expected):  # it also says that nothing is shared, as under `copy`
        expected = tuple(said.values)
    under = {policy: Called(module, inputs, planner="arena", outputs=policy) for policy in ALLOWED}
    for found in under.values():
        assert agrees(tuple(found.values), tuple(tensors(expected)))
        assert found.memory.kernels <= under["copy"].memory.kernels
        assert (found.memory.live_bound or 0) <= (under["copy"].memory.live_bound or 0)
    for policy in ("copy", "share", "view"):
        assert under[policy].in_params == said.in_params
    assert under["copy"].pairs == said.pairs
    if case[0] == "externs":
        return  # what is written over their results lies outside the machine's memory
    assert under["copy"].memory.retained == said.memory.retained
    if said.memory.retained == said.bytes:  # the source returns no range of anything
        assert under["share"].memory.retained == under["share"].bytes
