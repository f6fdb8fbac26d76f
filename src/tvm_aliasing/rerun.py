"""Measure the rows of a record again, and say what differs."""

from .compare import LATENCY_BUDGET
from .errors import InputError
from .measure.provenance import provenance
from .records import made_with, table_text
from .rerun_kinds import KINDS

#: Figures that the number of worker threads is a factor of.
OF_THREADS = ("peak", "workspace", "live_bound")
#: What decides whatever the machine.
EXACT = ("ran", "correct", "kernels", "rewritten", "status")


def rerun(record):
    """Measure a record again with the same settings.

    A row differs where its result, its kernels or a figure of its memory does, or where its latency
    has an interval without a point in common with the recorded one, twice in a row: of a hundred
    rows that are the same, one may miss once by chance. `results/README.md` says what is compared
    of `scaling`, which has no intervals.

    Parameters
    ----------
    record : Record
        Of one of `KINDS`; its programs are workloads and fetched models.

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
    kind = KINDS.get(record.kind)
    if kind is None:
        raise InputError(
            f"{record.id} is of kind {record.kind}, which is not measured again: name a record of"
            f" kind {' or '.join(KINDS)}"
        )
    then, now = record.provenance, provenance(target=record.provenance["target"])
    decides = all(then[fact] == now[fact] for fact in ("cpu", "threads"))
    rows = _measured(kind, record, decides)
    found = [
        _differences(*pair) + (_apart(kind, *pair) if decides else [])
        for pair in zip(record.rows, rows)
    ]
    notes = [*kind.notes, *_versions(then, now)]
    if kind.figures:
        notes += _machines(then, now, decides)
    names = [_name(record, kind, row) for row in record.rows]
    table = [table_text(_table(kind, record.rows, rows, names, found)), ""] if kind.figures else []
    text = [
        f"{record.id} again, with",
        made_with(now),
        "",
        *table,
        *notes,
        *(f"{name} differs: {'; '.join(said)}" for name, said in zip(names, found) if said),
        f"{sum(map(bool, found))} of {len(rows)} rows differ from {record.id}",
    ]
    return not any(found), "\n".join(text)


def _measured(kind, record, decides):
    """The rows again, and once more at points where nothing but what was timed differs."""
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


def _differences(old, new):
    """What differs in a row apart from what was timed, as texts."""
    if new is None:
        return ["it is not there any more"]
    found = [
        f"{key} {old[key]} -> {new[key]}" for key in EXACT if key in old and old[key] != new[key]
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
    """What to say where what was timed is not what was recorded."""
    after = kind.timed(new) if new else {}
    return [
        f"{name} {before} -> {after[name]}" if name in after else f"no {name} now: {_why(new)}"
        for name, before in kind.timed(old).items()
        if new and (name not in after or not before.alike(after[name]))
    ]


def _why(row):
    """Why there is no time in a row."""
    return row.get("label", "the result is wrong, or there is nothing to time")


def _table(kind, old, new, names, found):
    import pandas as pd  # takes a third of a second

    timed = list(dict.fromkeys(name for row in old for name in kind.timed(row)))
    lines = []
    for before, after, name, said in zip(old, new, names, found):
        line = {"row": name}
        for figure in timed:
            of = f" {figure}" if len(timed) > 1 else ""
            line[f"recorded{of}"] = kind.timed(before).get(figure, "-")
            line[f"again{of}"] = kind.timed(after).get(figure, "-") if after else "-"
        lines.append({**line, "same": "no" if said else "yes"})
    return pd.DataFrame(lines)


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


def _versions(then, now):
    """The versions in which the two differ."""
    return [
        f"{fact}: {then[fact]} in the record, {now[fact]} here"
        for fact in ("tvm", "tvm_ffi")
        if then[fact] != now[fact]
    ]


def _machines(then, now, decides):
    """What the reader has to know of the two machines."""
    notes = []
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
