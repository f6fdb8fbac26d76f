"""Small programs with a right answer, each run in a process of its own."""

from pathlib import Path
from typing import Any, NamedTuple

import tvm

from . import forks, isolate
from .agreement import agrees
from .build import build, check_options
from .errors import InputError
from .models.relax_files import execute_file

#: Who forks must have no threads.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


class Case(NamedTuple):
    """A program with its right answer.

    Attributes
    ----------
    module : tvm.IRModule
    inputs : tuple of ndarray
    expected : ndarray, tuple or callable
        A callable is given the `Built` and says whether all is right.
    note : str
        What goes wrong where the program is mishandled.
    options : dict
        Options of `build` that the program is about.
    """

    module: tvm.IRModule
    inputs: tuple
    expected: Any
    note: str
    options: dict


def cases_of(path):
    """The cases of a file by name.

    Parameters
    ----------
    path : str or path
        A Python file that exports `CASES`: a dict of name to `(module, inputs, expected, note)`. It
        may export `OPTIONS`: for some of them a dict of options of `build`.

    Returns
    -------
    dict of str to Case

    Raises
    ------
    InputError
        There is no such file, or it has no cases.
    """
    exported = execute_file(Path(path))
    cases, options = exported.get("CASES"), exported.get("OPTIONS", {})
    if not isinstance(cases, dict):
        raise InputError(f"{path} exports no dict CASES")
    return {name: Case(*case, options.get(name, {})) for name, case in cases.items()}


def run_isolated(path, case, approach, *, timeout=120, **build_options):
    """Run one case of a file under one approach, in a process of its own.

    Parameters
    ----------
    path : str or path
        A file of cases, as `cases_of` reads it.
    case : str
    approach : str
    timeout : float
        Seconds until the process is killed.
    **build_options
        As for `build`; they go before those that the file has for the case.

    Returns
    -------
    tuple of str
        `(status, detail)`; status is `ok`, `wrong`, `raised` or `died`, detail says what was
        raised or how it died.

    Raises
    ------
    InputError, UnsupportedError
        No such file, case, approach or option.
    """
    request = {
        "path": str(path),
        "case": case,
        "approach": approach,
        "build_options": build_options,
    }
    try:
        ((status, detail),) = isolate.results_of("case", request, timeout, isolate.FILLED)
    except isolate.Died as death:
        return "died", str(death)
    return status, detail


def run_all(runs, *, timeout=120):
    """Run many cases, each in a process of its own, two at a time.

    What `run_isolated` says of each, in a tenth of the time: the processes are forked from one that
    has imported TVM and read the files.

    Parameters
    ----------
    runs : list of tuple
        `(path, case, approach, build_options)`, as `run_isolated` takes them.
    timeout : float
        Seconds until the process of a case is killed.

    Yields
    ------
    tuple of (int, str, str)
        As each ends: which, status and detail.

    Raises
    ------
    InputError, UnsupportedError
        No such file, case, approach or option; nothing was run.
    """
    request = {"runs": [(str(path), *run) for path, *run in runs], "timeout": timeout}
    yield from isolate.results_of("cases", request, None, isolate.FILLED | _ONE_THREAD)


def case_results(path, case, approach, build_options):
    """Yield the one `(status, detail)` of a case; runs in the process of its own."""
    yield _outcome(*_chosen(cases_of(path), path, case, approach, build_options))


def forked_results(runs, timeout):
    """Yield `(at, status, detail)` of each run; runs in the process that forks theirs."""
    files = {path: cases_of(path) for path in dict.fromkeys(path for path, *_ in runs)}
    chosen = [_chosen(files[path], path, *run) for path, *run in runs]
    for at, outcome, death in forks.call_all(_outcome, chosen, timeout):
        yield at, *(outcome or ("died", death))


def _chosen(cases, path, case, approach, build_options):
    """A case, and the approach and the options that it is built with, checked."""
    if case not in cases:
        raise InputError(f"{path} has no case {case!r}: use one of {', '.join(cases)}")
    options = {**cases[case].options, **build_options}
    check_options(approach, **options)
    return cases[case], approach, options


def _outcome(case, approach, options):
    try:
        built = build(case.module, approach, **options)
        if callable(case.expected):
            right = bool(case.expected(built))
        else:
            right = agrees(built.run(*case.inputs), case.expected)
    except Exception as error:  # whatever TVM raises is the outcome
        return "raised", isolate.told(error)
    return ("ok", "") if right else ("wrong", "the result differs from what NumPy computes")
