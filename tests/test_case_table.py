"""A record of kind `cases` as a table."""

import pytest

from tvm_aliasing.errors import InputError
from tvm_aliasing.results import Record
from tvm_aliasing.results.case_table import case_legend, case_table


def row(case, approach, status="right", planner="tvm", reason=None):
    return {
        "case": case, "approach": approach, "planner": planner, "fused": True, "target": "llvm",
        "status": status, "detail": "", "reason": reason,
    }  # fmt: skip


RECORD = Record(
    "cases",
    {},
    [
        row("fine", "stock"),
        row("fine", "k0", planner="token"),
        row("fine", "k0", planner="arena"),
        row("bad", "stock", "died", reason="the planner"),
        row("bad", "k0", "wrong", planner="token", reason="a kernel"),
        row("bad", "k0", planner="arena"),
        row("worse", "stock", "raised", reason="the planner"),
        row("worse", "k0", "raised", planner="token"),
        row("worse", "k0", "wrong", planner="arena"),
        row("only stock", "stock", "wrong", reason="another"),
    ],
)


def lines(record, *cases):
    return case_table(record, *cases).to_numpy().tolist()


def test_a_line_a_case_and_a_column_an_approach():
    assert list(case_table(RECORD).columns) == ["case", "stock", "k0", "why"]
    assert lines(RECORD) == [
        ["fine", ".", ".", ""],
        ["bad", "D", "w", "1 2"],
        ["worse", "R", "r", "1 ?"],
        ["only stock", "W", "-", "3"],
    ]


def test_some_cases_in_the_order_asked_for():
    assert [line[0] for line in lines(RECORD, ["worse", "fine"])] == ["worse", "fine"]


def test_the_legend_says_what_letters_and_numbers_mean():
    letters, *reasons = case_legend(RECORD).splitlines()
    assert letters.startswith(". right, W wrong, R raised, D died; ")
    assert reasons == ["1: the planner", "2: a kernel", "3: another"]


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(InputError, match="no case 'none': use one of fine, bad"):
        case_table(RECORD, ["none"])
    for function in (case_table, case_legend):
        with pytest.raises(InputError, match="kind fuzz has no cases"):
            function(Record("fuzz", {}, []))
