"""Storages of outputs hold other tensors before the outputs are written."""

import itertools
import random

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from plans import faults
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.alias_classes import Memory
from tvm_aliasing.analysis.bindings import bindings_of, is_call
from tvm_aliasing.planning.allocations import Allocation
from tvm_aliasing.planning.room import move_to_outputs
from tvm_aliasing.planning.storages import arena_storages

HERE = Memory(0, "global")


def tensor(size, *live, memory=HERE, path=(), returned=False, takes_offset=True):
    var = tvm.relax.Var("v", tvm.relax.TensorType((size,), "uint8"))
    return Allocation(var, memory, "uint8", size, live, path, takes_offset, returned)


def output(size, begin, **other):
    return tensor(size, (begin, 100), returned=True, **other)


def load(tensors, left_out=()):
    """Most bytes live at a point, of those that are not left out."""
    return max(
        sum(
            -(-t.size // 64) * 64
            for i, t in enumerate(tensors)
            if i not in left_out and any(a <= point < b for a, b in t.live)
        )
        for point in range(100)
    )


# Which tensors move.

MOVES = {
    "before it is written": ([output(256, 5)], [tensor(256, (0, 5))], {0: (0, 0)}),
    "while it is written": ([output(256, 5)], [tensor(256, (0, 6))], {}),
    "larger": ([output(256, 5)], [tensor(257, (0, 5))], {}),
    "elsewhere": ([output(256, 5)], [tensor(256, (0, 5), memory=Memory(1, "global"))], {}),
    "one after the other": (
        [output(256, 9)],
        [tensor(256, (0, 3)), tensor(256, (3, 6))],
        {0: (0, 0), 1: (0, 0)},
    ),
    "side by side": (
        [output(256, 9)],
        [tensor(128, (0, 6)), tensor(128, (2, 8))],
        {0: (0, 0), 1: (0, 128)},
    ),
    "side by side, aligned": (
        [output(128, 9)],
        [tensor(60, (0, 6)), tensor(40, (2, 8))],
        {0: (0, 0), 1: (0, 64)},
    ),
    "no room beside": ([output(100, 9)], [tensor(60, (0, 6)), tensor(40, (2, 8))], {0: (0, 0)}),
    "of two outputs the one that is free": (
        [output(256, 2), output(256, 9)],
        [tensor(256, (0, 8))],
        {0: (1, 0)},
    ),
    "the largest first": (
        [output(256, 9)],
        [tensor(192, (0, 6)), tensor(256, (2, 8))],
        {1: (0, 0)},
    ),
    # All that is live at the peak is too large: moving the small one helps nobody.
    "lowers nothing": ([output(64, 9)], [tensor(64, (0, 2)), tensor(256, (4, 6))], {}),
    "no outputs": ([], [tensor(64, (0, 2))], {}),
    "no tensors": ([output(64, 2)], [], {}),
}


@pytest.mark.parametrize("case", MOVES)
def test_what_moves_where(case):
    outputs, tensors, wanted = MOVES[case]
    assert move_to_outputs(outputs, tensors) == wanted


@pytest.mark.parametrize("seed", range(60))
def test_moves_are_sound_and_lower_the_load(seed):
    draw = random.Random(seed)

    def live():
        begin = draw.randrange(30)
        return begin, begin + draw.randrange(1, 12)

    outputs = [output(draw.randrange(1, 600), draw.randrange(10, 60)) for _ in range(3)]
    tensors = [tensor(draw.randrange(1, 400), live()) for _ in range(12)]
    moved = move_to_outputs(outputs, tensors)
    if moved:
        assert load(tensors, moved) < load(tensors)
    for i, (room, offset) in moved.items():
        assert tensors[i].live[0][1] <= outputs[room].live[0][0]
        assert offset % 64 == 0
        assert offset + tensors[i].size <= outputs[room].size
    for (i, (room, begin)), (j, (other, its_begin)) in itertools.combinations(moved.items(), 2):
        (a, b), (c, d) = tensors[i].live[0], tensors[j].live[0]
        if room == other and a < d and c < b:
            apart = begin + tensors[i].size <= its_begin or its_begin + tensors[j].size <= begin
            assert apart


def test_some_move():
    """So that the test above is about something."""
    outputs, tensors, _ = MOVES["side by side"]
    assert load(tensors, move_to_outputs(outputs, tensors)) == 0 < load(tensors)


# What the storages hold.


def test_a_storage_is_the_output_s_and_holds_in_the_order_of_the_program():
    before, after = tensor(256, (3, 5)), tensor(128, (0, 2))
    made = output(256, 6)
    (storage,) = arena_storages([made, before, after])  # the output is allocated first
    assert storage.size == 256
    assert [held.size for held, _ in storage.held] == [256, 256, 128]


def test_an_output_in_a_branch_gives_no_room():
    before, made = tensor(256, (0, 5)), output(256, 6, path=((5, True),))
    (storage,) = arena_storages([before, made])
    assert [held for held, _ in storage.held] == [before]


def test_what_takes_no_offset_does_not_move():
    assert arena_storages([tensor(64, (0, 5), takes_offset=False), output(256, 6)]) == []


X = np.arange(32, dtype="float32").reshape(4, 8) / 32


@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.add(b, a)
        return R.cos(c)


@I.ir_module
class InBranches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        if c:
            a = R.tanh(x)
            b = R.exp(a)
            y = R.cos(b)
        else:
            d = R.sin(x)
            y = R.exp(d)
        return y


@I.ir_module
class BeforeAndInBranches:
    """The output is made after an `If`; its storage holds what branches make."""

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        if c:
            a = R.tanh(x)
            b = R.exp(a)
            y = R.add(a, b)
        else:
            d = R.sin(x)
            y = R.add(x, d)
        e = R.exp(y)
        f = R.add(y, e)
        return R.cos(f)


def storages(built):
    return [
        int(binding.value.args[0].values[0])
        for binding in bindings_of(built.stages["planned"]["main"].body)
        if is_call(binding.value, "relax.memory.alloc_storage")
    ]


def test_a_chain_uses_its_output_s_storage_before():
    built = ta.build(Chain, "k0", planner="arena", fused=False)
    a = np.tanh(X)
    assert agrees(built.run(X), np.cos(np.exp(a) + a))
    assert faults(built.stages["planned"]) == []
    # Three live at a time while `c` is made; one of them lies in the output's storage.
    assert storages(built) == [128, 128, 128]
    memory = built.memory(X)
    assert memory.retained == X.nbytes
    assert memory.peak == sum(storages(built))


@pytest.mark.parametrize("taken", [True, False])
def test_outputs_made_in_branches(taken):
    built = ta.build(InBranches, "copy", planner="arena", fused=False)
    expected = np.cos(np.exp(np.tanh(X))) if taken else np.exp(np.sin(X))
    assert agrees(built.run(np.asarray(taken), X), expected)
    assert faults(built.stages["planned"]) == []


@pytest.mark.parametrize("taken", [True, False])
def test_what_branches_make_lies_in_a_storage_that_is_there_before_them(taken):
    built = ta.build(BeforeAndInBranches, "k0", planner="arena", fused=False)
    y = np.tanh(X) + np.exp(np.tanh(X)) if taken else X + np.sin(X)
    assert agrees(built.run(np.asarray(taken), X), np.cos(y + np.exp(y)))
    assert faults(built.stages["planned"]) == []
    moved = [s for s in storages(built) if s == X.nbytes]
    assert moved  # the output's, of its own size


@pytest.mark.parametrize("name", ["qkv_split", "residual"])
def test_the_arena_is_never_above_the_planner_without_room(name):
    found = ta.workload(name)
    planned = {}
    for planner in ("token", "arena"):
        built = ta.build(found.mod, "k0", planner=planner, params=found.params)
        assert faults(built.stages["planned"]) == []
        planned[planner] = built.memory(*found.inputs).planned
    assert planned["arena"] <= planned["token"]


def test_the_buffer_of_an_output_may_be_allocated_before_what_lies_in_it():
    """Of two allocations the one that is used first need not come first."""
    first, second = output(256, 6), tensor(256, (2, 5))
    (storage,) = arena_storages([first, second])
    assert storage.held[0][0] is first


def test_an_arena_is_given_back_in_parts():
    """In one piece it lived beside the output, which nothing else did by then."""
    subject = ta.workload("matmul_reshape_chain")

    def peak(approach, planner):
        built = ta.build(subject.mod, approach, planner=planner, params=subject.params)
        return built.memory(*subject.inputs).peak

    assert peak("alias", "arena") <= peak("stock+inplace", "tvm")
