"""The list of what TVM gets wrong is true: no fault is missing, none is listed that is gone."""

import itertools

import pytest

import known_faults
import tvm_aliasing as ta

RUNS = [
    *itertools.product(known_faults.CASES, ("copy", "stock", "k0", "alias")),
    ("in place of a constant", "stock+inplace"),
]
OWN_PLANNERS = [("copy", "token"), ("k0", "token"), ("alias", "token"), ("alias", "arena")]


@pytest.mark.parametrize(("case", "approach"), RUNS)
def test_each_approach_ends_as_listed(case, approach):
    ends = {end: names for end, names in known_faults.FAULTS[case].items() if end != "why"}
    expected = next((end for end, names in ends.items() if approach in names), "ok")
    status, detail = ta.run_isolated(
        known_faults.__file__, case, approach, planner="tvm", verify=False
    )
    assert status == expected, detail


@pytest.mark.parametrize(("approach", "planner"), OWN_PLANNERS)
@pytest.mark.parametrize("case", known_faults.CASES)
def test_no_fault_is_left_under_the_own_planners(case, approach, planner):
    ended = ta.run_isolated(known_faults.__file__, case, approach, planner=planner)
    assert ended == ("ok", "")


def test_each_fault_has_a_reason_and_known_approaches():
    for ends in known_faults.FAULTS.values():
        assert ends["why"]
        named = [name for end, names in ends.items() if end != "why" for name in names]
        assert named and set(named) <= set(ta.approaches())
