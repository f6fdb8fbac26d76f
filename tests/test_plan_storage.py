"""Planners `token` and `arena` on Relax functions: sound, and where each storage is allocated."""

import re

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from plans import faults
from tvm_aliasing.analysis.bindings import bindings_of, is_call
from tvm_aliasing.approaches import approach
from tvm_aliasing.options import pass_options
from tvm_aliasing.passes.plan_storage import PlanArena, PlanTokens
from tvm_aliasing.planning.allocations import allocations
from tvm_aliasing.planning.packing import Buffer, height, load, pack

PLANNERS = {"token": PlanTokens, "arena": PlanArena}
X = np.arange(32, dtype="float32").reshape(4, 8) / 32


def planned(module, planner):
    """A module of operators, planned."""
    return tvm.transform.Sequential(
        [
            transform.LegalizeOps(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            PLANNERS[planner](),
            transform.LowerAllocTensor(),
        ]
    )(module)


def storages(mod, name="main"):
    """Sizes of the storages of a function, in the order of their allocation."""
    return [
        int(binding.value.args[0].values[0])
        for binding in bindings_of(mod[name].body)
        if is_call(binding.value, "relax.memory.alloc_storage")
    ]


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.sin(b)
        d = R.astype(c, "int32")
        e = R.astype(d, "float32")
        return R.cos(e)


@pytest.mark.parametrize(
    ("planner", "expected"),
    # token: two of float32 in turns, one of int32, the output. arena: two at a time, the output.
    [("token", [128, 128, 128, 128]), ("arena", [128, 128, 128])],
)
def test_a_chain(planner, expected):
    mod = planned(Chain, planner)
    assert storages(mod) == expected
    assert faults(mod) == []


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        before = R.tanh(x)
        if c:
            a = R.exp(x)
            b = R.sin(a)
            y = R.add(b, a)
        else:
            d = R.cos(before)
            e = R.sin(d)
            y = R.add(e, d)
        return R.exp(y)


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("taken", [True, False])
def test_branches_share_storages_that_are_allocated_before_them(planner, taken):
    mod = planned(Branches, planner)
    assert faults(mod) == []
    before = mod["main"].body.blocks[0].bindings
    at = next(i for i, binding in enumerate(before) if isinstance(binding.value, relax.If))
    hoisted = [b for b in before[:at] if is_call(b.value, "relax.memory.alloc_storage")]
    assert hoisted
    # Two tensors live in each branch, and `before` in the second: they share three at most.
    inner = sum(storages(mod)) - 128
    assert inner <= 5 * 128
    built = ta.build(Branches, "k0", planner=planner, fused=False)
    first, second = np.exp(X), np.cos(np.tanh(X))
    expected = np.exp(np.sin(first) + first) if taken else np.exp(np.sin(second) + second)
    np.testing.assert_allclose(built.run(np.asarray(taken), X), expected, rtol=1e-5)


@I.ir_module
class TwoDevices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((4, 8), "float32", "llvm:0"), y: R.Tensor((4, 8), "float32", "llvm:1")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.tanh(y)
        d = R.exp(c)
        e = R.sin(b)
        f = R.sin(d)
        return R.cos(e), R.cos(f)


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_storage_lies_on_one_device(planner):
    mod = planned(TwoDevices, planner)
    assert faults(mod) == []
    devices = [
        int(binding.value.args[1])
        for binding in bindings_of(mod["main"].body)
        if is_call(binding.value, "relax.memory.alloc_storage")
    ]
    assert sorted(set(devices)) == [0, 1]


def test_tvm_shares_a_storage_between_devices():
    """Why the planners here are keyed by device: TVM's is not."""
    mod = tvm.transform.Sequential(
        [
            transform.LegalizeOps(),
            transform.ToNonDataflow(),
            transform.RemovePurityChecking(),
            transform.CallTIRRewrite(),
            transform.StaticPlanBlockMemory(),
            transform.LowerAllocTensor(),
        ]
    )(TwoDevices)
    assert any("on device" in fault for fault in faults(mod))


@I.ir_module
class Textures:
    I.module_global_infos(
        {"vdevice": [I.vdevice("llvm", 0, "global"), I.vdevice("llvm", 0, "global.texture")]}
    )

    @R.function
    def main(x: R.Tensor((4, 8), "float32", "llvm:1:global.texture")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.sin(b)
        return R.cos(c)


@pytest.mark.parametrize("planner", PLANNERS)
def test_what_is_not_flat_keeps_storages_of_its_own(planner):
    mod = planned(Textures, planner)
    assert storages(mod) == [128] * 4


@I.ir_module
class Extern:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.call_pure_packed("any", b, ty_args=R.Tensor((4, 8), "float32"))
        d = R.sin(b)
        e = R.cos(d)
        f = R.add(c, e)
        return R.exp(f)


def test_what_an_extern_reads_begins_its_storage_and_lives_as_long_as_its_result():
    mod = planned(Extern, "arena")
    assert faults(mod) == []
    # `b`, which the extern reads and may return, is alone; the arena holds two at a time.
    assert storages(mod) == [128] * 4
    tokens = planned(Extern, "token")
    assert faults(tokens) == []
    assert storages(tokens) == [128] * 4  # `a` and what follows in turns, `b`, `e`, the output


@I.ir_module
class Outputs:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.sin(b)
        return a, (R.cos(c), b)


@pytest.mark.parametrize("planner", PLANNERS)
def test_outputs_have_storages_of_their_own(planner):
    mod = planned(Outputs, planner)
    assert storages(mod) == [128] * 4
    assert faults(mod) == []


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.sin(b)
        return R.cos(c)


@pytest.mark.parametrize("planner", PLANNERS)
def test_symbolic_sizes_are_planned_at_their_bound(planner):
    x = np.ones((3, 8), "float32")
    memory = ta.build(Symbolic, "k0", planner=planner, fused=False, dims={"n": 16}).memory(x)
    assert memory.planned == 2 * 16 * 32 + 3 * 32  # two at a time; the output as large as it is


@pytest.mark.parametrize("planner", PLANNERS)
def test_symbolic_sizes_without_a_bound_have_storages_of_their_own(planner):
    memory = ta.build(Symbolic, "k0", planner=planner, fused=False).memory(
        np.ones((3, 8), "float32")
    )
    assert memory.planned == memory.requested == 4 * 3 * 32


@pytest.mark.parametrize("planner", PLANNERS)
@pytest.mark.parametrize("approach", ["stock", "k0", "alias"])
@pytest.mark.parametrize("name", ["densenet", "qkv_split", "mha", "residual"])
def test_plans_of_workloads_are_sound(name, approach, planner):
    found = ta.workload(name)
    built = ta.build(found.mod, approach, planner=planner, params=found.params)
    assert faults(built.stages["planned"]) == []


def unplanned(program, name, fused):
    """A program under an approach as the planner is given it; its kernels are not scheduled."""
    chosen = approach(name)
    options = pass_options(chosen, "llvm", planner="arena", fused=fused, dims=program.dims)
    stages = chosen.stages(options)
    passes = [*stages["front"], *stages["introduced"], *stages["planned"][:3]]
    mod = relax.transform.BindParams("main", program.params or {})(program.mod)
    schedules = options.schedules.info.name
    with options.target, tvm.transform.PassContext(disabled_pass=[schedules]):
        return tvm.transform.Sequential(passes)(mod)


@pytest.mark.parametrize("fused", [True, False, "moves-apart"])
@pytest.mark.parametrize("name", ta.workloads())
def test_the_arena_is_as_small_as_the_load(name, fused):
    for chosen in ("stock", "k0", "alias"):
        mod = unplanned(ta.workload(name), chosen, fused)
        found, _ = allocations(mod, mod["main"])
        buffers = [Buffer(a.size, a.live) for a in found if a.takes_offset]
        assert height(buffers, pack(buffers)) == load(buffers)


@I.ir_module
class LargeAndSmall:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        large = R.broadcast_to(x, (3, 4, 8))
        a = R.sum(large, axis=0)
        b = R.exp(a)
        c = R.sin(a)
        d = R.add(b, c)
        return R.multiply(d, a)


def test_what_is_small_lies_where_what_is_large_was():
    """Tensors cross the addresses between the small ones: one storage, not cut there."""
    mod = planned(LargeAndSmall, "arena")
    assert faults(mod) == []
    assert sorted(storages(mod)) == [128, 128, 384]


def test_an_unsound_plan_is_seen():
    """So that the tests above can fail: the arena's tensors all at offset 0."""
    source = planned(LargeAndSmall, "arena").script(show_meta=True)
    moved = re.sub(r"(R\.memory\.alloc_tensor\(\w+, )\d+", r"\g<1>0", source)
    assert moved != source
    assert any("overlaps" in fault for fault in faults(tvm.script.from_source(moved)))
