"""What a committed notebook must be like, beyond what nbval sees.

nbval compares outputs only. It never looks at a cell that was not run, so a notebook without
outputs passes it.
"""

import ast
import json
import re

MAX_BYTES = 1_000_000

# At least two parts, so that `K0/K1`, `</a>`, `1 / 2` and URLs are no paths. What lies in /proc,
# /dev and /sys is the same on every Linux machine.
_ABSOLUTE_PATH = re.compile(
    r"(?<![\w.:/<\\])/(?!proc/|dev/|sys/)(?:[\w.+@~-]+/)+[\w.+@~-]+|\b[A-Za-z]:\\\w+\\"
)
_ANSI_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_MARKER_COMMENT = re.compile(r"^\s*#\s*(NBVAL_|PYTEST_VALIDATE_)", re.MULTILINE)
_BINARY = {"image/png", "image/jpeg"}


def problems(notebook):
    """List what is wrong with a notebook.

    Parameters
    ----------
    notebook : dict
        The notebook file's JSON.

    Returns
    -------
    list of str
        One line for each problem; it starts with the problem's kind and a colon.
    """
    return [
        *_frame(notebook["cells"]),
        *_counts(_code_cells(notebook)),
        *_outputs(_code_cells(notebook)),
        *_errors(_code_cells(notebook)),
        *_timestamps(notebook["cells"]),
        *_marks(_code_cells(notebook)),
        *_paths(notebook),
        *_metadata(notebook),
        *_size(notebook),
    ]


def _code_cells(notebook):
    return [(i, c) for i, c in enumerate(notebook["cells"]) if c["cell_type"] == "code"]


def _source(cell):
    return "".join(cell["source"])


def _tags(cell):
    return cell["metadata"].get("tags", [])


def _frame(cells):
    if not cells or cells[0]["cell_type"] != "markdown" or "?" not in _source(cells[0]):
        yield "question: the first cell is not a text that asks the notebook's question"
    if not cells or cells[-1]["cell_type"] != "markdown":
        yield "answer: the last cell is not a text, so it cannot answer the question"


def _counts(code_cells):
    for expected, (i, cell) in enumerate(code_cells, start=1):
        count = cell["execution_count"]
        if count is None:
            yield f"not-run: cell {i} was not executed"
        elif count != expected:
            yield f"order: cell {i} has execution count {count}, not {expected}"
        for output in cell["outputs"]:
            if output.get("execution_count", count) != count:
                yield f"order: an output of cell {i} comes from another execution of it"


def _outputs(code_cells):
    if code_cells and not any(cell["outputs"] for _, cell in code_cells):
        yield "no-output: no cell has an output; the notebook was stripped"
    for i, cell in code_cells:
        if not cell["outputs"] and _shows_something(_source(cell)):
            yield f"no-output: cell {i} prints or shows a value but has no output"


def _shows_something(source):
    """Whether running this source must leave an output, as far as its text tells."""
    lines = [line for line in source.splitlines() if not line.lstrip().startswith(("%", "!"))]
    try:
        body = ast.parse("\n".join(lines)).body
    except SyntaxError:
        return False
    if any(_prints(statement) for statement in body):
        return True
    shown = bool(body) and isinstance(body[-1], ast.Expr)
    # A call may return None, which is not shown.
    return shown and not isinstance(body[-1].value, ast.Call)


def _prints(statement):
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    to_file = any(keyword.arg == "file" for keyword in call.keywords)
    return call.func.id in ("print", "display") and bool(call.args) and not to_file


def _errors(code_cells):
    for i, cell in code_cells:
        failed = any(output["output_type"] == "error" for output in cell["outputs"])
        expected = "raises-exception" in _tags(cell)
        if failed and not expected:
            yield f"error: cell {i} failed; tag it raises-exception if that is meant"
        if expected and not failed:
            yield f"no-output: cell {i} is tagged raises-exception but shows no error"


def _timestamps(cells):
    for i, cell in enumerate(cells):
        if {"execution", "ExecuteTime"} & cell["metadata"].keys():
            yield f"timestamp: cell {i} holds execution times; use `make notebooks`"


def _marks(code_cells):
    ignored = [i for i, cell in code_cells if "nbval-ignore-output" in _tags(cell)]
    if len(ignored) > 1:
        yield f"ignored: cells {ignored} are tagged nbval-ignore-output, one at most may be"
    for i, cell in code_cells:
        if "nbval-skip" in _tags(cell) or _MARKER_COMMENT.search(_source(cell)):
            yield f"marker: cell {i} hides from nbval with a comment or with nbval-skip"
        if _source(cell).rstrip().endswith(";"):
            yield f"semicolon: cell {i} hides its value with `;`, which nbval ignores: use `_ =`"


def _paths(notebook):
    for text in _texts(notebook):
        found = _ABSOLUTE_PATH.search(_ANSI_COLOR.sub("", text))
        if found:
            yield f"path: {found[0]!r} is a path of one machine"


def _texts(value):
    """All texts in a notebook but the encoded images."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in _BINARY:
                yield from _texts(item)


def _metadata(notebook):
    if "version" in notebook["metadata"].get("language_info", {}):
        yield "version: language_info.version differs between machines; use `make notebooks`"


def _size(notebook):
    size = len(json.dumps(notebook, indent=1, ensure_ascii=False).encode())
    if size > MAX_BYTES:
        yield f"size: {size} bytes, {MAX_BYTES} at most; GitHub does not show large notebooks"
