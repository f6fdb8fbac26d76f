"""Cases in a process of their own: how each can end, and what is refused."""

from pathlib import Path

import pytest
import tvm

import tvm_aliasing as ta
from tvm_aliasing import isolate
from tvm_aliasing.errors import InputError

CASES = Path(__file__).parent / "programs" / "cases.py"


@pytest.mark.parametrize(
    ("case", "status", "detail"),
    [
        ("right", "ok", ""),
        ("asked", "ok", ""),
        ("noisy", "ok", ""),
        ("wrong", "wrong", "the result differs from what NumPy computes"),
        ("nested", "wrong", "the result differs from what NumPy computes"),
        ("denied", "wrong", "the result differs from what NumPy computes"),
        ("refused", "raised", "InputError: input x has shape (3,), expected (4)"),
        ("branch", "died", "killed by SIGSEGV"),
        ("leaving", "died", "exit code 0"),
        ("failing", "died", "exit code 7"),
        ("exiting", "died", "bye"),
    ],
)
def test_each_way_to_end(case, status, detail, capfd):
    assert ta.run_isolated(CASES, case, "stock") == (status, detail)
    assert capfd.readouterr() == ("", "")


def test_what_tvm_raises_is_told_in_a_line():
    status, detail = ta.run_isolated(CASES, "raising", "copy")
    assert status == "raised"
    assert "no.such.function" in detail
    assert "\n" not in detail


def test_a_process_that_takes_too_long_is_killed():
    assert ta.run_isolated(CASES, "sleeping", "copy", timeout=3) == ("died", "no answer in 3 s")


def test_another_approach_survives_the_same_case():
    assert ta.run_isolated(CASES, "branch", "k0") == ("ok", "")


def test_options_of_build_reach_the_process():
    target = tvm.target.Target("llvm")
    assert ta.run_isolated(CASES, "right", "k0", target=target, exec_mode="compiled") == ("ok", "")


@pytest.mark.parametrize(
    ("path", "case", "approach", "options", "error", "message"),
    [
        ("none.py", "right", "k0", {}, InputError, r"no such file: .*none\.py"),
        (CASES, "left", "k0", {}, InputError, "no case 'left': use one of right, nested"),
        (CASES, "right", "k9", {}, InputError, "unknown approach 'k9'"),
        (CASES, "right", "k0+:dest", {}, InputError, "k0\\+ has no feature 'dest': use reshape"),
        (CASES, "right", "k0", {"planner": "best"}, InputError, "unknown planner 'best'"),
        (CASES.with_name("block_output.py"), "right", "k0", {}, InputError, "no dict CASES"),
    ],
    ids=["file", "case", "approach", "feature", "planner", "no cases"],
)
def test_what_cannot_be_run_is_refused(path, case, approach, options, error, message):
    with pytest.raises(error, match=message) as caught:
        ta.run_isolated(path, case, approach, **options)
    assert "\n" not in str(caught.value)


def test_results_come_one_by_one():
    """What was done before the death is kept."""
    where = str(CASES.with_name("branch_reshape.py"))
    settings = [{"approach": "k0"}, {"approach": "stock"}, {"approach": "k0"}]
    request = {"where": where, "settings": settings, "dims": None, "fixed": {}}
    results = isolate.results_of("rows", request)
    row, _ = next(results)
    assert (row["approach"], row["correct"]) == ("k0", True)
    with pytest.raises(isolate.Died, match="SIGSEGV"):
        next(results)
