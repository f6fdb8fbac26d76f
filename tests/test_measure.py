"""Measuring into records, showing them and measuring them again; no test asserts a time."""

import json
import sys
from dataclasses import replace
from types import ModuleType

import pytest

from tvm_aliasing import cli, latencies, records, rerun_kinds
from tvm_aliasing.errors import InputError
from tvm_aliasing.measure import cases as measure_cases
from tvm_aliasing.measure.provenance import provenance
from tvm_aliasing.results import Record, store

PROGRAM = "kv_cache_row"
#: The id of each part where all are measured.
IDS = {part: f"R-000{number}" for number, part in enumerate(records.PARTS, 1)}
LISTED = ", ".join(records.PARTS)
SUITE = measure_cases.suite()
KERNEL = {
    "kernel": "matmul", "target": "llvm", "threads": 2, "ratio": 2.0, "lo": 1.9, "hi": 2.1,
    "limit": 4, "correct": True, "samples": {"ours": [2.0, 2.0], "numpy": [1.0, 1.0]},
}  # fmt: skip
OFFSETS = {
    "workload": "mha", "approach": "alias", "planner": "arena", "fused": True, "target": "llvm",
    "threads": 2, "correct": True, "kernels": 11, "rewritten": 8,
    "ratio": 1.0, "lo": 0.9, "hi": 1.1, "aa_lo": 0.9, "aa_hi": 1.1,
    "samples": {"accepting": [1.0], "plain": [1.0], "again": [1.0], "sittings": [1]},
    "placement_ratio": 1.0, "placement_lo": 0.9, "placement_hi": 1.1,
    "placement_samples": {"plain": [1.0], "at_start": [1.0], "sittings": [1]},
}  # fmt: skip
SMALL = {
    "program": "pieces", "approach": "k0", "planner": "token", "bindings": 1000, "target": "llvm",
    "threads": 2, "correct": True, "introduction_s": 0.05, "planning_s": 0.04, "build_s": 1.0,
    "share_of_build": 0.09, "share_limit": 0.1, "ratio_to_1000": None, "ratio_limit": None,
    "samples": {"introduction": [0.05] * 3, "planning": [0.04] * 3, "build": [1.0] * 3},
}  # fmt: skip
LARGE = {
    **SMALL, "bindings": 10000, "correct": None, "build_s": None, "introduction_s": 0.5,
    "planning_s": 0.4, "share_of_build": None, "share_limit": None, "ratio_to_1000": 10.0,
    "ratio_limit": 15, "samples": {"introduction": [0.5] * 2, "planning": [0.4] * 2, "build": []},
}  # fmt: skip
CASE = {
    "case": "scalar_reshape", "approach": "stock", "planner": "tvm", "fused": True,
    "target": "llvm", "status": "right", "detail": "", "reason": None,
}  # fmt: skip
FAULT = {
    **CASE, "case": "extern_identity", "status": "wrong", "detail": "it differs",
    "reason": "the planner takes it for fresh",
}  # fmt: skip


def main(capfd, *arguments):
    code = cli.main([str(argument) for argument in arguments])
    return code, *capfd.readouterr()


def measures(monkeypatch, part, function, *tries):
    """Give these rows as what a part measures, one list after the other; what it is asked."""
    module = ModuleType(f"tvm_aliasing.measure.{part}")
    left, asked = list(tries), []

    def rows(*given):
        asked.append(given)
        return iter(left.pop(0) if len(left) > 1 else left[0])

    setattr(module, function, rows)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return asked


def kernels(monkeypatch, *tries):
    return measures(monkeypatch, "kernels", "schedule_rows", *tries)


def offsets(monkeypatch, *tries):
    return measures(monkeypatch, "offsets", "offset_rows", *tries)


def scaling(monkeypatch, *tries):
    return measures(monkeypatch, "scaling", "scaling_rows", *tries)


def cases(monkeypatch, *tries):
    """Give these rows as how two cases end; what is asked for."""
    left, asked = list(tries), []

    def rows(_suite, given):  # a target, or rows to run again
        asked.append(given)
        return left.pop(0) if len(left) > 1 else left[0]

    programs = {name: SUITE.cases[name] for name in ("scalar_reshape", "extern_identity")}
    module = measure_cases
    monkeypatch.setattr(module, "suite", lambda: module.Suite(programs, []))
    monkeypatch.setattr(module, "case_rows", rows)
    monkeypatch.setattr(module, "run_rows", rows)
    return asked


def quick(monkeypatch):
    """Measure one program in few rounds, and nothing of the parts that take minutes."""
    monkeypatch.setattr(records, "programs", lambda: [PROGRAM])
    monkeypatch.setattr(records, "workloads", lambda: [PROGRAM])
    monkeypatch.setattr(records, "FIVE", (PROGRAM,))
    monkeypatch.setattr(records, "DONATED", {})
    monkeypatch.setattr(records, "TIMED_PROGRAMS", (PROGRAM,))
    monkeypatch.setattr(records, "TIMED_DONATED", ())
    monkeypatch.setattr(latencies, "SITTINGS", 2)
    monkeypatch.setattr(latencies, "ROUNDS", (3, 3))
    kernels(monkeypatch, [KERNEL])
    offsets(monkeypatch, [OFFSETS])
    scaling(monkeypatch, [SMALL, LARGE])
    cases(monkeypatch, [CASE, FAULT])


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    quick(monkeypatch)


@pytest.fixture
def _one_process(monkeypatch):
    """Measure again in this process, which saves seconds."""
    find = rerun_kinds.find_subject
    monkeypatch.setattr(
        rerun_kinds, "find_subject", lambda *given, **how: replace(find(*given, **how), where=None)
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A folder with what `measure` writes of one program."""
    folder = tmp_path_factory.mktemp("measured") / "results"
    with pytest.MonkeyPatch.context() as patch:
        quick(patch)
        assert cli.main(["measure", "-o", str(folder)]) == 0
    return folder


@pytest.fixture
def memory(measured):
    """A record of two rows without latency."""
    record = store.load(IDS["memory"], measured)
    wanted = [("copy", "token", True), ("k0", "token", True)]
    rows = [row for row in record.rows if (row["approach"], row["planner"], row["fused"]) in wanted]
    return replace(record, rows=rows, id=None)


@pytest.fixture
def latency(measured):
    record = store.load(IDS["latency"], measured)
    rows = [row for row in record.rows if row["fused"] is True]
    return replace(record, rows=rows, id=None)


def changed(record, at=0, **fields):
    rows = [dict(row) for row in record.rows]
    rows[at].update(fields)
    return replace(record, rows=rows)


def with_intervals(record, lo, hi):
    rows = [{**row, "latency": {**row["latency"], "lo": lo, "hi": hi}} for row in record.rows]
    return replace(record, rows=rows)


# measure


def test_measure_writes_a_record_of_each_kind(measured):
    assert store.check(measured) == []
    found = [store.load(id, measured) for id in store.ids(measured)]
    kinds = ["compare", "compare", "compare", "schedules", "offsets", "scaling", "cases"]
    assert [record.kind for record in found] == kinds
    memory, _features, latency, schedules, offsets, scaling, ended = found
    assert {(row["approach"], row["fused"]) for row in memory.rows} == {
        (name, fused)
        for name in records.MEASURED
        for fused in (True, False, "moves-apart")
        if name != "shipped" or fused is True
    }
    assert all(row["latency"] is None for row in memory.rows)
    assert {(row["approach"], row["fused"]) for row in latency.rows} == {
        (name, True) for name in records.TIMED
    }
    assert all(row["latency"]["ratio_to"] == "stock" for row in latency.rows)
    assert {row["planner"] for row in latency.rows} == {"token"}
    assert schedules.rows == [KERNEL]
    assert offsets.rows == [OFFSETS] and scaling.rows == [SMALL, LARGE]
    assert offsets.provenance["latency"]["budget"] == records.OFFSETS_BUDGET
    assert ended.rows == [CASE, FAULT]
    path, case = SUITE.cases["scalar_reshape"]
    about = {"file": path.name, "note": case.note, "options": {}}
    assert ended.provenance["cases"]["scalar_reshape"] == about


def test_help_names_the_parts(capfd):
    with pytest.raises(SystemExit):
        cli.main(["measure", "--help"])
    told = " ".join(capfd.readouterr().out.split())
    assert f"of {', '.join(records.PARTS)}; by default all" in told


def test_a_record_is_there_as_soon_as_its_kind_is_measured(tmp_path, monkeypatch, capfd):
    def fails(_target):
        raise InputError("no second kind")

    record = Record(
        "compare", {}, [{"ran": True, "correct": False}, {"ran": True, "correct": True}]
    )
    monkeypatch.setitem(records.PARTS, "memory", lambda _target: record)
    monkeypatch.setitem(records.PARTS, "features", fails)
    code, out, err = main(capfd, "measure", "-o", tmp_path)
    assert (code, out) == (2, "R-0001  compare  2 rows\n")
    assert err == "R-0001: 1 row has a wrong result\ntvm_aliasing: no second kind\n"
    assert store.ids(tmp_path) == ["R-0001"]


def test_a_wrong_result_stays_in_the_record_and_is_said(tmp_path, monkeypatch, capfd):
    rows = [
        {"ran": True, "correct": False},
        {"ran": False, "correct": False},  # refused by TVM: nothing wrong came of it
        {"ran": True, "correct": False},
    ]
    monkeypatch.setitem(records.PARTS, "memory", lambda _target: Record("compare", {}, rows))
    for part in ("features", "latency"):
        measured = Record("compare", {}, rows[1:2])
        monkeypatch.setitem(records.PARTS, part, lambda _target, measured=measured: measured)
    code, _, err = main(capfd, "measure", "-o", tmp_path)
    assert (code, err) == (0, "R-0001: 2 rows have a wrong result\n")
    assert store.load("R-0001", tmp_path).rows == rows


def test_one_part_measured_anew_supersedes_a_record(tmp_path, capfd):
    command = ("measure", "--part", "schedules", "-o", tmp_path)
    assert main(capfd, *command)[:2] == (0, "R-0001  schedules  1 rows\n")
    assert main(capfd, *command, "--supersedes", "R-0001")[:2] == (0, "R-0002  schedules  1 rows\n")
    assert store.load("R-0002", tmp_path).supersedes == "R-0001"
    assert store.check(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--part", ""], f"unknown part '': use {LISTED}"),
        (["--part", "fuzz"], f"unknown part 'fuzz': use {LISTED}"),
        (["--supersedes", "R-0001"], "name one part"),
        (["--part", "schedules", "--supersedes", "R-0001"], "R-0001"),
    ],
)
def test_parts_are_checked(arguments, message, tmp_path, capfd):
    code, out, err = main(capfd, "measure", "-o", tmp_path, *arguments)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file", "none/results", "broken"])
def test_a_folder_that_cannot_be_used_is_refused_before_the_work(
    place, tmp_path, monkeypatch, capfd
):
    (tmp_path / "file").write_text("")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / store.SUMS).write_text("nonsense\n")
    monkeypatch.setattr(records, "compare", None)
    code, out, err = main(capfd, "measure", "-o", tmp_path / place)
    assert (code, out) == (2, "")
    assert err.startswith("tvm_aliasing: ") and err.count("\n") == 1


def test_a_target_that_is_not_there_is_refused(tmp_path, capfd):
    code, out, err = main(capfd, "measure", "--target", "abacus", "-o", tmp_path / "results")
    assert (code, out) == (2, "")
    assert "unknown target 'abacus'" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_row_of_cases_without_a_reason_is_said(tmp_path, monkeypatch, capfd):
    cases(monkeypatch, [CASE, FAULT, {**FAULT, "reason": None}])
    code, _, err = main(capfd, "measure", "--part", "cases", "-o", tmp_path)
    assert (code, err) == (0, "R-0001: 1 row has no reason for how it ended\n")


@pytest.mark.parametrize("parts", [[], ["--part", "cases"]], ids=["all", "cases"])
def test_without_a_checkout_there_are_no_cases(parts, tmp_path, monkeypatch, capfd):
    def files_of():
        return real(tmp_path)

    real = measure_cases.files_of
    monkeypatch.setattr(measure_cases, "files_of", files_of)
    monkeypatch.setattr(records, "compare", None)
    code, out, err = main(capfd, "measure", *parts, "-o", tmp_path / "results")
    assert (code, out) == (2, "")
    assert "there is no tests/cases beside the package" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# show


@pytest.mark.parametrize("id", [id for part, id in IDS.items() if part != "cases"])
def test_show_prints_what_it_is_and_the_table(id, measured, capfd):
    record = store.load(id, measured)
    code, out, err = main(capfd, "show", id, "--results", measured)
    assert (code, err) == (0, "")
    head, made, machine, command, gap, header, *lines = out.splitlines()
    assert head.startswith(f"{id}, {record.kind}, {len(record.rows)} rows")
    assert record.provenance["tvm"] in made and record.provenance["date"] in made
    assert record.provenance["cpu"] in machine and "threads" in machine
    assert command == f"command: {record.provenance['command']}"
    assert gap == ""
    assert header.split() == list(record.table().columns)
    assert len(lines) == len(record.rows)


@pytest.fixture
def ended(tmp_path):
    """A folder with how two cases ended."""
    store.add(Record("cases", provenance(target="llvm"), [CASE, FAULT]), tmp_path)
    return tmp_path


def test_show_prints_a_line_a_case(ended, capfd):
    code, out, err = main(capfd, "show", "R-0001", "--results", ended)
    assert (code, err) == (0, "")
    header, first, second, gap, letters, reason = out.splitlines()[5:]
    assert header.split() == ["case", "stock", "why"]
    assert first.split() == ["scalar_reshape", "."]
    assert second.split() == ["extern_identity", "W", "1"]
    assert gap == "" and letters.startswith(". right, W wrong, R raised, D died; ")
    assert reason == "1: the planner takes it for fresh"


def test_show_of_another_kind(tmp_path, capfd):
    store.add(Record("fuzz", {"tvm": "0.27"}, [{"seed": 1, "found": "x", "took": 0.5}]), tmp_path)
    code, out, _ = main(capfd, "show", "R-0001", "--results", tmp_path)
    assert code == 0
    assert [line.split() for line in out.splitlines()[-2:]] == [
        ["seed", "found", "took"],
        ["1", "x", "0.500"],
    ]


def test_a_kind_without_memory_has_no_figure(measured):
    with pytest.raises(InputError, match="nothing to draw"):
        store.load(IDS["schedules"], measured).figure()


def test_show_says_what_a_record_replaces(tmp_path, capfd):
    store.add(Record("fuzz", {}, [{"seed": 1}]), tmp_path)
    store.add(Record("fuzz", {}, [{"seed": 1}], supersedes="R-0001"), tmp_path)
    assert (
        "R-0002, fuzz, 1 rows, supersedes R-0001\n"
        in main(capfd, "show", "R-0002", "--results", tmp_path)[1]
    )


# rerun


def test_equal_bytes_give_0(memory, tmp_path, capfd):
    store.add(memory, tmp_path)
    code, out, err = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "0 of 2 rows differ from R-0001"
    assert "differs:" not in out
    assert store.ids(tmp_path) == ["R-0001"]  # nothing is written


@pytest.mark.usefixtures("_one_process")
def test_another_byte_gives_3_and_is_named(memory, tmp_path, capfd):
    peak = memory.rows[1]["memory"]["peak"]
    wrong = {**memory.rows[1]["memory"], "peak": peak + 1}
    store.add(changed(memory, 1, memory=wrong), tmp_path)
    code, out, err = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert (code, err) == (3, "")
    assert f"{PROGRAM} k0 differs: peak {peak + 1} -> {peak}" in out.splitlines()
    assert out.splitlines()[-1] == "1 of 2 rows differ from R-0001"


@pytest.mark.usefixtures("_one_process")
def test_a_row_that_was_wrong_and_is_right_now_differs(memory, tmp_path, capfd):
    store.add(changed(memory, correct=False, memory=None), tmp_path)
    code, out, _ = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert code == 3
    assert f"{PROGRAM} copy differs: correct False -> True" in out


@pytest.mark.usefixtures("_one_process")
def test_bytes_of_threads_are_compared_at_equal_threads_only(memory, tmp_path, capfd):
    other = {**memory.rows[0]["memory"], "workspace": 1, "peak": 1, "live_bound": 1}
    record = changed(memory, memory=other, threads=64)
    record.provenance = {**memory.provenance, "threads": 64}
    store.add(record, tmp_path)
    code, out, _ = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert code == 0
    assert "depend on the number of threads and are not compared" in out
    assert "set TVM_NUM_THREADS=64" in out
    store.add(changed(record, memory={**other, "planned": 1}), tmp_path)
    assert main(capfd, "rerun", "R-0002", "--results", tmp_path)[0] == 3


@pytest.mark.usefixtures("_one_process")
def test_intervals_that_overlap_give_0(latency, tmp_path, capfd):
    store.add(with_intervals(latency, 1e-6, 1e6), tmp_path)
    code, out, _ = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert code == 0
    assert "recorded" in out and "[0.000, 1000000.000]" in out


@pytest.mark.usefixtures("_one_process")
def test_intervals_apart_twice_give_3(latency, tmp_path, monkeypatch, capfd):
    store.add(with_intervals(latency, 1e-6, 2e-6), tmp_path)
    calls = []
    real = rerun_kinds.time_rows
    monkeypatch.setattr(
        rerun_kinds, "time_rows", lambda *given: calls.append(given) or real(*given)
    )
    code, out, _ = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert code == 3
    assert f"{PROGRAM} k0 differs: latency " in out
    assert len(calls) == 2


def test_a_program_with_a_donated_parameter_is_timed_by_itself(latency):
    point = rerun_kinds.KINDS["compare"].point
    row = latency.rows[0]
    assert point(row) == point(latency.rows[1])
    assert point(row) != point({**row, "donate": ["cache"]})


@pytest.mark.usefixtures("_one_process")
def test_latency_does_not_decide_on_another_cpu(latency, tmp_path, capfd):
    record = with_intervals(latency, 1e-6, 2e-6)
    record.provenance = {**latency.provenance, "cpu": "Abacus 9"}
    store.add(record, tmp_path)
    code, out, _ = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert code == 0
    assert "latency does not decide: it was measured on Abacus 9 with" in out


def kernel(lo, hi, name="matmul", **fields):
    return {**KERNEL, "kernel": name, "lo": lo, "hi": hi, **fields}


@pytest.mark.parametrize(
    ("tries", "code"),
    [
        ([[kernel(2.0, 2.2)]], 0),
        ([[kernel(3.0, 3.2)], [kernel(2.0, 2.2)]], 0),  # once is chance
        ([[kernel(3.0, 3.2)]], 3),
        ([[kernel(2.0, 2.2, name="other")]], 3),
        ([[kernel(2.0, 2.2, correct=False)]], 3),
        ([[kernel(3.0, 3.2, name="other"), kernel(2.0, 2.2)]], 0),
    ],
)
def test_rerun_of_schedules(tries, code, measured, monkeypatch, capfd):
    kernels(monkeypatch, *tries)
    found, out, _ = main(capfd, "rerun", IDS["schedules"], "--results", measured)
    assert found == code
    assert ("matmul differs: " in out) == (code == 3)


@pytest.mark.parametrize(
    ("again", "code", "said"),
    [
        ({"lo": 1.1, "ratio": 1.15, "hi": 1.2}, 0, ""),
        ({"lo": 1.2, "ratio": 1.25, "hi": 1.3}, 3, "cost 1.000 [0.900, 1.100] -> 1.250"),
        ({"placement_lo": 1.2, "placement_ratio": 1.3, "placement_hi": 1.4}, 3, "placement 1.000"),
        ({"lo": None}, 3, "no cost now"),
        ({"rewritten": 7}, 3, "rewritten 8 -> 7"),
        ({"kernels": 12}, 3, "kernels 11 -> 12"),
        ({"correct": False}, 3, "correct True -> False"),
        ({"fused": False}, 3, "it is not there any more"),
    ],
)
def test_rerun_of_offsets(again, code, said, measured, monkeypatch, capfd):
    asked = offsets(monkeypatch, [{**OFFSETS, **again}])
    found, out, _ = main(capfd, "rerun", IDS["offsets"], "--results", measured)
    assert found == code
    assert said in out and ("mha differs: " in out) == (code == 3)
    assert asked[0] == (["mha"], "llvm", records.OFFSETS_BUDGET)


def test_rerun_of_a_row_without_cost(tmp_path, monkeypatch, capfd):
    nothing = {
        key: None for key in OFFSETS if key.startswith(("ratio", "lo", "hi", "aa_", "placement"))
    }
    row = {**OFFSETS, **nothing, "samples": None, "rewritten": 0}
    measured = store.add(Record("offsets", provenance(target="llvm"), [row]), tmp_path)
    offsets(monkeypatch, [row])
    assert main(capfd, "rerun", measured.id, "--results", tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("small", "large", "code"),
    [
        ({"share_of_build": 0.07}, {"ratio_to_1000": 14.0}, 0),
        ({"share_of_build": 0.11}, {}, 3),  # on the other side of its limit
        ({"share_of_build": 0.05}, {}, 3),  # by more than the factor
        ({}, {"ratio_to_1000": 15.5}, 3),
        ({"correct": False}, {}, 3),
        ({"introduction_s": 5.0, "planning_s": 5.0}, {}, 0),
    ],
)
def test_rerun_of_scaling(small, large, code, measured, monkeypatch, capfd):
    asked = scaling(monkeypatch, [{**SMALL, **small}, {**LARGE, **large}])
    found, out, _ = main(capfd, "rerun", IDS["scaling"], "--results", measured)
    assert found == code
    assert "seconds are not compared" in out
    assert f"{int(code == 3)} of 2 rows differ from {IDS['scaling']}" in out
    assert asked[0] == ("llvm", [1000, 10000], [3, 2])


def test_scaling_does_not_decide_on_another_cpu(tmp_path, monkeypatch, capfd):
    facts = {**provenance(target="llvm"), "cpu": "Abacus 9"}
    store.add(Record("scaling", facts, [SMALL, LARGE]), tmp_path)
    scaling(monkeypatch, [{**SMALL, "share_of_build": 0.5}, LARGE])
    assert main(capfd, "rerun", "R-0001", "--results", tmp_path)[0] == 0


@pytest.mark.parametrize(
    ("again", "code", "said"),
    [
        ({}, 0, ""),
        ({"detail": "otherwise", "reason": None}, 0, ""),
        ({"status": "right"}, 3, "extern_identity stock differs: status wrong -> right"),
        ({"status": "died"}, 3, "extern_identity stock differs: status wrong -> died"),
        ({"planner": "token"}, 3, "extern_identity stock differs: it is not there any more"),
    ],
)
def test_rerun_of_cases(again, code, said, ended, monkeypatch, capfd):
    asked = cases(monkeypatch, [CASE, {**FAULT, **again}])
    found, out, err = main(capfd, "rerun", "R-0001", "--results", ended)
    assert (found, err) == (code, "")
    assert said in out and ("differs: " in out) == (code == 3)
    assert out.splitlines()[-1] == f"{int(code == 3)} of 2 rows differ from R-0001"
    assert "latency" not in out and "scalar_reshape" not in out  # only what differs is shown
    assert asked == [[CASE, FAULT]]


def test_rerun_of_a_case_that_is_gone(tmp_path, monkeypatch, capfd):
    gone = {**CASE, "case": "nosuch"}
    store.add(Record("cases", provenance(target="llvm"), [CASE, gone]), tmp_path)
    asked = cases(monkeypatch, [CASE])
    found, out, _ = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert found == 3 and "nosuch stock differs: it is not there any more" in out
    assert asked == [[CASE]]


@pytest.mark.parametrize("command", ["show", "rerun"])
def test_unknown_and_edited_records_are_refused(command, memory, tmp_path, capfd):
    store.add(memory, tmp_path)
    path = tmp_path / "R-0001.json"
    path.write_text(path.read_text().replace('"kernels": ', '"kernels": 1'))
    for id, message in (
        ("R-0001", "R-0001.json was edited: restore the file"),
        ("R-0002", "there is no record R-0002"),
        ("first", "first is not the id of a record"),
    ):
        code, out, err = main(capfd, command, id, "--results", tmp_path)
        assert (code, out) == (2, "")
        assert err.startswith("tvm_aliasing: ") and message in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record("fuzz", {}, []), "R-0001 is of kind fuzz, which is not measured again"),
        ("nosuch", "no workload or model 'nosuch'"),
    ],
    ids=["kind", "program"],
)
def test_what_cannot_be_measured_again_is_refused(record, message, memory, tmp_path, capfd):
    if record == "nosuch":
        record = changed(memory, workload=record)
    store.add(record, tmp_path)
    code, out, err = main(capfd, "rerun", "R-0001", "--results", tmp_path)
    assert (code, out) == (2, "")
    assert message in err and err.count("\n") == 1


def test_records_are_plain_json(measured):
    for id in store.ids(measured):
        read = json.loads((measured / f"{id}.json").read_text())
        assert (read["id"], read["supersedes"]) == (id, None)
