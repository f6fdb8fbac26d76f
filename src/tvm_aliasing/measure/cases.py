"""The cases under each approach, as rows of a record of kind `cases`."""

from dataclasses import dataclass

import tvm_ffi
from tvm import relax

from ..approaches import approach as approach_of
from ..backends import resolve_target
from ..cases import cases_of, run_all
from ..errors import InputError
from ..models.relax_files import execute_file
from ..progress import progress
from .provenance import ROOT

#: What each case is run under: what TVM does, and what this project does, whole and in parts.
APPROACHES = (
    *("shipped", "stock", "stock+inplace", "k0", "k0+", "alias"),
    *("alias:reshape", "alias:views", "alias:views+dest"),
    *("alias:inplace", "alias:donate", "alias:outputs"),
)

#: Words of the record for what `run_isolated` says.
STATUS = {"ok": "right", "wrong": "wrong", "raised": "raised", "died": "died"}


@dataclass(frozen=True)
class Suite:
    """The cases of a checkout, and the faults of TVM that some of them show.

    Attributes
    ----------
    cases : dict of str to (path, Case)
        By name: the file that it is in, and the case.
    faults : list of dict
        What `tests/known_faults.py` exports.
    """

    cases: dict
    faults: list

    def faults_of(self, row):
        """The faults that a row is listed for: one at most."""
        return [fault for fault in self.faults if _shows(row, fault)]

    def expected(self, row):
        """The status that a row must have: right, or as a fault says.

        Parameters
        ----------
        row : dict
            Of a record of kind `cases`.

        Returns
        -------
        str
        """
        return next((fault["ends"] for fault in self.faults_of(row)), "right")

    def reason(self, row):
        """Why a row is not right, where a part of TVM is to blame; else None."""
        faults = [fault for fault in self.faults_of(row) if fault["ends"] == row["status"]]
        return faults[0]["reason"] if faults else None


def _shows(row, fault):
    """Whether a row is one that a fault is listed for."""
    planned = row["planner"] == fault["planner"]
    return planned and row["approach"] in fault["cases"].get(row["case"], ())


def suite(root=ROOT):
    """The cases in `tests/` of a checkout.

    Parameters
    ----------
    root : path

    Returns
    -------
    Suite

    Raises
    ------
    InputError
        There are none: this is no checkout.
    """
    files, faults = files_of(root)
    cases = {name: (path, case) for path in files for name, case in cases_of(path).items()}
    return Suite(cases, execute_file(faults)["FAULTS"])


def files_of(root=ROOT):
    """The files of a checkout that hold the cases, and the one that lists the faults.

    Raises
    ------
    InputError
        There are none: this is no checkout.
    """
    files, faults = sorted(root.glob("tests/cases/*.py")), root / "tests" / "known_faults.py"
    if not files or not faults.is_file():
        raise InputError(
            "there is no tests/cases beside the package: part cases is measured from a checkout:"
            " run it in one, or name other parts"
        )
    return files, faults


def settings_of(case):
    """What a case is run under.

    Parameters
    ----------
    case : Case

    Returns
    -------
    list of tuple
        `(approach, planner, fused)`: each approach with its own planner, this project's with
        `arena` too; unfused too where there is something to fuse.
    """
    fusible = _has_dataflow(case.module)
    return [
        (name, planner, fused)
        for name in APPROACHES
        for planner in _planners(name)
        for fused in ((True, False) if fusible and name != "shipped" else (True,))
    ]


def _planners(name):
    first = approach_of(name).planners[0]
    return (first,) if first == "tvm" else (first, "arena")


def _has_dataflow(module):
    """Whether there is a dataflow block: nothing is fused outside of them."""
    found = []
    tvm_ffi.structural_walk(module, (relax.DataflowBlock, lambda block: found.append(block)))
    return bool(found)


def case_rows(found, target="llvm"):
    """Run cases, each in a process of its own.

    Parameters
    ----------
    found : Suite
    target : str or dict

    Returns
    -------
    list of dict
        Rows, in the order of the cases and of their settings.
    """
    text = target if isinstance(target, str) else str(resolve_target(target))
    rows = [
        {"case": name, "approach": approach, "planner": planner, "fused": fused, "target": text}
        for name, (_, case) in found.cases.items()
        for approach, planner, fused in settings_of(case)
    ]
    return run_rows(found, rows)


def run_rows(found, rows, **build_options):
    """Run the cases of rows, each in a process of its own.

    Parameters
    ----------
    found : Suite
    rows : list of dict
        With `case`, `approach`, `planner`, `fused` and `target`.
    **build_options
        What `build` is called with besides.

    Returns
    -------
    list of dict
        The same rows with `status`, `detail` and `reason`.
    """
    done = [None] * len(rows)
    runs = [_run(found, row, build_options) for row in rows]
    for count, (at, status, detail) in enumerate(run_all(runs), 1):
        progress(f"cases: {count} of {len(rows)}")
        row = {**rows[at], "status": STATUS[status], "detail": detail}
        done[at] = {**row, "reason": found.reason(row)}
    progress("")
    return done


def _run(found, row, build_options):
    path, _ = found.cases[row["case"]]
    options = {name: row[name] for name in ("planner", "fused", "target")}
    return path, row["case"], row["approach"], {**options, **build_options}
