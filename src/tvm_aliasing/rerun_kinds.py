"""How the rows of each kind of record are measured again, and what of them is compared."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from .compare import measure_rows, time_rows
from .measure.latency import overlap
from .records import kernel_rows
from .settings import AXES
from .subjects import find_subject

#: Two figures of `scaling` are alike up to this factor.
FACTOR = 1.5

#: What tells a row of `cases` apart.
CASE_KEYS = ("case", "approach", "planner", "fused", "target")


@dataclass(frozen=True)
class Interval:
    """A ratio with its interval: alike are those with a point in common."""

    ratio: float
    lo: float
    hi: float

    def alike(self, other):
        """Whether two runs of one measurement may give both."""
        return overlap(vars(self), vars(other))

    def __str__(self):
        return f"{self.ratio:.3f} [{self.lo:.3f}, {self.hi:.3f}]"


@dataclass(frozen=True)
class Limited:
    """A figure that is meant to stay below a limit: alike on one side of it, and up to `FACTOR`."""

    value: float
    limit: float

    def alike(self, other):
        """Whether two runs of one measurement may give both."""
        low, high = sorted((self.value, other.value))
        one_side = (self.value <= self.limit) == (other.value <= self.limit)
        return one_side and high <= FACTOR * low

    def __str__(self):
        return f"{self.value:.3f} (limit {self.limit:g})"


@dataclass(frozen=True)
class Kind:
    """A kind of record.

    Attributes
    ----------
    again : callable
        From rows and the latency budget to the same rows measured again; None for one that is gone.
    keys : tuple of str
        What tells a row apart.
    point : callable
        From a row to what is timed in one go with it.
    timed : callable
        From a row to a dict of name to `Interval` or `Limited`.
    notes : tuple of str
        What the reader of a rerun has to know.
    figures : bool
        Whether there are figures, in which the machine has a part; of a kind without them only the
        rows that differ are shown.
    """

    again: Callable
    keys: tuple
    point: Callable
    timed: Callable
    notes: tuple = ()
    figures: bool = True


def _builds_again(rows, budget):
    """Rows of builds measured again, those of one program in one go."""
    new = [None] * len(rows)
    groups = {}
    for at, row in enumerate(rows):
        group = row["workload"], json.dumps(row["dims"]), tuple(row["donate"])
        groups.setdefault(group, []).append(at)
    for (workload, dims, donate), places in groups.items():
        dims, fixed = json.loads(dims), {"donate": donate}
        subject = find_subject(workload, dims, "main", defer=True)
        settings = [{key: rows[at][key] for key in ("approach", *AXES)} for at in places]
        measured = list(measure_rows(subject, settings, dims, fixed))
        for reference in {rows[at]["latency"]["ratio_to"] for at in places if rows[at]["latency"]}:
            measured = time_rows(subject, settings, measured, dims, fixed, reference, budget)
        for at, (row, _) in zip(places, measured):
            new[at] = row
    return new


def _kernels_again(rows, _budget):
    """All kernels measured again, in the order of the rows."""
    return _matched(rows, kernel_rows() if rows else [], ("kernel", "target"))


def _offsets_again(rows, budget):
    """The programs of the rows measured again, in their order."""
    from .measure.offsets import offset_rows  # imports much that only this needs

    new = []
    for target in dict.fromkeys(row["target"] for row in rows):
        names = dict.fromkeys(row["workload"] for row in rows if row["target"] == target)
        new += offset_rows(list(names), target, budget)
    return _matched(rows, new, ("workload", "fused", "target"))


def _scaling_again(rows, _budget):
    """The generated program measured again at the sizes of the rows."""
    from .measure.scaling import scaling_rows

    if not rows:
        return []
    times = {row["bindings"]: len(row["samples"]["introduction"]) for row in rows}
    sizes = sorted(times)
    new = scaling_rows(rows[0]["target"], sizes, [times[size] for size in sizes])
    return _matched(rows, list(new), ("program", "approach", "planner", "bindings"))


def _cases_again(rows, _budget):
    """The cases of the rows run again; those that are gone are left out."""
    from .measure.cases import run_rows, suite

    if not rows:
        return []
    found = suite()
    there = [row for row in rows if row["case"] in found.cases]
    return _matched(rows, run_rows(found, there), CASE_KEYS)


def _matched(rows, new, keys):
    """For each row the new one that agrees in some keys, or None."""
    found = {tuple(row[key] for key in keys): row for row in new}
    return [found.get(tuple(row[key] for key in keys)) for row in rows]


def _intervals(row, **prefixes):
    """The intervals of a row by name, those that it has, under keys with a prefix."""
    return {
        name: Interval(*(row[prefix + end] for end in ("ratio", "lo", "hi")))
        for name, prefix in prefixes.items()
        if row and row.get(f"{prefix}lo") is not None
    }


def _limited(row):
    """The figures of a row of `scaling` that have a limit."""
    limits = {
        "share_of_build": "share_limit",
        "verification_share": "share_limit",
        "ratio_to_1000": "ratio_limit",
        "verification_ratio": "ratio_limit",
    }
    return {
        name: Limited(row[name], row[limit])
        for name, limit in limits.items()
        if row.get(name) is not None  # older records say nothing of the verifier
    }


KINDS = {
    "compare": Kind(
        again=_builds_again,
        keys=("workload", "approach", *AXES, "dims", "donate"),
        point=lambda row: [
            *(row[key] for key in ("workload", "dims", "donate")),
            *(row[axis] for axis in AXES),
        ],
        timed=lambda row: _intervals(row["latency"], latency=""),
    ),
    "schedules": Kind(
        again=_kernels_again,
        keys=("kernel", "target"),
        point=lambda row: None,
        timed=lambda row: _intervals(row, latency=""),
    ),
    "offsets": Kind(
        again=_offsets_again,
        keys=("workload", "fused", "target"),
        point=lambda row: row["workload"],
        timed=lambda row: _intervals(row, cost="", placement="placement_"),
    ),
    "scaling": Kind(
        again=_scaling_again,
        keys=("program", "approach", "planner", "bindings"),
        point=lambda row: None,
        timed=_limited,
        notes=(
            f"seconds are not compared: a share or ratio differs across its limit, or by more than"
            f" a factor of {FACTOR}",
        ),
    ),
    "cases": Kind(
        again=_cases_again,
        keys=CASE_KEYS,
        point=lambda row: None,
        timed=lambda row: {},
        figures=False,
    ),
}
