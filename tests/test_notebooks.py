"""The committed notebooks keep the rules, and the rules find what they are for."""

import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from notebook_rules import MAX_BYTES, problems

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))


def test_there_are_notebooks():
    assert PATHS, "notebooks/ holds no notebook"


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_committed_notebook(path):
    assert re.fullmatch(r"\d\d_[a-z0-9_]+\.ipynb", path.name)
    assert problems(json.loads(path.read_text(encoding="utf-8"))) == []


# --- the rules themselves ----------------------------------------------------------------


def text(source):
    return {"cell_type": "markdown", "id": "t", "metadata": {}, "source": [source]}


def stream(*lines):
    return {"name": "stdout", "output_type": "stream", "text": list(lines)}


def result(data, count):
    return {
        "output_type": "execute_result",
        "execution_count": count,
        "metadata": {},
        "data": data,
    }


def code(source, count, *outputs, tags=()):
    return {
        "cell_type": "code",
        "id": f"c{count}",
        "execution_count": count,
        "metadata": {"tags": list(tags)} if tags else {},
        "outputs": list(outputs),
        "source": source.splitlines(keepends=True),
    }


ERROR = {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["no"]}
PICTURE = {"image/png": "/home/ann/x+/home/ann/y", "text/plain": ["<Figure size 640x480>"]}

GOOD = {
    "cells": [
        text("# Views\n\nDoes K0/K1 save [memory](https://example.org/home/ann/x)?"),
        code("%matplotlib inline\nimport os\nx = 1 / 2 / 3", 1),
        code("print(x)\nif x:\n    y = x", 2, stream("4/2, 1 / 2, </a>, /proc/self/maps\n")),
        code("x", 3, result({"text/plain": ["0.5"]}, 3)),
        code("figure(x)", 4, result(PICTURE, 4)),
        code("_ = figure(x)", 5),
        code("raise ValueError('no')", 6, ERROR, tags=["raises-exception"]),
        code("print(time())", 7, stream("3 ms\n"), tags=["nbval-ignore-output"]),
        text("Yes."),
    ],
    "metadata": {"language_info": {"name": "python"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def kinds(notebook):
    return {problem.split(":")[0] for problem in problems(notebook)}


def test_a_good_notebook_has_no_problem():
    assert problems(GOOD) == []


def edit(*keys, value):
    """A change of one place in a notebook, given by the keys that lead to it."""

    def change(notebook):
        *path, last = keys
        for key in path:
            notebook = notebook[key]
        notebook[last] = value

    return change


def strip(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(execution_count=None, outputs=[])


def strip_but_keep_counts(notebook):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []


def swap(notebook):
    cells = notebook["cells"]
    cells[1], cells[2] = cells[2], cells[1]


def drop(index):
    def change(notebook):
        del notebook["cells"][index]

    return change


def insert(index, cell):
    return lambda notebook: notebook["cells"].insert(index, cell)


def path_in_traceback(notebook):
    notebook["cells"][6]["outputs"][0]["traceback"] = ["File \x1b[32m/opt/lib/tvm/ir.py:3\x1b[0m"]


BAD = {
    "no question": (edit("cells", 0, "source", value="Views."), {"question"}),
    "question in code": (drop(0), {"question"}),
    "no answer": (drop(-1), {"answer"}),
    "empty": (edit("cells", value=[]), {"question", "answer"}),
    "stripped": (strip, {"not-run", "no-output"}),
    "outputs stripped": (strip_but_keep_counts, {"no-output"}),
    "cell not run": (insert(-1, code("z = 1", None)), {"not-run"}),
    "cells swapped": (swap, {"order"}),
    "cell deleted": (drop(1), {"order"}),
    "cell run twice": (edit("cells", 7, "execution_count", value=9), {"order"}),
    "output of an earlier run": (
        edit("cells", 3, "outputs", 0, "execution_count", value=2),
        {"order"},
    ),
    "print without output": (edit("cells", 2, "outputs", value=[]), {"no-output"}),
    "value without output": (edit("cells", 3, "outputs", value=[]), {"no-output"}),
    "expected error missing": (edit("cells", 6, "outputs", value=[]), {"no-output"}),
    "error not expected": (edit("cells", 6, "metadata", value={}), {"error"}),
    "timestamp": (edit("cells", 1, "metadata", "execution", value={"a": "b"}), {"timestamp"}),
    "two cells ignored": (
        edit("cells", 2, "metadata", "tags", value=["nbval-ignore-output"]),
        {"ignored"},
    ),
    "skip tag": (edit("cells", 2, "metadata", "tags", value=["nbval-skip"]), {"marker"}),
    "ignore comment": (
        edit("cells", 2, "source", value="# NBVAL_IGNORE_OUTPUT\nprint(x)"),
        {"marker"},
    ),
    "value hidden": (edit("cells", 5, "source", value="figure(x);\n"), {"semicolon"}),
    "path in source": (edit("cells", 1, "source", value="x = open('/home/ann/a')"), {"path"}),
    "path in text": (edit("cells", -1, "source", value="See `/srv/ann/a.onnx`."), {"path"}),
    "path in output": (edit("cells", 2, "outputs", 0, "text", value="at /tmp/a/b.py:3"), {"path"}),
    "path in traceback": (path_in_traceback, {"path"}),
    "Windows path": (edit("cells", 2, "outputs", 0, "text", value=r"C:\Users\ann"), {"path"}),
    "Python version": (
        edit("metadata", "language_info", "version", value="3.11.7"),
        {"version"},
    ),
    "too large": (
        edit("cells", 4, "outputs", 0, "data", "image/png", value="A" * MAX_BYTES),
        {"size"},
    ),
}


@pytest.mark.parametrize(("change", "expected"), BAD.values(), ids=BAD.keys())
def test_bad_notebook_is_refused(change, expected):
    notebook = copy.deepcopy(GOOD)
    change(notebook)
    assert kinds(notebook) == expected


# --- execute.py --------------------------------------------------------------------------


def execute(path):
    return subprocess.run(
        [sys.executable, str(NOTEBOOKS / "execute.py"), str(path)], capture_output=True, text=True
    )


@pytest.fixture
def unrun(tmp_path):
    notebook = {
        "cells": [
            text("Is it the same each time?"),
            code("for i in range(3):\n    print(i, flush=True)\nopen('here', 'w').close()", None),
            code("from pathlib import Path\nPath('here').exists()", None),
            code("raise ValueError('no')", None, tags=["raises-exception"]),
            text("Yes."),
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    for i, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{i}"
    path = tmp_path / "00_unrun.ipynb"
    path.write_text(json.dumps(notebook))
    return path


def test_execute_writes_the_same_bytes_again(unrun):
    assert execute(unrun).returncode == 0
    first = unrun.read_bytes()
    assert problems(json.loads(first)) == []
    assert execute(unrun).returncode == 0
    assert unrun.read_bytes() == first


def test_execute_leaves_a_failing_notebook_as_it_was(unrun):
    before = unrun.read_text().replace('"raises-exception"', "")
    unrun.write_text(before)
    done = execute(unrun)
    assert done.returncode == 1
    assert "ValueError" in done.stderr
    assert unrun.read_text() == before
    assert [p.name for p in unrun.parent.glob("*.ipynb*")] == [unrun.name]
