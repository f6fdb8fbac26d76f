"""The programs in `cases/` end as they should: right, or as the list of TVM's faults says.

Here each case is run under `k0` and `alias`, what TVM gets wrong under TVM too, and the reports
under every approach: two minutes on two cores. `make measure` runs each under every approach.
"""

import itertools

import pytest
import tvm
from tvm import relax

import tvm_aliasing as ta
from tvm_aliasing import cases
from tvm_aliasing.errors import InputError
from tvm_aliasing.measure.cases import APPROACHES, Suite, files_of, run_rows, settings_of, suite
from tvm_aliasing.models.relax_files import execute_file

SUITE = suite()
TVM = ("shipped", "stock", "stock+inplace")
FAULTY = {name for fault in SUITE.faults for name in fault["cases"]}
#: Approaches that TVM's planner is tried with besides: what they inherit is in the list too.
INHERIT = tuple(itertools.product(("copy", "k0", "alias:reshape", "alias"), ["tvm"], [True]))
BESIDES = (*INHERIT, ("copy", "token", True))


def chosen(name):
    """What a case is run under here."""
    path, case = SUITE.cases[name]
    every = settings_of(case)
    fused = [setting for setting in every if setting[2]]
    unfused = [setting for setting in every if not setting[2]] or every
    own = [("k0", "token"), ("alias", "token"), ("alias", "arena")]
    some = [setting for setting in unfused if setting[:2] in own]
    if path.stem.startswith("reports"):
        some = fused
    elif name in FAULTY:
        some += [setting for setting in fused if setting[0] in TVM]
    return [*some, *BESIDES] if name in FAULTY else some


def rows_of(names):
    keys = "approach", "planner", "fused"
    settings = [(name, setting) for name in names for setting in chosen(name)]
    return [{"case": name, **dict(zip(keys, s)), "target": "llvm"} for name, s in settings]


@pytest.fixture(scope="module")
def ends(request):
    """The rows of the cases that are selected, by case."""
    names = [
        item.callspec.params["case"]
        for item in request.session.items
        if getattr(item, "function", None) is test_each_case_ends_as_it_should
    ]
    found = {name: [] for name in names}
    rows = rows_of(names)
    for verify in (True, False):  # what is known to be unsound is run all the same
        some = [row for row in rows if (row["planner"] != "tvm") == verify]
        for row in run_rows(SUITE, some, verify=verify):
            found[row["case"]].append(row)
    return found


@pytest.mark.parametrize("case", SUITE.cases)
def test_each_case_ends_as_it_should(case, ends):
    astray = [row for row in ends[case] if row["status"] != SUITE.expected(row)]
    assert ends[case] and not astray, SUITE.cases[case][1].note


def test_every_way_to_end_is_among_them():
    """A case that kills its process included."""
    expected = {SUITE.expected(row) for row in rows_of(SUITE.cases)}
    assert expected == {"right", "wrong", "raised", "died"}


def test_each_case_has_a_name_of_its_own_and_a_note():
    files, _ = files_of()
    assert sum(len(cases.cases_of(path)) for path in files) == len(SUITE.cases)
    assert all(case.note for _, case in SUITE.cases.values())


def test_what_a_fault_is_listed_for_is_there():
    known = {*APPROACHES, *(approach for approach, *_ in BESIDES)}
    for fault in SUITE.faults:
        assert fault["reason"] and fault["ends"] in ("wrong", "raised", "died")
        assert fault["cases"].keys() <= SUITE.cases.keys()
        assert {name for names in fault["cases"].values() for name in names} <= known


def test_no_row_has_two_faults():
    for name, (_, case) in SUITE.cases.items():
        for approach, planner, fused in [*settings_of(case), *BESIDES]:
            row = {"case": name, "approach": approach, "planner": planner, "fused": fused}
            assert len(SUITE.faults_of(row)) <= 1


def test_only_who_uses_a_part_of_tvm_has_faults():
    """None is listed for this project's own planners."""
    assert {fault["planner"] for fault in SUITE.faults} == {"tvm"}


# Reports


REPORTS = (
    *("#20191", "#9448", "#17152", "#12215", "#17145", "#19577", "#19644", "#20134", "#20190"),
    *("#20220", "#14978", "#15112", "#16830", "#18663", "#19922", "#16955", "#16086", "#6435"),
    "#3039",
)


def reports():
    """The file with the reports that are left out, and the notes of those that are not."""
    (path,) = {path for path, _ in SUITE.cases.values() if path.stem == "reports"}
    notes = [case.note for at, case in SUITE.cases.values() if at.stem.startswith("reports")]
    return execute_file(path)["LEFT_OUT"], " ".join(notes)


@pytest.mark.parametrize("report", REPORTS)
def test_each_report_has_a_case_or_a_reason_why_not(report):
    left_out, notes = reports()
    assert report in notes or f"apache/tvm{report}" in left_out


def test_what_is_left_out_needs_cuda():
    """What apache/tvm#16830 is about calls functions that the runtime here does not have."""
    left_out, _ = reports()
    assert list(left_out) == ["apache/tvm#16830"]
    _, case = SUITE.cases["results_of_two_calls"]
    planned = ta.build(case.module, "stock", fused=False).stages["planned"]
    called = "vm.builtin.cuda_graph.get_cached_alloc"
    for wanted in (False, True):
        with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": wanted}):
            rewritten = relax.transform.RewriteCUDAGraph()(planned).script()
        assert (called in rewritten) == wanted
    assert tvm.get_global_func(called, allow_missing=True) is None


# Forked processes


@pytest.mark.parametrize("case", ["extern_identity", "branch_reshape_second", "view_at_an_offset"])
def test_a_forked_process_says_what_one_of_its_own_says(case):
    path, _ = SUITE.cases[case]
    ((_, *end),) = cases.run_all([(path, case, "stock", {})])
    assert tuple(end) == ta.run_isolated(path, case, "stock")
    assert end[0] != "ok"


def test_each_way_to_end(own):
    ends = own("stock", ["right", "wrong", "refused", "noisy", "leaving", "failing", "exiting"])
    assert [status for status, _ in ends] == ["ok", "wrong", "raised", "ok", *["died"] * 3]
    assert [detail for _, detail in ends[4:]] == ["exit code 0", "exit code 7", "bye"]


def test_a_process_that_takes_too_long_costs_only_itself(own):
    ends = own("k0", ["sleeping", "right", "branch"], timeout=3)
    assert ends == [("died", "no answer in 3 s"), ("ok", ""), ("ok", "")]


@pytest.fixture
def own():
    """The ends of cases that end in each way."""
    path = files_of()[1].parent / "programs" / "cases.py"

    def run(approach, names, **how):
        done = cases.run_all([(path, name, approach, {}) for name in names], **how)
        return [tuple(end) for _, *end in sorted(done)]

    return run


def test_nothing_is_run_where_one_cannot_be():
    path, _ = SUITE.cases["extern_identity"]
    runs = [(path, "extern_identity", approach, {}) for approach in ("k0", "k9")]
    with pytest.raises(InputError, match="unknown approach 'k9'"):
        list(cases.run_all(runs))


def test_options_of_a_case_are_used_and_can_be_overridden(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(OPTIONS)
    assert cases.cases_of(path)["given"].options == {"outputs": "view"}
    for options, status in (({}, "ok"), ({"outputs": "copy"}, "wrong")):
        assert ta.run_isolated(path, "given", "alias", **options)[0] == status


OPTIONS = """
import numpy as np
from tvm.script import ir as I, relax as R

@I.ir_module
class Pieces:
    @R.function
    def main(x: R.Tensor((4, 16), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        return R.strided_slice(a, axes=[0], begin=[2], end=[4])

X = np.zeros((4, 16), "float32")

def is_part(built):
    return built.memory(X).retained == 256

CASES = {"given": (Pieces, (X,), is_part, "an output that is a range of a larger buffer")}
OPTIONS = {"given": {"outputs": "view"}}
"""


# Where there is no checkout


def test_a_folder_without_cases_is_refused(tmp_path):
    with pytest.raises(InputError, match="no tests/cases beside the package") as caught:
        suite(tmp_path)
    assert "\n" not in str(caught.value)


# Reasons


def test_a_reason_is_given_only_for_how_the_fault_ends():
    (path, case) = SUITE.cases["scalar_reshape"]
    fault = {
        "reason": "it is so", "ends": "wrong", "planner": "tvm",
        "cases": {"scalar_reshape": ["stock"]},
    }  # fmt: skip
    found = Suite({"scalar_reshape": (path, case)}, [fault])
    row = {"case": "scalar_reshape", "approach": "stock", "planner": "tvm", "fused": True}
    assert found.expected(row) == "wrong"
    assert found.reason({**row, "status": "wrong"}) == "it is so"
    assert found.reason({**row, "status": "died"}) is None
    for other in ({"planner": "token"}, {"approach": "k0"}, {"case": "another"}):
        assert found.expected({**row, **other}) == "right"
        assert found.reason({**row, **other, "status": "wrong"}) is None
