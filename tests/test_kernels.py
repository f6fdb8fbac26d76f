"""Kernels beside NumPy: the rows of a record of kind `schedules`."""

from tvm_aliasing.measure.kernels import KERNELS, schedule_rows
from tvm_aliasing.measure.latency import SITTINGS

KEYS = {
    *("kernel", "target", "threads", "workspace", "correct", "limit", "ratio", "lo", "hi"),
    *("aa_lo", "aa_hi", "ours_s", "numpy_s", "samples"),
}


def test_a_kernel_is_timed_for_two_targets_and_right():
    plain, host = schedule_rows(["add 1024x1024"], budget=0.01)
    for row in (plain, host):
        assert set(row) == KEYS
        assert row["correct"] and row["workspace"] == 0
        assert row["lo"] <= row["ratio"] <= row["hi"]
        sittings = row["samples"]["sittings"]
        assert len(sittings) == SITTINGS and min(sittings) >= 5
        for run in ("ours", "again", "numpy"):
            assert len(row["samples"][run]) == sum(sittings)
    assert "mcpu" not in plain["target"] and "mcpu" in host["target"]


def test_limits_are_those_that_the_schedules_were_made_for():
    limits = {name: kernel.limit for name, kernel in KERNELS.items() if kernel.limit}
    assert limits == {
        "matmul 64x1024x1024": 4,
        "matmul 512x512x512": 4,
        "conv2d 64 to 64 channels, 3x3, 96x96": 6,
    }
