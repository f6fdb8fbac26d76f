"""Approaches side by side: the rows of every kind of program, and what happens to bad ones."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing import cli
from tvm_aliasing.cases import cases_of
from tvm_aliasing.errors import InputError, UnsupportedError
from tvm_aliasing.settings import settings_of

PROGRAMS = Path(__file__).parent / "programs"
BLOCK_OUTPUT = PROGRAMS / "block_output.py"
#: What TVM's in-place pass cannot build.
REFUSED = cases_of(PROGRAMS.parent / "cases" / "overwrites.py")["in_place_of_a_constant"]

#: What is compared where neither approaches nor planners are named.
DEFAULT_ROWS = [
    ("copy", "token"),
    ("copy", "arena"),
    ("shipped", "tvm"),
    ("stock", "tvm"),
    ("stock", "token"),
    ("stock", "arena"),
    ("stock+inplace", "tvm"),
    ("stock+offset-abi", "tvm"),
    ("stock-noalias", "tvm"),
    ("k0", "token"),
    ("k0", "arena"),
    ("k0-run", "token"),
    ("k0-run", "arena"),
    ("k0+", "token"),
    ("k0+", "arena"),
    ("alias:reshape", "token"),
    ("alias:reshape", "arena"),
    ("alias", "token"),
    ("alias", "arena"),
]


@I.ir_module
class Shared:
    """Two products and a reshape between them, of any batch."""

    @R.function
    def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")) -> R.Tensor(
        ("n * 2", 4), "float32"
    ):
        n = T.int64()
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.reshape(y, (n * 2, 4))
            R.output(z)
        return z


@I.ir_module
class Two:
    """A module whose function is not called main."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return x

    @R.function
    def other(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        return R.matmul(x, w)


def only(record):
    (row,) = record.rows
    return row


def bytes_of(record):
    return [row["memory"] for row in record.rows]


# Where programs come from


def test_module_with_seeded_inputs_at_given_sizes():
    record = ta.compare(Shared, ["copy", "k0"], planner="token", dims={"n": 6})
    assert record.kind == "compare"
    assert [row["approach"] for row in record.rows] == ["copy", "k0"]
    for row in record.rows:
        assert (row["workload"], row["dims"]) == ("module", {"n": 6})
        assert (row["ran"], row["correct"], row["latency"]) == (True, True, None)
        assert row["label"] == "run on a CPU"
    copied, elided = bytes_of(record)
    assert copied["bytes_copied"] == elided["peak"] == 6 * 8 * 4
    assert elided["bytes_copied"] == elided["copy_kernels"] == 0
    assert record.provenance["references"] == {
        "module": "TVM, nothing fused, no storage used twice"
    }


def test_module_with_inputs_of_the_caller():
    inputs = np.ones((3, 8), "float32"), np.eye(8, dtype="float32")
    record = ta.compare(Shared, "stock", inputs, planner="tvm")
    assert only(record)["correct"]
    assert only(record)["memory"]["retained"] == 3 * 8 * 4


def test_module_with_bound_weights():
    options = {"params": {"w": np.eye(8, dtype="float32")}, "planner": "token"}
    assert only(ta.compare(Shared, "k0", dims={"n": 2}, **options))["correct"]
    x = np.ones((3, 8), "float32")
    assert only(ta.compare(Shared, "k0", (x,), **options))["correct"]


def test_another_entry_function():
    row = only(ta.compare(Two, "k0", entry="other", planner="token"))
    assert (row["correct"], row["memory"]["peak"]) == (True, 64)


def test_workload_object_and_name_give_the_same():
    loaded, named = (
        ta.compare(program, ["stock", "k0"], planner="token")
        for program in (ta.workload("matmul_reshape_symbolic"), "matmul_reshape_symbolic")
    )
    assert loaded.rows == named.rows
    assert loaded.maps == named.maps
    fixed = ta.compare(ta.workload("reshape_chain"), "k0", planner="token")
    assert only(fixed)["dims"] == {}
    assert named.rows[0]["dims"] == {"n": 8}
    assert named.provenance["references"] == {"matmul_reshape_symbolic": "NumPy"}


def test_file_and_loaded_model_give_the_same():
    from_file = ta.compare(BLOCK_OUTPUT)
    assert [(row["approach"], row["planner"]) for row in from_file.rows] == DEFAULT_ROWS
    assert all(row["correct"] and row["memory"] for row in from_file.rows)
    assert from_file.provenance["references"] == {"block_output": "given with the program"}
    loaded = ta.compare(ta.load_model(BLOCK_OUTPUT))
    assert loaded.rows == from_file.rows
    assert loaded.maps == from_file.maps


def test_rows_of_programs_of_one_name_can_be_told_apart():
    record = ta.compare([Two, Two, str(BLOCK_OUTPUT), BLOCK_OUTPUT], "k0", planner="token")
    names = ["module", "module (2)", "block_output", "block_output (2)"]
    assert [row["workload"] for row in record.rows] == names
    assert list(record.provenance["references"]) == names


# Options


def test_nothing_is_timed_unless_asked_for(monkeypatch):
    monkeypatch.setattr(sys.modules["tvm_aliasing.compare"], "latencies", None)
    record = ta.compare(BLOCK_OUTPUT, ["stock", "k0"], planner="token")
    assert [row["latency"] for row in record.rows] == [None, None]
    assert "latency" not in record.provenance


def test_lists_of_options_give_every_combination():
    record = ta.compare(
        BLOCK_OUTPUT,
        ["copy", "k0"],
        fused=[True, False, "moves-apart"],
        exec_mode=["bytecode", "compiled"],
        planner="tvm",
    )
    axes = [(row["approach"], row["fused"], row["exec_mode"]) for row in record.rows]
    assert axes == [
        (approach, fused, mode)
        for approach in ("copy", "k0")
        for fused in (True, False, "moves-apart")
        for mode in ("bytecode", "compiled")
    ]
    assert {row["planner"] for row in record.rows} == {"tvm"}
    assert all(row["correct"] for row in record.rows)


def rows_of(approaches=None, **options):
    """The approach and the planner of each row, without running anything."""
    return [
        (setting["approach"], setting["planner"]) for setting in settings_of(approaches, options)
    ]


def test_defaults_are_each_approach_under_the_planners_that_say_something():
    assert rows_of() == rows_of(planner=None) == rows_of(ta.approaches()) == DEFAULT_ROWS
    assert list(dict.fromkeys(name for name, _ in DEFAULT_ROWS)) == ta.approaches()


def test_named_approaches_are_run_under_their_planners():
    assert rows_of("k0") == [("k0", "token"), ("k0", "arena")]
    assert rows_of(["shipped", "alias:views+dest"]) == [
        ("shipped", "tvm"),
        ("alias:views+dest", "token"),
        ("alias:views+dest", "arena"),
    ]


@pytest.mark.parametrize("planner", ["token", "arena"])
def test_a_planner_leaves_out_the_approaches_that_do_not_take_it(planner):
    names = [name for name in ta.approaches() if name not in ("shipped", "stock+inplace")]
    assert rows_of(planner=planner) == [(name, planner) for name in names]
    assert rows_of("k0", planner=planner) == [("k0", planner)]
    for name in ("shipped", "stock+inplace"):
        with pytest.raises(InputError, match=rf"{re.escape(name)} takes planner tvm only"):
            rows_of(["k0", name], planner=planner)


def test_every_approach_takes_the_planner_of_tvm():
    assert rows_of(planner="tvm") == [(name, "tvm") for name in ta.approaches()]


def test_several_planners_are_run_where_they_are_taken():
    both = ["arena", "tvm"]
    assert rows_of("alias", planner=both) == [("alias", "arena"), ("alias", "tvm")]
    assert [row for row in rows_of(planner=both) if row[0] in ("shipped", "k0")] == [
        ("shipped", "tvm"),
        ("k0", "arena"),
        ("k0", "tvm"),
    ]


@pytest.mark.parametrize("planner", ["best", ["token", "best"]])
def test_an_unknown_planner_is_refused_and_not_left_out(planner):
    with pytest.raises(InputError, match="unknown planner 'best': use token, arena, tvm"):
        rows_of(planner=planner)


def test_defaults_leave_out_what_makes_no_sense():
    settings = settings_of(None, {"fused": [True, False]})
    unfused = [(each["approach"], each["planner"]) for each in settings if not each["fused"]]
    assert unfused == [row for row in DEFAULT_ROWS if row[0] != "shipped"]
    with pytest.raises(InputError, match="shipped"):
        ta.compare(BLOCK_OUTPUT, "shipped", fused=False)


def test_all_approaches_are_shown_under_each_output_policy():
    """Those that ignore it too, as context."""
    policies = ["copy", "view"]
    settings = settings_of(None, {"outputs": policies})
    for policy in policies:
        rows = [row for row in settings if row["outputs"] == policy]
        assert [(row["approach"], row["planner"]) for row in rows] == DEFAULT_ROWS


def test_only_those_that_say_something_are_placed_early():
    settings = settings_of(None, {"placement": ["late", "early"]})
    early = [each["approach"] for each in settings if each["placement"] == "early"]
    assert list(dict.fromkeys(early)) == ["k0", "k0-run", "k0+", "alias:reshape", "alias"]


@I.ir_module
class ReturnsItsInput:
    """In another shape: a view, where the output policy allows it."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return R.reshape(x, (6,))


def test_rows_say_which_output_policy_was_asked_for():
    record = ta.compare(
        ReturnsItsInput, ["stock", "alias"], planner="token", outputs=["copy", "alias_params"]
    )
    rows = [(row["approach"], row["outputs"], row["memory"]["kernels"]) for row in record.rows]
    assert rows == [
        ("stock", "copy", 1),
        ("stock", "alias_params", 1),
        ("alias", "copy", 1),
        ("alias", "alias_params", 0),
    ]
    assert all(row["correct"] for row in record.rows)
    assert list(record.table()["outputs"]) == ["copy", "alias_params"] * 2


def test_rows_under_different_planners_are_told_apart():
    record = ta.compare(Shared, "k0", dims={"n": 2})
    assert record.table()["planner"].tolist() == ["token", "arena"]
    assert all(row["correct"] for row in record.rows)


@pytest.mark.parametrize("program", [Two, BLOCK_OUTPUT], ids=["in process", "in another"])
def test_target_may_be_an_object(program):
    target = tvm.target.Target("llvm")
    row = only(ta.compare(program, "k0", target=target, planner="token"))
    assert row["correct"]
    assert row["target"] == str(target)


def test_figures_are_the_same_each_time():
    first, second = (
        ta.compare(["qkv_split", BLOCK_OUTPUT], ["copy", "alias"], planner="arena")
        for _ in range(2)
    )
    assert first.rows == second.rows
    assert first.maps == second.maps
    for memory in bytes_of(first):
        assert all(value is None or type(value) is int for value in memory.values())


# Programs that go wrong


def test_wrong_result_is_no_measurement(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(BLOCK_OUTPUT.read_text() + "\nexpected = expected + np.float32(0.01)\n")
    record = ta.compare([path, BLOCK_OUTPUT], ["stock", "k0"], planner="token")
    assert [row["correct"] for row in record.rows] == [False, False, True, True]
    for row, lifetimes in zip(record.rows[:2], record.maps):
        assert (row["ran"], row["memory"], lifetimes) == (True, None, None)


def test_death_costs_one_row():
    programs = [PROGRAMS / "branch_reshape.py", BLOCK_OUTPUT]
    record = ta.compare(programs, ["stock", "k0"], planner="tvm")
    assert [row["ran"] for row in record.rows] == [False, True, True, True]
    died, *others = record.rows
    assert (died["correct"], died["memory"], record.maps[0]) == (False, None, None)
    assert (died["approach"], died["label"]) == ("stock", "died: killed by SIGSEGV")
    assert all(row["correct"] and row["memory"] for row in others)
    json.loads(record.to_json())


def test_what_nothing_has_written_is_not_right_by_chance():
    """Early, the writes to the buffer are dropped; the row before computed what was to be there."""
    record = ta.compare("densenet", "alias", planner="arena", placement=["late", "early"])
    assert [row["correct"] for row in record.rows] == [True, False]


def test_process_that_leaves_early_costs_one_row(tmp_path):
    path = tmp_path / "leaves.py"
    path.write_text(
        "import os\nimport numpy as np\nimport tvm\nfrom tvm.script import ir as I, relax as R\n\n"
        "tvm.register_global_func('leave', lambda *args: os._exit(0), override=True)\n\n"
        "@I.ir_module\nclass Leaves:\n    @R.function\n"
        "    def main(x: R.Tensor((2,), 'float32')):\n"
        "        return R.call_dps_packed('leave', x, out_ty=R.Tensor((2,), 'float32'))\n\n"
        "expected = np.zeros(2, 'float32')\n"
    )
    record = ta.compare(path, ["copy", "k0"], planner="token")
    assert [row["label"] for row in record.rows] == ["died: exit code 0"] * 2


def test_what_tvm_raises_costs_one_row(tmp_path):
    path = tmp_path / "raises.py"
    path.write_text(
        "import numpy as np\nfrom tvm.script import ir as I, relax as R\n\n"
        "@I.ir_module\nclass Raises:\n    @R.function\n"
        "    def main(x: R.Tensor((2,), 'float32')):\n"
        "        return R.call_dps_packed('no.such', x, out_ty=R.Tensor((2,), 'float32'))\n\n"
        "expected = np.zeros(2, 'float32')\n"
    )
    record = ta.compare([path, BLOCK_OUTPUT], "k0", planner="token")
    raised, right = record.rows
    assert (raised["ran"], raised["correct"], raised["memory"]) == (False, False, None)
    assert raised["label"].startswith("raised: ")
    assert "no.such" in raised["label"]
    assert right["correct"]


@pytest.mark.parametrize(
    ("program", "options", "error", "message"),
    [
        ("nosuch", {}, InputError, "no workload or model 'nosuch'.*conv_flatten.*basic-pitch"),
        ("no/such.onnx", {}, InputError, r"no such file: no/such\.onnx"),
        (Shared, {}, InputError, r"without a size: n \(in x\)"),
        (Shared, {"dims": {"n": 2, "m": 2}}, InputError, "no dimension 'm'"),
        (Two, {"entry": "third"}, InputError, "no Relax function 'third'"),
        (Two, {"inputs": ()}, InputError, "0 inputs given, 1 expected"),
        (Two, {"inputs": (np.ones((2, 4), "float32"),)}, InputError, r"shape \(2, 4\), exp"),
        (Two, {"inputs": (np.ones((2, 3)),)}, InputError, "dtype float64, expected float32"),
        ("reshape_chain", {"inputs": ()}, InputError, "inputs and params go with an IRModule"),
        ("reshape_chain", {"params": {}}, InputError, "inputs and params go with an IRModule"),
        ("reshape_chain", {"dims": {"n": 2}}, InputError, "no dimension 'n'"),
        (Two, {"approaches": ["k0", "nosuch"]}, InputError, "unknown approach 'nosuch'"),
        (Two, {"approaches": "stock", "placement": "early"}, InputError, "placement late only"),
        (Two, {"approaches": "shipped", "planner": "arena"}, InputError, "takes planner tvm only"),
        (Two, {"approaches": []}, InputError, "nothing to compare"),
        ([], {}, InputError, "nothing to compare"),
    ],
    ids=str,
)
def test_bad_input_is_refused(program, options, error, message):
    with pytest.raises(error, match=message) as caught:
        ta.compare(program, **{"approaches": "k0", **options})
    assert "\n" not in str(caught.value)


def test_refusal_costs_one_row():
    module, inputs, *_ = REFUSED
    record = ta.compare(module, ["stock+inplace", "k0"], inputs=inputs, planner="tvm")
    refused, built = record.rows
    assert refused["label"].startswith("refused: TVM cannot build this module under stock+inplace")
    assert (refused["ran"], refused["correct"], refused["memory"]) == (False, False, None)
    assert built["correct"] and built["memory"]


def test_what_every_approach_refuses_is_an_error():
    module, inputs, *_ = REFUSED
    with pytest.raises(UnsupportedError, match="module: TVM cannot build this module"):
        ta.compare(module, ["stock+inplace"], inputs=inputs)


DYING = """
import os
import tvm
from tvm.script import ir as I, relax as R

@tvm.register_global_func("test_compare.leave", override=True)
def leave(x):
    os._exit(7)

@I.ir_module
class Dying:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.call_pure_packed("test_compare.leave", x, ty_args=R.Tensor((4,), "float32"))
"""


def test_a_program_without_a_result_that_dies_costs_its_rows_only(tmp_path):
    path = tmp_path / "dying.py"
    path.write_text(DYING)
    record = ta.compare([path, BLOCK_OUTPUT], "k0", planner="token")
    assert [row["label"].split(":")[0] for row in record.rows] == ["died", "run on a CPU"]


@I.ir_module
class DataDependent:
    @R.function
    def main(x: R.Tensor((4,), "int64")):
        m = T.int64()
        u = R.unique(x)
        c = R.match_cast(u, R.Tensor((m,), "int64"))
        return R.add(c, R.const(1, "int64"))


def test_a_size_that_depends_on_data_leaves_a_right_row_unmeasured():
    inputs = (np.array([3, 1, 3, 1]),)
    row = only(ta.compare(DataDependent, "k0", inputs=inputs, planner="token"))
    assert row["ran"] and row["correct"] and row["memory"] is None
    assert row["label"].startswith("not measured: the planned bytes of main depend on data")


def test_a_target_in_json_is_one_target():
    assert cli._targets('{"kind": "llvm", "num-cores": 2}') == ['{"kind": "llvm", "num-cores": 2}']
    assert cli._targets("llvm,cuda") == ["llvm", "cuda"]
