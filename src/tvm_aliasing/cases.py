"""Small programs with a right answer, each run in a process of its own."""

from pathlib import Path

from . import isolate
from .agreement import agrees
from .build import build, check_options
from .errors import InputError
from .models.relax_files import execute_file


def run_isolated(path, case, approach, *, timeout=120, **build_options):
    """Run one case of a file under one approach, in a process of its own.

    Parameters
    ----------
    path : str or path
        A Python file that exports `CASES`: a dict of name to `(module, inputs, expected, note)`.
        `expected` is an array, a tuple of arrays, or a callable that is given the `Built` and says
        whether all is right.
    case : str
    approach : str
    timeout : float
        Seconds until the process is killed.
    **build_options
        As for `build`.

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
        ((status, detail),) = isolate.results_of("case", request, timeout)
    except isolate.Died as death:
        return "died", str(death)
    return status, detail


def case_results(path, case, approach, build_options):
    """Yield the one `(status, detail)` of a case; runs in the process of its own."""
    cases = execute_file(Path(path)).get("CASES")
    if not isinstance(cases, dict):
        raise InputError(f"{path} exports no dict CASES")
    if case not in cases:
        raise InputError(f"{path} has no case {case!r}: use one of {', '.join(cases)}")
    module, inputs, expected, _note = cases[case]
    yield _outcome(module, inputs, expected, approach, build_options)


def _outcome(module, inputs, expected, approach, build_options):
    check_options(approach, **build_options)
    try:
        built = build(module, approach, **build_options)
        if callable(expected):
            right = bool(expected(built))
        else:
            right = agrees(built.run(*inputs), expected)
    except Exception as error:  # whatever TVM raises is the outcome
        return "raised", isolate.told(error)
    return ("ok", "") if right else ("wrong", "the result differs from what NumPy computes")
