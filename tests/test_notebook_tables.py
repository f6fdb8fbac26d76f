"""Notebook 03 and the newest record say the same of the five models."""

from pathlib import Path

import nbformat
import pytest

from tvm_aliasing.results import store

ROOT = Path(__file__).parents[1]
MODELS = {"conv_flatten", "mha", "reshape_chain", "densenet", "residual"}
FIGURES = {
    "kernels": ("token", "kernels"),
    "live bound": ("token", "live_bound"),
    "token planned": ("token", "planned"),
    "token peak": ("token", "peak"),
    "arena planned": ("arena", "planned"),
    "arena peak": ("arena", "peak"),
}


def tables_in_bytes():
    """The two tables of bytes: of moves kept apart, then of everything fused."""
    notebook = nbformat.read(ROOT / "notebooks" / "03_memory_side_by_side.ipynb", as_version=4)
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            lines = output.get("data", {}).get("text/markdown", "").splitlines()
            rows = [[field.strip() for field in line.strip("|").split("|")] for line in lines]
            if rows and rows[0] == ["program", "approach", *FIGURES] and "." not in lines[2]:
                found.append(rows[2:])
    return found


def newest_memory():
    """The memory of each row of the newest record that has the approach `alias`."""
    for identifier in reversed(store.ids(ROOT / "results")):
        record = store.load(identifier, ROOT / "results")
        rows = record.rows if record.kind == "compare" else []
        if any(row["approach"] == "alias" and row["latency"] is None for row in rows):
            return {
                (row["workload"], row["approach"], row["planner"], row["fused"]): row["memory"]
                for row in rows
            }
    raise LookupError("no record has the approach alias")


@pytest.mark.parametrize(("at", "fused"), [(0, "moves-apart"), (1, True)])
def test_the_five_models(at, fused):
    table, memory = tables_in_bytes()[at], newest_memory()
    assert {program for program, *_ in table} == MODELS
    compared = 0
    for program, approach, *figures in table:
        if (program, approach, "token", fused) not in memory:
            continue  # a feature by itself: it is measured in the notebook only
        for (planner, name), shown in zip(FIGURES.values(), figures):
            assert int(shown.replace(",", "")) == memory[program, approach, planner, fused][name]
            compared += 1
    assert compared == len(MODELS) * 4 * len(FIGURES)  # stock, k0, alias:reshape, alias
