"""Measure the rows of a record again, and say what differs."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from .compare import LATENCY_BUDGET, measure_rows, time_rows
from .errors import InputError
from .measure.latency import overlap
from .measure.provenance import provenance
from .records import kernel_rows, made_with, table_text
from .settings import AXES
from .subjects import find_subject

#: Figures that the number of worker threads is a factor of.
OF_THREADS = ("peak", "workspace", "live_bound")


@dataclass(frozen=True)
class _Kind:
    """How rows of a kind are measured again and compared.

    Attributes
    ----------
    again : callable
        From rows and the latency budget to the same rows measured again; None for one that is gone.
    keys : tuple of str
        What tells a row apart.
    point : callable
        From a row to what is timed in one go with it.
    interval : callable
        From a row to the dictionary with `lo` and `hi`, or None.
    """

    again: Callable
    keys: tuple
    point: Callable
    interval: Callable


def rerun(record):
    """Measure a record again with the same settings.

    A row differs where its result or a figure of its memory does, or where its latency has an
    interval without a point in common with the recorded one, twice in a row: of a hundred rows
    that are the same, one may miss once by chance.

    Parameters
    ----------
    record : Record
        Of kind `compare` or `schedules`; its programs are workloads and fetched models.

    Returns
    -------
    bool
        Whether all is the same.
    str
        The rows, recorded and again, and what differs.

    Raises
    ------
    InputError, UnsupportedError
        The record is of another kind, or a program or an option of it is not there any more.
    """
    kind = _KINDS.get(record.kind)
    if kind is None:
        raise InputError(
            f"{record.id} is of kind {record.kind}, which is not measured again: name a record of"
            f" kind {' or '.join(_KINDS)}"
        )
    then, now = record.provenance, provenance(target=record.provenance["target"])
    decides = all(then[fact] == now[fact] for fact in ("cpu", "threads"))
    rows = _measured(kind, record, decides)
    found = [
        _differences(*pair) + (_apart(kind, *pair) if decides else [])
        for pair in zip(record.rows, rows)
    ]
    notes = _notes(then, now, decides)
    names = [_name(record, kind, row) for row in record.rows]
    text = [
        f"{record.id} again, with",
        made_with(now),
        "",
        table_text(_table(kind, record.rows, rows, names, found)),
        "",
        *notes,
        *(f"{name} differs: {'; '.join(said)}" for name, said in zip(names, found) if said),
        f"{sum(map(bool, found))} of {len(rows)} rows differ from {record.id}",
    ]
    return not any(found), "\n".join(text)


def _measured(kind, record, decides):
    """The rows again, and once more at points where nothing but an interval differs."""
    budget = record.provenance.get("latency", {}).get("budget", LATENCY_BUDGET)
    old = record.rows
    new = kind.again(old, budget)
    doubtful = {
        at
        for at, pair in enumerate(zip(old, new))
        if decides and not _differences(*pair) and _apart(kind, *pair)
    }
    points = [kind.point(old[at]) for at in doubtful]
    within = [at for at, row in enumerate(old) if kind.point(row) in points]
    for at, row in zip(within, kind.again([old[at] for at in within], budget)):
        if at in doubtful:
            new[at] = row
    return new


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
    if not rows:
        return []
    new = {(row["kernel"], row["target"]): row for row in kernel_rows()}
    return [new.get((row["kernel"], row["target"])) for row in rows]


_KINDS = {
    "compare": _Kind(
        again=_builds_again,
        keys=("workload", "approach", *AXES, "dims", "donate"),
        point=lambda row: [row["workload"], row["dims"], *(row[axis] for axis in AXES)],
        interval=lambda row: row["latency"],
    ),
    "schedules": _Kind(
        again=_kernels_again,
        keys=("kernel", "target"),
        point=lambda row: None,
        interval=lambda row: row if row.get("lo") is not None else None,
    ),
}


def _differences(old, new):
    """What differs in a row apart from its interval, as texts."""
    if new is None:
        return []
    found = [
        f"{key} {old[key]} -> {new[key]}"
        for key in ("ran", "correct")
        if key in old and old[key] != new[key]
    ]
    before, after = old.get("memory"), new.get("memory")
    if before is None or after is None:
        return found or ([] if before is after else [f"memory cannot be compared: {new['label']}"])
    same_threads = old["threads"] == new["threads"]
    return found + [
        f"{name} {before[name]} -> {after.get(name)}"
        for name in before
        if before[name] != after.get(name) and (same_threads or name not in OF_THREADS)
    ]


def _apart(kind, old, new):
    """What to say where an interval has no point in common with the recorded one."""
    before, after = kind.interval(old), new and kind.interval(new)
    if before is None:
        return []
    if after is None:
        return [f"no latency now: {new['label']}" if new else "it is not there any more"]
    return [] if overlap(before, after) else [f"latency {_span(before)} -> {_span(after)}"]


def _table(kind, old, new, names, found):
    import pandas as pd  # takes a third of a second

    lines = []
    for before, after, name, said in zip(old, new, names, found):
        line = {"row": name}
        if any(map(kind.interval, old)):
            line["recorded"] = _span(kind.interval(before))
            line["again"] = _span(after and kind.interval(after))
        lines.append({**line, "same": "no" if said else "yes"})
    return pd.DataFrame(lines)


def _span(interval):
    if interval is None:
        return "-"
    return f"{interval['ratio']:.3f} [{interval['lo']:.3f}, {interval['hi']:.3f}]"


def _name(record, kind, row):
    """What tells a row apart: its name first, then the axes in which the rows differ."""
    first, *others = kind.keys
    told = [str(row[first])]
    for key in others:
        if key == "approach":
            told.append(row[key])
        elif record.varies(key):
            told.append(f"{key}={row[key]}")
    return " ".join(told)


def _notes(then, now, decides):
    """What the reader has to know of the two machines."""
    notes = [
        f"{fact}: {then[fact]} in the record, {now[fact]} here"
        for fact in ("tvm", "tvm_ffi")
        if then[fact] != now[fact]
    ]
    if then["threads"] != now["threads"]:
        notes.append(
            f"{', '.join(OF_THREADS)} depend on the number of threads and are not compared: it was"
            f" {then['threads']} and is {now['threads']}: set TVM_NUM_THREADS={then['threads']}"
        )
    if not decides:
        notes.append(
            f"latency does not decide: it was measured on {then['cpu']} with {then['threads']}"
            f" threads, and now on {now['cpu']} with {now['threads']}"
        )
    return notes
