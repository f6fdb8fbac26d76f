"""The programs in `cases/` come out right wherever the analysis is the project's own."""

import collections
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tvm_aliasing as ta
from tvm_aliasing.models.relax_files import execute_file

#: (approach, planner) under which every case must come out right.
SETTINGS = [("k0", "token"), ("k0", "arena"), ("alias", "token"), ("alias", "arena")]

HERE = Path(__file__).parent
REPORTS = HERE / "cases" / "reports.py"
NOTES = {
    (path.stem, case): note
    for path in sorted(HERE.glob("cases/*.py"))
    for case, (*_, note) in execute_file(path)["CASES"].items()
}


def run_cases(approach, planner, cases, timeout=200):
    """Run cases one after another; one that kills the process costs only itself.

    Nothing is fused: fusion would swallow the reshapes and slices that stand between two kernels.

    Parameters
    ----------
    approach, planner : str
    cases : list of (str, str)
        File in `cases/`, without its ending, and name.
    timeout : float
        Seconds until a process is killed.

    Returns
    -------
    dict of (str, str) to (str, str)
        Case to status and detail, as `run_isolated` gives them.
    """
    outcomes = {}
    while waiting := [case for case in cases if case not in outcomes]:
        request = {
            "cases": [(f"{HERE}/cases/{file}.py", name) for file, name in waiting],
            "approach": approach,
            "build_options": {"planner": planner, "fused": False},
        }
        try:
            done = subprocess.run(
                [sys.executable, HERE / "run_cases.py"],
                input=json.dumps(request).encode(),
                capture_output=True,
                timeout=timeout,
                env={**os.environ, "MALLOC_PERTURB_": "1"},  # memory is never right by chance
            )
            answers, cause = done.stdout, _cause(done)
        except subprocess.TimeoutExpired as expired:
            answers, cause = expired.stdout or b"", f"no answer in {timeout} s"
        outcomes |= zip(waiting, map(tuple, map(json.loads, answers.splitlines())))
        died = next((case for case in waiting if case not in outcomes), None)
        if died:
            outcomes[died] = ("died", cause)
    return outcomes


def _cause(process):
    if process.returncode < 0:
        return f"killed by {signal.Signals(-process.returncode).name}"
    lines = process.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {process.returncode}"


@pytest.fixture(scope="module")
def outcomes(request):
    """Futures of what the chosen cases come to, two processes at a time.

    By setting, then by case, for those that share a process; by approach and case for the others.
    """
    shared, alone = collections.defaultdict(list), []
    for item in request.session.items:
        function, params = getattr(item, "function", None), getattr(item, "callspec", None)
        if function is test_each_case_is_right:
            shared[params.params["setting"]].append(params.params["case"])
        elif function is test_each_report_is_right_in_a_process_of_its_own:
            alone.append((params.params["approach"], params.params["case"]))
    with ThreadPoolExecutor(2) as pool:
        yield {
            **{setting: pool.submit(run_cases, *setting, shared[setting]) for setting in shared},
            **{(a, case): pool.submit(ta.run_isolated, REPORTS, case, a) for a, case in alone},
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("setting", SETTINGS, ids="-".join)
@pytest.mark.parametrize("case", NOTES, ids="-".join)
def test_each_case_is_right(case, setting, outcomes):
    assert outcomes[setting].result()[case] == ("ok", ""), NOTES[case]


@pytest.mark.parametrize("approach", ["k0", "alias"])
@pytest.mark.parametrize("case", [case for file, case in NOTES if file == "reports"])
def test_each_report_is_right_in_a_process_of_its_own(case, approach, outcomes):
    """As a user meets them: fused, with the approach's own planner."""
    assert outcomes[approach, case].result() == ("ok", "")


def test_each_case_has_a_name_of_its_own_and_a_note():
    assert len({case for _, case in NOTES}) == len(NOTES)
    assert all(NOTES.values())


def test_a_case_that_dies_costs_only_itself():
    """TVM's own planner kills the process in the second case."""
    names = ("branch_reshape_first", "branch_reshape_second", "scalar_reshape")
    ends = run_cases("stock", "tvm", [("reports", name) for name in names])
    assert [ends["reports", name][0] for name in names] == ["ok", "died", "ok"]
    assert ends["reports", "branch_reshape_second"] == ("died", "killed by SIGSEGV")
