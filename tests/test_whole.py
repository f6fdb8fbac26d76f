"""The whole: every approach right on every workload and on a real model, and what `k0` saves."""

from pathlib import Path

import numpy as np
import pytest
from tvm import ir, relax

import tvm_aliasing as ta
from tvm_aliasing.agreement import TOLERANCE
from tvm_aliasing.models import model, models, onnx_reference

PROGRAMS = Path(__file__).parent / "programs"

ALIASED = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Aliased:
    @R.function
    def main(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.matmul(R.permute_dims(x), x)
            b = R.reshape(a, (36,))
            c = R.reshape(x, (24,))
            R.output(a, b, c)
        return a, b, c
"""


def policy_copies(built):
    """How many kernels the output policy adds: they call functions that the front did not make."""
    front, introduced = built.stages["front"], built.stages["introduced"]
    made_by_front = {name.name_hint for name in front.get_global_vars()}
    added = []

    def visit(expr):
        if isinstance(expr, relax.Call) and expr.op.same_as(ir.Op.get("relax.call_tir")):
            name = expr.args[0].name_hint
            if name not in made_by_front:
                assert name.startswith("copy")
                added.append(name)

    relax.analysis.post_order_visit(introduced[built.entry], visit)
    return len(added)


def copies(record, approach):
    """Copy kernels of an approach; a planner changes none."""
    found = {
        row["planner"]: row["memory"]["copy_kernels"]
        for row in record.rows
        if row["approach"] == approach
    }
    (count,) = set(found.values())
    return count


def names(record):
    """The approaches of a record, each once."""
    return list(dict.fromkeys(row["approach"] for row in record.rows))


def assert_right(record):
    wrong = [
        f"{row['workload']} under {row['approach']}: {row['label']}"
        for row in record.rows
        if not (row["ran"] and row["correct"] and row["memory"])
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("name", ta.workloads())
def test_every_approach_is_right_and_k0_copies_no_more_than_stock(name):
    record = ta.compare(name, planner="tvm")  # test_side_by_side has the others
    assert names(record) == ta.approaches()
    assert_right(record)
    found = ta.workload(name)
    demanded = policy_copies(ta.build(found.mod, "k0", params=found.params, dims=found.dims))
    assert copies(record, "k0") - demanded <= copies(record, "stock") <= copies(record, "copy")


@pytest.mark.parametrize("program", ["block_output", "outside_dataflow"])
def test_k0_copies_less_where_stock_does_not_look(program):
    record = ta.compare(PROGRAMS / f"{program}.py")
    assert_right(record)
    assert (copies(record, "stock"), copies(record, "k0"), copies(record, "k0-run")) == (1, 0, 1)


def test_copies_of_the_output_policy_are_told_apart(tmp_path):
    """Two outputs alias: one the other, one a parameter. `k0` elides both and copies both."""
    path = tmp_path / "aliased.py"
    path.write_text(ALIASED)
    record = ta.compare(path, ["copy", "stock", "k0"])
    assert_right(record)
    demanded = policy_copies(ta.build(ta.load_model(path).mod, "k0"))
    assert demanded == copies(record, "k0") == 2
    assert policy_copies(ta.build(ta.load_model(path).mod, "copy")) == 0


def test_every_approach_is_right_on_a_real_model():
    known = next(known for known in models() if known.name == "basic-pitch")
    assert known.fetched, "make setup fetches this model: run it first"
    expected = onnx_reference(known.path, model("basic-pitch").inputs)
    # What a record calls correct is then within 1e-4 of ONNX Runtime everywhere.
    rtol, atol = TOLERANCE["float32"]
    assert all(rtol * np.abs(output).max() + atol <= 1e-4 for output in expected)
    record = ta.compare("basic-pitch")
    assert names(record) == ta.approaches()
    assert_right(record)
    assert record.provenance["references"] == {"basic-pitch": "ONNX Runtime"}
    assert copies(record, "k0") <= copies(record, "stock") < copies(record, "copy")


def test_a_model_of_one_output_is_right_and_what_tvm_refuses_is_said():
    """TVM's in-place pass refuses this model: see `in_place_of_a_constant` in known_faults."""
    record = ta.compare("magika")
    ends = {row["approach"]: row["label"].split(":")[0] for row in record.rows}
    assert ends.pop("stock+inplace") == "refused"
    assert set(ends.values()) == {"run on a CPU"}
    assert all(row["correct"] for row in record.rows if row["approach"] in ends)
