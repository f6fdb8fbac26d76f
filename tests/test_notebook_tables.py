"""Notebook 03 and the record that it names say the same of the five models."""

import itertools
import re
from pathlib import Path

import nbformat

from tvm_aliasing.results import store

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "03_memory_side_by_side.ipynb"
MODELS = {"conv_flatten", "mha", "reshape_chain", "densenet", "residual"}
APPROACHES = {"stock", "k0", "alias:reshape", "k0+", "alias"}
FIGURES = {
    "kernels": ("token", "kernels"),
    "live bound": ("token", "live_bound"),
    "token planned": ("token", "planned"),
    "token peak": ("token", "peak"),
    "arena planned": ("arena", "planned"),
    "arena peak": ("arena", "peak"),
}
_FOLDER = re.compile(r'^RESULTS = "(.+)"$', re.MULTILINE)
_MEMORY = re.compile(r'^MEMORY = store\.load\("(R-\d+)", RESULTS\)', re.MULTILINE)


def cells():
    return nbformat.read(NOTEBOOK, as_version=4).cells


def named_in_source(pattern):
    """What the notebook sets in the one cell that names folder and records."""
    (found,) = (match for cell in cells() if (match := pattern.search(cell.source)))
    return found[1]


def table_in_bytes():
    """The rows of the table of bytes."""
    for cell in cells():
        for output in cell.get("outputs", ()):
            lines = output.get("data", {}).get("text/markdown", "").splitlines()
            rows = [[field.strip() for field in line.strip("|").split("|")] for line in lines]
            if rows and rows[0] == ["fused", "program", "approach", *FIGURES]:
                return rows[2:]
    raise LookupError("there is no such table")


def memory():
    """The memory of each row of the record, by its point."""
    folder = NOTEBOOK.parent / named_in_source(_FOLDER)
    return {
        (str(row["fused"]), row["workload"], row["approach"], row["planner"]): row["memory"]
        for row in store.load(named_in_source(_MEMORY), folder).rows
    }


def test_it_reads_the_records_of_this_repository():
    assert named_in_source(_FOLDER) == "../results"


def test_the_five_models():
    measured, compared = memory(), set()
    for fused, program, approaches, *figures in table_in_bytes():
        for approach in approaches.split(", "):  # those that are equal share a line
            for (planner, name), shown in zip(FIGURES.values(), figures):
                figure = measured[fused, program, approach, planner][name]
                assert int(shown.replace(",", "")) == figure
            compared.add((fused, program, approach))
    assert compared == set(itertools.product(("True", "moves-apart"), MODELS, APPROACHES))
