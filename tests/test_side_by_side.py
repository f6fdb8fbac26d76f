"""K0 and aliasing in the IR on every workload: right, equal where fair, and never above `stock`."""

import pytest

import tvm_aliasing as ta

APPROACHES = ["stock", "k0", "alias:reshape", "alias"]
FEATURES = ["alias:views", "alias:dest"]


def memories(name, approaches, **options):
    """The memory of each row, by approach and planner; all must be right."""
    record = ta.compare(name, approaches, **options)
    wrong = [(row["approach"], row["label"]) for row in record.rows if not row["correct"]]
    assert not wrong, wrong
    return {(row["approach"], row["planner"]): row["memory"] for row in record.rows}


def assert_never_above_stock(found):
    above = [
        (approach, planner, figure)
        for (approach, planner), memory in found.items()
        for figure in ("planned", "peak", "live_bound", "kernels")
        if ("stock", planner) in found and memory[figure] > found["stock", planner][figure]
    ]
    assert not above, above


@pytest.mark.parametrize("fused", [True, False, "moves-apart"])
@pytest.mark.parametrize("name", ta.workloads())
def test_workloads(name, fused):
    found = memories(name, APPROACHES, planner=["token", "arena"], fused=fused)
    for planner in ("token", "arena"):
        assert found["k0", planner] == found["alias:reshape", planner]
    found |= memories(name, FEATURES, planner="arena", fused=fused)
    assert_never_above_stock(found)


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
        assert ta.agreement.agrees(built.run(*found.inputs), found.expected)


def test_a_real_model():
    found = memories("basic-pitch", APPROACHES, planner=["token", "arena"])
    for planner in ("token", "arena"):
        assert found["k0", planner] == found["alias:reshape", planner]
    assert_never_above_stock(found)


def test_densenet_without_a_concat():
    """8.4375 MiB is the bound without results that overwrite arguments."""
    (memory,) = memories(
        "densenet", "alias:views+dest", planner="arena", fused="moves-apart"
    ).values()
    assert memory["peak"] == 8.4375 * 2**20
    assert memory["copy_kernels"] == 1  # the parameter into its range
