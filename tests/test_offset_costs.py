"""Kernels that take offsets beside the same without: the rows of a record of kind `offsets`."""

import numpy as np
import pytest
import tvm

import tvm_aliasing as ta
from tvm_aliasing.measure import offsets
from tvm_aliasing.measure.kernel_calls import Given, byte_offset, kernel_calls
from tvm_aliasing.measure.offsets import offset_results, offset_rows, takers_of_offsets
from tvm_aliasing.measure.replay import ALIGNMENT, Replay
from tvm_aliasing.passes.accept_offsets import AcceptOffsets
from tvm_aliasing.values import to_device
from tvm_aliasing.workloads import workload

COST = ("ratio", "lo", "hi", "aa_lo", "aa_hi", "samples")
PLACEMENT = ("placement_ratio", "placement_lo", "placement_hi", "placement_samples")
KEYS = {
    *("workload", "approach", "planner", "fused", "target", "threads"),
    *("correct", "kernels", "rewritten", *COST, *PLACEMENT),
}


def build(name, verify=True):
    subject = workload(name)
    chosen = {"planner": "arena", "fused": False, "verify": verify}
    return ta.build(subject.mod, "alias", **chosen, params=subject.params, dims=subject.dims)


@pytest.fixture(scope="module")
def qkv():
    """A program with a split: a build, the calls of its kernels that take offsets, their number."""
    subject = workload("qkv_split")
    built = build("qkv_split")
    params = subject.mod["main"].params[: len(subject.inputs)]
    tensors = to_device(params, subject.inputs, tvm.cpu())
    calls, count, result = kernel_calls(built, tensors, takers_of_offsets(built))
    np.testing.assert_allclose(result.numpy(), subject.expected, rtol=1e-4, atol=1e-5)
    return built, calls, count


def test_rows_of_a_workload(monkeypatch):
    monkeypatch.setattr(offsets, "SITTINGS", 2)
    rows = list(offset_rows(["qkv_split"], "llvm", budget=0.01))
    assert [row["fused"] for row in rows] == [True, False]
    for row in rows:
        assert set(row) == KEYS
        assert (row["workload"], row["approach"], row["planner"]) == (
            "qkv_split",
            "alias",
            "arena",
        )
        assert row["correct"] and 0 < row["rewritten"] <= row["kernels"]
        assert row["lo"] <= row["ratio"] <= row["hi"]
        assert row["placement_lo"] <= row["placement_ratio"] <= row["placement_hi"]
        for samples, runs in (
            (row["samples"], ("accepting", "plain", "again")),
            (row["placement_samples"], ("plain", "at_start")),
        ):
            assert set(samples) == {*runs, "sittings"}
            assert len(samples["sittings"]) == 2
            assert {len(samples[run]) for run in runs} == {sum(samples["sittings"])}


def test_where_nothing_is_rewritten_there_is_no_cost():
    fused, _ = (offsets._row([found]) for found in offset_results(["reshape_chain"], "llvm", 0.01))
    assert set(fused) == KEYS
    assert (fused["correct"], fused["kernels"], fused["rewritten"]) == (True, 1, 0)
    assert all(fused[key] is None for key in (*COST, *PLACEMENT))


def test_a_wrong_result_is_not_timed(monkeypatch):
    monkeypatch.setattr(Replay, "results", lambda self, run: [np.array([id(run)])])
    rows = [offsets._row([found]) for found in offset_results(["qkv_split"], "llvm", 0.01)]
    assert [row["correct"] for row in rows] == [False, False]
    assert all(row[key] is None for row in rows for key in (*COST, *PLACEMENT))


def test_calls_are_those_of_kernels_that_take_offsets(qkv):
    built, calls, count = qkv
    assert {call.kernel for call in calls} == takers_of_offsets(built)
    assert count > len(calls)
    given = [a for call in calls for a in call.arguments if isinstance(a, Given)]
    assert any(a.offset > 0 for a in given)
    assert all(a.offset % ALIGNMENT == 0 for a in given)


@pytest.mark.parametrize("begin", [0, 64, 4096])
def test_the_byte_offset_of_a_tensor(begin):
    whole = tvm.runtime.empty((2048,), "float32")
    assert byte_offset(whole._create_view((8,), "float32", begin)) == begin


@pytest.mark.parametrize("keep_offsets", [True, False])
def test_both_kernels_get_tensors_at_one_address(qkv, keep_offsets):
    _, calls, _ = qkv
    replay = Replay(calls, keep_offsets)
    for call, places in zip(calls, replay._places, strict=True):
        for argument, place in zip(call.arguments, places, strict=True):
            offset = argument.offset if keep_offsets else 0
            assert place.at_offset.data_ptr() == place.at_zero.data_ptr()
            assert place.at_zero.data_ptr() == place.array.ctypes.data
            assert (place.array.ctypes.data - offset) % ALIGNMENT == 0
            assert (byte_offset(place.at_offset), byte_offset(place.at_zero)) == (offset, 0)


def test_all_kernels_compute_the_same_again(qkv):
    built, calls, _ = qkv
    with tvm.transform.PassContext(disabled_pass=[AcceptOffsets().info.name]):
        plain = build("qkv_split", verify=False)
    assert not takers_of_offsets(plain)
    there, at_start = Replay(calls), Replay(calls, keep_offsets=False)
    first = there.results(there.with_offsets(built))
    for others in (
        there.results(there.plain(plain)),
        at_start.results(at_start.plain(plain)),
        there.results(there.with_offsets(built)),  # from the same values as the first time
    ):
        for one, other in zip(first, others, strict=True):
            np.testing.assert_array_equal(one, other)
    with pytest.raises(Exception, match="byte_offset"):
        there.with_offsets(plain)()
