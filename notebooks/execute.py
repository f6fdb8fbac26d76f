"""Run notebooks and write their outputs in place, byte for byte the same from run to run.

Usage: python notebooks/execute.py [NOTEBOOK ...]    default: all beside this file
"""

import argparse
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

CELL_TIMEOUT_S = 300


def execute(path):
    """Run one notebook; its file changes only when all cells ran."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        record_timing=False,  # a timestamp would differ in every run
        coalesce_streams=True,  # how prints are cut into messages depends on the load
        extra_arguments=["--log-level=ERROR"],  # the kernel warns that its local ports are open
        resources={"metadata": {"path": str(path.parent)}},  # nbval starts there, too
    )
    client.execute()
    notebook.metadata.get("language_info", {}).pop("version", None)
    unfinished = path.with_suffix(".ipynb.tmp")
    try:
        nbformat.write(notebook, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK")
    paths = parser.parse_args(argv).notebooks or sorted(Path(__file__).parent.glob("*.ipynb"))
    # ipykernel captures output in another way under pytest. The kernel inherits this
    # variable, so the outputs written here are the ones that nbval will see.
    os.environ.setdefault("PYTEST_CURRENT_TEST", "notebooks/execute.py")
    for path in paths:
        print(path.name, flush=True)
        try:
            execute(path)
        except CellExecutionError as error:
            print(f"{path.name} failed and is left as it was:\n{error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
