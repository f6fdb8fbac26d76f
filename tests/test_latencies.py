"""Latency of approaches: what is timed and how it is put together; no test asserts a time."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm_aliasing as ta
from tvm_aliasing import latencies
from tvm_aliasing.errors import InputError
from tvm_aliasing.measure.latency import ratio_interval

BLOCK_OUTPUT = Path(__file__).parent / "programs" / "block_output.py"
KEYS = ["ratio_to", "ratio", "lo", "hi", "aa_lo", "aa_hi", "samples"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(latencies, "SITTINGS", 2)
    monkeypatch.setattr(latencies, "ROUNDS", (3, 4))


def timed(program, approaches=("copy", "stock", "k0"), **options):
    options = {"latency_to": "stock", "latency_budget": 0.01, "planner": "token", **options}
    return ta.compare(program, list(approaches), **options)


@pytest.fixture(scope="module")
def block_output():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latencies, "SITTINGS", 2)
        patch.setattr(latencies, "ROUNDS", (3, 4))
        return timed(BLOCK_OUTPUT, fused=[True, False])


# Threads


@pytest.mark.parametrize(("given", "threads"), [(None, min(2, os.cpu_count())), ("1", 1)])
def test_threads_are_two_unless_the_user_says_otherwise(given, threads):
    environment = {key: value for key, value in os.environ.items() if key != "TVM_NUM_THREADS"}
    if given:
        environment["TVM_NUM_THREADS"] = given
    code = "import os, tvm_aliasing, tvm; print(os.environ['TVM_NUM_THREADS'], end=' ');"
    done = subprocess.run(
        [sys.executable, "-c", code + "print(tvm.runtime.num_threads())"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    assert done.stdout.split() == [given or "2", str(threads)]


def test_a_larger_value_of_the_user_stays():
    done = subprocess.run(
        [sys.executable, "-c", "import os, tvm_aliasing; print(os.environ['TVM_NUM_THREADS'])"],
        capture_output=True,
        text=True,
        env={**os.environ, "TVM_NUM_THREADS": "3"},
        check=True,
    )
    assert done.stdout.strip() == "3"  # TVM starts no more threads than there are cores


# What a row gets


def test_every_right_row_has_a_ratio_to_the_reference_at_its_point(block_output):
    assert len(block_output.rows) == 6
    for row in block_output.rows:
        latency = row["latency"]
        assert list(latency) == KEYS
        assert latency["ratio_to"] == "stock"
        assert latency["lo"] <= latency["ratio"] <= latency["hi"]
        assert latency["aa_lo"] <= latency["aa_hi"]
        assert row["label"] == "run on a CPU"
        assert row["memory"]["kernels"] > 0


def test_samples_are_pairs_of_several_sittings(block_output):
    for row in block_output.rows:
        samples = row["latency"]["samples"]
        assert list(samples) == ["this", "reference", "sittings"]
        assert len(samples["sittings"]) == 2
        assert all(3 <= rounds <= 4 for rounds in samples["sittings"])
        assert len(samples["this"]) == len(samples["reference"]) == sum(samples["sittings"])
        assert all(seconds > 0 for seconds in samples["this"] + samples["reference"])


def test_the_interval_is_that_of_the_samples(block_output):
    for row in block_output.rows:
        latency, samples = row["latency"], row["latency"]["samples"]
        found = ratio_interval(samples["this"], samples["reference"], sittings=samples["sittings"])
        assert found == (latency["ratio"], latency["lo"], latency["hi"])


def test_the_reference_row_is_the_a_a_row_of_its_point(block_output):
    for fused in (True, False):
        rows = {row["approach"]: row for row in block_output.rows if row["fused"] is fused}
        stock = rows["stock"]["latency"]
        assert (stock["lo"], stock["hi"]) == (stock["aa_lo"], stock["aa_hi"])
        assert stock["samples"]["this"] != stock["samples"]["reference"]
        for row in rows.values():
            assert (row["latency"]["aa_lo"], row["latency"]["aa_hi"]) == (stock["lo"], stock["hi"])
            assert row["latency"]["samples"]["reference"] == stock["samples"]["reference"]


def test_each_planner_is_a_point_with_a_reference_of_its_own():
    """`stock` under TVM's planner too: there it is the only one."""
    record = timed(BLOCK_OUTPUT, ["stock", "k0"], planner=None)
    points = {}
    for row in record.rows:
        points.setdefault(row["planner"], []).append(row)
    names = {planner: [row["approach"] for row in rows] for planner, rows in points.items()}
    assert names == {"tvm": ["stock"], "token": ["stock", "k0"], "arena": ["stock", "k0"]}
    references = [
        {tuple(row["latency"]["samples"]["reference"]) for row in rows} for rows in points.values()
    ]
    assert [len(reference) for reference in references] == [1, 1, 1]
    assert len(set().union(*references)) == 3


def test_settings_of_the_timing_are_recorded(block_output):
    assert set(block_output.provenance["latency"]) == {"budget", "sittings", "rounds"}
    assert block_output.provenance["latency"]["budget"] == 0.01


def test_a_loaded_program_is_timed_in_this_process():
    workload = ta.workload("matmul_reshape_symbolic")
    record = timed(workload, ["stock", "k0"])
    assert all(len(row["latency"]["samples"]["sittings"]) == 2 for row in record.rows)
    assert record.rows[0]["dims"] == {"n": 8}


def test_table_has_ratios_of_three_digits(block_output):
    table = block_output.table()
    assert list(table.columns)[-6:-1] == ["ratio", "lo", "hi", "aa_lo", "aa_hi"]
    for row, ratio in zip(block_output.rows, table["ratio"]):
        assert ratio == round(row["latency"]["ratio"], 3)
    untimed = ta.compare(BLOCK_OUTPUT, "k0", planner="token").table()
    assert "ratio" not in untimed.columns


# One row beside another


def at(record, fused):
    return {row["approach"]: row for row in record.rows if row["fused"] is fused}


def test_a_row_beside_another_is_of_the_same_rounds(block_output):
    rows = at(block_output, True)
    k0, copy = (rows[name]["latency"]["samples"] for name in ("k0", "copy"))
    found = latencies.beside(rows["k0"], rows["copy"])
    assert list(found) == KEYS
    expected = ratio_interval(k0["this"], copy["this"], sittings=k0["sittings"])
    assert (found["ratio_to"], found["ratio"]) == ("copy", expected.ratio)
    assert (found["lo"], found["hi"]) == (expected.lo, expected.hi)
    assert [found[end] for end in ("aa_lo", "aa_hi")] == [
        rows["stock"]["latency"][end] for end in ("lo", "hi")
    ]
    assert latencies.beside(rows["copy"], rows["copy"])["ratio"] == 1


def test_a_row_beside_the_reference_is_what_the_record_says(block_output):
    rows = at(block_output, True)
    for row in rows.values():
        assert latencies.beside(row, rows["stock"]) == row["latency"]


def test_rows_of_other_rounds_are_not_put_beside_each_other(block_output):
    fused, apart = at(block_output, True), at(block_output, False)
    with pytest.raises(InputError, match=r"^k0 and copy of .* were not timed in the same"):
        latencies.beside(fused["k0"], apart["copy"])
    with pytest.raises(InputError, match="were not both timed"):
        latencies.beside(fused["k0"], {**fused["copy"], "latency": None})


# What is not timed


def test_only_the_approaches_asked_for_and_with_kernels_of_the_front(block_output):
    record = timed(BLOCK_OUTPUT, ["shipped", "stock", "stock+inplace"], planner="tvm")
    assert [row["latency"] is not None for row in record.rows] == [False, True, False]


def test_a_wrong_result_is_not_timed(tmp_path, monkeypatch):
    path = tmp_path / "wrong.py"
    path.write_text(BLOCK_OUTPUT.read_text() + "\nexpected = expected + np.float32(0.01)\n")
    monkeypatch.setattr(latencies, "_sitting", None)
    for row in timed(path).rows:
        assert (row["correct"], row["latency"], row["memory"]) == (False, None, None)


@pytest.mark.parametrize("run", ["k0", "stock", "stock again"])
def test_a_result_that_is_wrong_in_another_run_is_not_timed(run):
    right = [1.0, 1.0, 1.0]
    sitting = dict.fromkeys(["stock", "stock again", "k0"], right)
    sittings = [sitting, {**sitting, run: None}]
    assert latencies._latency("k0", "stock", sittings).startswith("not timed: ")
    of_copy = latencies._latency("stock", "stock", sittings)
    assert isinstance(of_copy, str) is (run != "k0")


def test_wrong_when_timed(monkeypatch):
    """The check of each sitting is its own."""
    monkeypatch.setattr(latencies, "agrees", lambda *_: False)
    record = timed(ta.workload("matmul_reshape_symbolic"), ["stock", "k0"])
    for row in record.rows:
        assert (row["correct"], row["latency"]) == (True, None)
        assert row["label"] == "not timed: the result was wrong in another run"


DIES_LATER = """
import os
import sys

import tvm
from tvm.script import ir as I, relax as R

@tvm.register_global_func("test_latencies.later", override=True)
def later(x):
    if "latencies" in sys.argv:
        os._exit(7)
    return x

@I.ir_module
class DiesLater:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.call_pure_packed("test_latencies.later", x, ty_args=R.Tensor((4,), "float32"))

import numpy as np
inputs = (np.ones(4, "float32"),)
expected = np.ones(4, "float32")
"""


def test_a_process_that_dies_when_timed_costs_the_latency_only(tmp_path):
    path = tmp_path / "dies.py"
    path.write_text(DIES_LATER)
    for row in timed(path, ["stock", "k0"]).rows:
        assert (row["correct"], row["latency"]) == (True, None)
        assert row["label"].startswith("not timed: ")
        assert row["memory"]


@pytest.mark.parametrize(
    ("approaches", "options", "message"),
    [
        (["copy", "k0"], {}, "'stock' is not compared with copy, k0 at equal options"),
        (["copy"], {"latency_to": "shipped"}, "'shipped': its kernels are not those"),
        (["copy"], {"latency_to": "nosuch"}, "'nosuch' is not compared with copy"),
        (
            ["copy", "stock"],
            {"latency_to": "copy", "planner": None},  # stock has a row under planner tvm
            "'copy' is not compared with stock at equal options.*name one planner for all",
        ),
        (["stock"], {"latency_budget": 0}, "latency_budget 0: give seconds"),
    ],
)
def test_what_cannot_be_timed_is_refused_before_anything_is_run(
    approaches, options, message, monkeypatch
):
    monkeypatch.setattr(sys.modules["tvm_aliasing.compare"], "measure_rows", None)
    with pytest.raises(InputError, match=message) as caught:
        timed(BLOCK_OUTPUT, approaches, **options)
    assert "\n" not in str(caught.value)


def test_every_call_is_of_the_right_program():
    """The calls that are timed give the result, on tensors that are on the device already."""
    from tvm_aliasing.subjects import find_subject

    subject = find_subject("reshape_chain", None, "main")
    call = latencies._checked_call(subject, {"approach": "k0"}, {})
    assert np.allclose(call().numpy(), subject.expected, rtol=1e-4, atol=1e-5)
