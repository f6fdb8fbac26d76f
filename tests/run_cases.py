"""Run many cases under one setting, in this process.

Reads a JSON request from standard input: `cases` (pairs of file and name), `approach`,
`build_options`. Writes a JSON line `[status, detail]` for each case as it ends, in their order.
What programs print goes to standard error.
"""

import functools
import json
import os
import sys
from pathlib import Path

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.isolate import told
from tvm_aliasing.models.relax_files import execute_file


@functools.cache
def _cases_of(path):
    return execute_file(Path(path))["CASES"]


@functools.lru_cache(maxsize=1)
def _built(module, approach, options):
    """The last build: cases that differ in their inputs only stand one after another."""
    built = ta.build(module, approach, **dict(options))
    # Each storage comes from malloc: none holds what an earlier case left in the pool.
    built.machine = functools.partial(built.machine, memory_cfg="naive")
    return built


def _outcome(path, name, approach, options):
    module, inputs, expected, _note = _cases_of(path)[name]
    try:
        built = _built(module, approach, options)
        right = expected(built) if callable(expected) else agrees(built.run(*inputs), expected)
    except Exception as error:  # whatever TVM raises is the outcome
        return "raised", told(error)
    return ("ok", "") if right else ("wrong", "the result differs from what NumPy computes")


def main():
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    request = json.load(sys.stdin)
    options = tuple(request["build_options"].items())
    for path, name in request["cases"]:
        outcome = _outcome(path, name, request["approach"], options)
        print(json.dumps(outcome), file=results, flush=True)


if __name__ == "__main__":
    main()
