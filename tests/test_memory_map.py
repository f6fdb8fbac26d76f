"""Memory maps: they say what is live when, and agree with what is measured."""

import itertools

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.measure.memory_map import memory_map

X = np.arange(64, dtype="float32").reshape(8, 8) / 64


@I.ir_module
class Chain:
    """Two storages in turn: the plan is smaller than what is requested."""

    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, x)
            b = R.matmul(a, x)
            c = R.matmul(b, x)
            d = R.matmul(c, x)
            R.output(d)
        return d


@I.ir_module
class DiesEarly:
    """The large storage is free again before the end: the peak is smaller than the plan."""

    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 64), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.sum(a, axis=1)
            c = R.matmul(x, b)
            d = R.outer(c, c)
            e = R.matmul(d, x)
            R.output(e)
        return e


@I.ir_module
class Views:
    """Reshapes: a value is held for as long as a view of it is read."""

    @R.function
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((4, 16), "float32")):
        with R.dataflow():
            a = R.matmul(x, x)
            b = R.reshape(a, (16, 4))
            c = R.matmul(b, w)
            d = R.reshape(c, (4, 64))
            e = R.matmul(w, R.reshape(a, (16, 4)))
            f = R.matmul(e, d)
            g = R.reshape(f, (256,))
            R.output(g)
        return g


@I.ir_module
class Outputs:
    """A tuple of outputs, one of them nested, made early and late, of two dtypes."""

    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, x)
            b = R.astype(a, "float16")
            c = R.matmul(a, x)
            d = R.matmul(c, x)
            R.output(a, b, d)
        return (a, (b, d))


@I.ir_module
class OutsideDataflow:
    @R.function
    def main(x: R.Tensor((8, 8), "float32")):
        a = R.matmul(x, x)
        b = R.reshape(a, (4, 16))
        c = R.permute_dims(b)
        d = R.matmul(b, c)
        return R.matmul(d, d)


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (n * 2, 4))
            c = R.matmul(R.permute_dims(b), b)
            d = R.reshape(a, (n * 8,))
            e = R.add(d, R.mean(c))
            R.output(e)
        return e


@I.ir_module
class Branches:
    @R.function
    def main(
        large: R.Tensor((), "bool"), x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 64), "float32")
    ):
        a = R.matmul(x, x)
        if large:
            b = R.matmul(a, w)
            y = R.matmul(b, R.permute_dims(w))
        else:
            y = R.matmul(a, a)
        return R.matmul(y, a)


W = np.arange(512, dtype="float32").reshape(8, 64) / 512
STRAIGHT = {
    "chain": (Chain, (X,)),
    "dies early": (DiesEarly, (X, W)),
    "views": (Views, (X, X.reshape(4, 16))),
    "outputs": (Outputs, (X,)),
    "outside dataflow": (OutsideDataflow, (X,)),
    "symbolic": (Symbolic, (X[:6], X)),
}


def mapped(mod, inputs, approach, **options):
    built = ta.build(mod, approach, **options)
    return built, memory_map(built, inputs)


def live_bytes(lifetimes):
    """The bytes of the storages live during each kernel."""
    storages = [lifetime for lifetime in lifetimes if lifetime.storage is None]
    return [
        sum(s.size for s in storages if s.begin <= kernel <= s.end)
        for kernel in range(max(s.end for s in storages) + 1)
    ]


def assert_sound(lifetimes):
    """Tensors lie in their storages, and no byte has two tensors at once."""
    storages = {s.name: s for s in lifetimes if s.storage is None}
    tensors = [t for t in lifetimes if t.storage is not None]
    assert {t.storage for t in tensors} == storages.keys()
    for tensor in tensors:
        storage = storages[tensor.storage]
        assert storage.address <= tensor.address
        assert tensor.address + tensor.size <= storage.address + storage.size
        assert storage.begin <= tensor.begin <= tensor.end <= storage.end
    for one, other in itertools.combinations(storages.values(), 2):
        assert disjoint(one, other)
    for one, other in itertools.combinations(tensors, 2):
        if one.begin <= other.end and other.begin <= one.end:
            assert disjoint(one, other), f"{one} and {other}"


def disjoint(one, other):
    return one.address + one.size <= other.address or other.address + other.size <= one.address


@pytest.mark.parametrize(
    ("approach", "fused"),
    [
        (approach, fused)
        for approach in ta.approaches()
        for fused in (True, False)
        if fused or approach != "shipped"
    ],
)
@pytest.mark.parametrize("case", STRAIGHT)
def test_highest_point_of_the_map_is_the_measured_peak(case, approach, fused):
    mod, inputs = STRAIGHT[case]
    built, lifetimes = mapped(mod, inputs, approach, fused=fused)
    report = built.memory(*inputs)
    assert max(live_bytes(lifetimes)) == report.peak
    assert len(live_bytes(lifetimes)) == report.kernels
    assert live_bytes(lifetimes)[-1] >= report.retained
    assert sum(s.size for s in lifetimes if s.storage is None) == report.planned
    assert sum(t.size for t in lifetimes if t.storage is not None) == report.requested
    assert_sound(lifetimes)


@pytest.mark.parametrize("approach", ["stock", "k0"])
@pytest.mark.parametrize("name", ["qkv_split", "matmul_reshape_chain"])
def test_map_of_a_workload(name, approach):
    found = ta.workload(name)
    built = ta.build(found.mod, approach, params=found.params)
    lifetimes = memory_map(built, found.inputs)
    assert max(live_bytes(lifetimes)) == built.memory(*found.inputs).peak
    assert_sound(lifetimes)


def test_cases_reuse_storage_and_free_it():
    """Else the tests above would hold for a map in which everything lives for ever."""
    built, lifetimes = mapped(Chain, (X,), "stock")
    assert built.memory(X).planned < built.memory(X).requested
    shared = [t.storage for t in lifetimes if t.storage is not None]
    assert len(shared) > len(set(shared))
    report = mapped(DiesEarly, (X, W), "stock")[0].memory(X, W)
    assert report.peak < report.planned


def test_elided_reshape_has_no_tensor_of_its_own_and_holds_its_source():
    inputs = X, X.reshape(4, 16)
    tensors = {
        approach: [t for t in mapped(Views, inputs, approach)[1] if t.storage is not None]
        for approach in ("copy", "k0")
    }
    assert len(tensors["copy"]) > len(tensors["k0"])
    first = tensors["k0"][0]
    assert (first.begin, first.end) == (0, 2)  # a, read through a view by the third kernel


def test_outputs_are_held_to_the_end():
    _, lifetimes = mapped(Outputs, (X,), "k0")
    last = max(t.end for t in lifetimes)
    held = sorted(t.size for t in lifetimes if t.storage is not None and t.end == last)
    assert held[-3:] == [256, 256, 256] or held == [128, 256, 256, 256]


@pytest.mark.parametrize("n", [1, 6, 8])
def test_symbolic_sizes_are_those_of_the_inputs(n):
    inputs = X[:n], X
    built, lifetimes = mapped(Symbolic, inputs, "k0")
    assert n * 32 in {t.size for t in lifetimes}
    assert max(live_bytes(lifetimes)) == built.memory(*inputs).peak


def test_bounded_symbolic_sizes_are_planned_at_the_bound():
    _, lifetimes = mapped(Symbolic, (X[:2], X), "k0", dims={"n": 8})
    assert {s.size for s in lifetimes if s.storage is None} >= {256}
    assert 64 in {t.size for t in lifetimes if t.storage is not None}
    assert_sound(lifetimes)


@pytest.mark.parametrize("approach", ["copy", "stock", "k0"])
def test_branches_stand_one_after_the_other(approach):
    """So the map of a function with an `If` bounds the peak of either branch."""
    for large in (True, False):
        inputs = np.asarray(large), X, W
        built, lifetimes = mapped(Branches, inputs, approach)
        assert_sound(lifetimes)
        report = built.memory(*inputs)
        assert max(live_bytes(lifetimes)) >= report.peak
        assert len(live_bytes(lifetimes)) > report.kernels
    assert 2048 in {t.size for t in lifetimes}  # of the branch that was not taken
