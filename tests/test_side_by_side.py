"""K0 and aliasing in the IR on every workload: right, equal where fair, never above `stock`."""

import pytest

import tvm_aliasing as ta
from tvm_aliasing import forms
from tvm_aliasing.agreement import agrees

APPROACHES = ["stock", "k0", "alias:reshape", "alias"]
FEATURES = ["alias:dest", "alias:views+inplace", "k0+"]


def memories(name, approaches, **options):
    """The memory of each row, by approach and planner; all must be right."""
    record = ta.compare(name, approaches, **options)
    wrong = [(row["approach"], row["label"]) for row in record.rows if not row["correct"]]
    assert not wrong, wrong
    return {(row["approach"], row["planner"]): row["memory"] for row in record.rows}


#: A tensor that lies in the storage of the output brings all of that forward: the plan is smaller
#: than that of `stock`, and the peak is not.
ABOVE = {
    ("densenet", "moves-apart"): {
        ("alias:views+inplace", "arena", "peak"),
        ("k0+", "arena", "peak"),
    }
}


def above_stock(found):
    """Where an approach needs more than `stock` under the same planner."""
    return {
        (approach, planner, figure)
        for (approach, planner), memory in found.items()
        for figure in ("planned", "peak", "live_bound", "kernels")
        if ("stock", planner) in found and memory[figure] > found["stock", planner][figure]
    }


@pytest.mark.parametrize("fused", [True, False, "moves-apart"])
@pytest.mark.parametrize("name", ta.workloads())
def test_workloads(name, fused):
    found = memories(name, APPROACHES, planner=["token", "arena"], fused=fused)
    for planner in ("token", "arena"):
        assert found["k0", planner] == found["alias:reshape", planner]
    found |= memories(name, FEATURES, planner="arena", fused=fused)
    assert found["k0+", "arena"] == found["alias:views+inplace", "arena"]
    assert above_stock(found) == ABOVE.get((name, fused), set())


@pytest.mark.parametrize("name", ta.workloads())
def test_workloads_in_compiled_mode(name):
    for approach in ("k0", "alias:reshape", *FEATURES, "alias"):
        found = ta.workload(name)
        built = ta.build(
            found.mod,
            approach,
            planner="arena",
            fused="moves-apart",
            exec_mode="compiled",
            params=found.params,
            dims=found.dims,
        )
        assert agrees(built.run(*found.inputs), found.expected)


def test_a_real_model():
    found = memories("basic-pitch", APPROACHES, planner=["token", "arena"])
    for planner in ("token", "arena"):
        assert found["k0", planner] == found["alias:reshape", planner]
    assert not above_stock(found)


def test_densenet_without_a_concat():
    """8.4375 MiB is the bound without results that overwrite arguments."""
    options = {"planner": "arena", "fused": "moves-apart"}
    found = memories("densenet", ["stock", "alias:views+dest"], **options)
    bound = 8.4375 * 2**20
    assert found["alias:views+dest", "arena"]["peak"] == bound < found["stock", "arena"]["peak"]
    densenet = ta.workload("densenet")
    built = ta.build(densenet.mod, "alias:views+dest", **options, params=densenet.params)
    called = str(built.stages["planned"]["main"])
    assert "concatenate" not in called
    assert "split" not in called
    assert "copy(x" in called  # the parameter, into its range


@pytest.mark.parametrize("planner", ["token", "arena"])
def test_the_fair_pair_on_every_form_of_a_reshape(planner):
    for mod, inputs, *_ in forms.CASES.values():
        k0, said = (
            ta.build(mod, approach, planner=planner).memory(*inputs)
            for approach in ("k0", "alias:reshape")
        )
        assert k0 == said
