"""Measure into numbered records, and show one."""

import os
from pathlib import Path

from .backends import resolve_target
from .compare import compare
from .errors import InputError
from .measure.latency import SITTINGS
from .measure.provenance import provenance
from .progress import progress
from .results import store
from .results.case_table import case_legend, case_table
from .results.record import Record
from .subjects import programs
from .workloads import workloads

#: Those that differ in memory: variants of `stock` have its figures, `k0-run` those of `copy`.
MEASURED = ("copy", "shipped", "stock", "stock+inplace", "k0", "k0+", "alias:reshape", "alias")

#: Features alone and together, of the graph and of the annotation.
FEATURES = (
    *("k0+:views", "k0+:inplace", "k0+:views+inplace"),
    *("alias:views", "alias:dest", "alias:inplace"),
    *("alias:views+dest", "alias:views+inplace", "alias:dest+inplace"),
)

#: The models of the memory targets.
FIVE = ("conv_flatten", "mha", "reshape_chain", "densenet", "residual")

#: Workloads with a parameter that can be donated.
DONATED = {"kv_cache_row": ["cache"], "kv_cache_slice": ["cache"], "kv_cache_update": ["cache"]}

#: What is saved, and what aliasing does to kernels apart from that.
TIMED = ("copy", "stock", "k0", "k0+", "alias", "stock+offset-abi", "stock-noalias")

#: Timed under them: where approaches differ most, and a real model.
TIMED_PROGRAMS = (*FIVE, "qkv_split", "basic-pitch")
TIMED_DONATED = ("kv_cache_row", "kv_cache_update")

#: Seconds of timed rounds for each row of kind `offsets`.
OFFSETS_BUDGET = 1.0


def measure(folder, target="llvm", parts=None, supersedes=None):
    """Measure all workloads and fetched models, and store a record as soon as its part is done.

    Parameters
    ----------
    folder : str or path
        Made if it is not there.
    target : str or dict
    parts : list of str, optional
        Of `PARTS`; by default all.
    supersedes : str, optional
        With one part: the id of the record that the new one corrects.

    Yields
    ------
    Record
        Memory of all approaches, and of single features; latency beside `stock`; the schedules
        beside other kernels; what offsets cost in kernels; introduction and planning against the
        size of a program; how the cases end.

    Raises
    ------
    InputError, UnsupportedError
        The folder cannot be written to, or the target cannot be used.
    """
    parts = list(PARTS) if parts is None else parts
    for part in parts:
        if part not in PARTS:
            raise InputError(f"unknown part {part!r}: use {', '.join(PARTS)}")
    if supersedes is not None and len(parts) != 1:
        raise InputError(f"{supersedes} is superseded by one record: name one part")
    _check_folder(Path(folder))
    if supersedes is not None:
        store.load(supersedes, folder)
    if "cases" in parts:
        _check_checkout()
    for part in parts:
        record = PARTS[part](target)
        if record.rows:
            record.supersedes = supersedes
            yield store.add(record, folder)


def _memory(target):
    return _together(
        compare(programs(), list(MEASURED), target=target),
        compare(programs(), _fusible(MEASURED), target=target, fused=[False, "moves-apart"]),
    )


def _features(target):
    """What each feature does by itself, each output policy, where it is said, and donation."""
    arena = {"planner": "arena", "target": target}
    apart = {**arena, "fused": [True, "moves-apart"]}
    whole = ["k0+", "alias"]
    return _together(
        compare(workloads(), list(FEATURES), **apart),
        compare(list(FIVE), whole, outputs=["share", "view", "alias_params"], **apart),
        compare(workloads(), ["k0", *whole], placement=["early", "early-fenced"], **arena),
        *(
            compare(name, ["copy", "stock", "k0", *whole], donate=donated, **arena)
            for name, donated in DONATED.items()
        ),
    )


def _latency(target):
    # `token`, and for `stock` too: ratios are at equal planners.
    timed = {"latency_to": "stock", "target": target, "planner": "token"}
    fetched = [name for name in TIMED_PROGRAMS if name in programs()]
    return _together(
        compare(fetched, list(TIMED), **timed),
        *(compare(name, list(TIMED), donate=DONATED[name], **timed) for name in TIMED_DONATED),
    )


def _fusible(names):
    """The approaches that can be run without fusion."""
    return [name for name in names if name != "shipped"]


def _together(first, *others):
    """One record of the rows of several."""
    for other in others:
        first.rows += other.rows
        first.maps += other.maps
        first.provenance["references"] |= other.provenance["references"]
    return first


def _schedules(target):
    rows = kernel_rows() if _is_llvm(target) else []
    return Record(kind="schedules", provenance=provenance(target=target), rows=rows)


def _offsets(target):
    from .measure.offsets import offset_rows  # imports much that only this needs

    facts = provenance(target=target)
    facts["latency"] = {"budget": OFFSETS_BUDGET, "sittings": SITTINGS}
    rows = list(offset_rows(workloads(), target, OFFSETS_BUDGET)) if _is_llvm(target) else []
    return Record(kind="offsets", provenance=facts, rows=rows)


def _scaling(target):
    from .measure.scaling import scaling_rows

    rows = list(scaling_rows(target)) if _is_llvm(target) else []
    return Record(kind="scaling", provenance=provenance(target=target), rows=rows)


def _cases(target):
    from .measure.cases import case_rows, suite

    found = suite()
    facts = provenance(target=target)
    facts["cases"] = {
        name: {"file": path.name, "note": case.note, "options": case.options}
        for name, (path, case) in found.cases.items()
    }
    rows = case_rows(found, target) if _is_llvm(target) else []
    return Record(kind="cases", provenance=facts, rows=rows)


def _check_checkout():
    """Refuse the cases where there are none, before an hour is spent on other parts."""
    from .measure.cases import files_of

    files_of()


def _is_llvm(target):
    return resolve_target(target).kind.name == "llvm"


#: What `measure` makes a record of, in this order.
PARTS = {
    "memory": _memory,
    "features": _features,
    "latency": _latency,
    "schedules": _schedules,
    "offsets": _offsets,
    "scaling": _scaling,
    "cases": _cases,
}


def kernel_rows():
    """Our CPU kernels beside others, as rows of kind `schedules`."""
    from .measure.kernels import schedule_rows  # imports much that only this needs

    rows = []
    progress("kernels")
    for row in schedule_rows():
        rows.append(row)
        progress(f"kernels: {row['kernel']}")
    progress("")
    return rows


def complaint(record):
    """What to say of a record where rows are wrong that should not be.

    Rows that did not run to their end have no result that could be wrong. Rows of `cases` may end
    in any way that `tests/known_faults.py` has a reason for.

    Parameters
    ----------
    record : Record

    Returns
    -------
    str or None
    """
    if record.kind == "cases":
        bad, what = [row for row in record.rows if _unexplained(row)], "no reason for how it ended"
    else:
        bad, what = [row for row in record.rows if _wrong(row)], "a wrong result"
    return f"{len(bad)} {'row has' if len(bad) == 1 else 'rows have'} {what}" if bad else None


def _wrong(row):
    return row.get("ran", True) and row.get("correct") is False


def _unexplained(row):
    return row["status"] != "right" and row["reason"] is None


def described(record):
    """A record as text: what it is, what it was measured with, and its table.

    Parameters
    ----------
    record : Record

    Returns
    -------
    str
    """
    parts = [f"{_headline(record)}\n{made_with(record.provenance)}"]
    if record.kind == "cases":
        parts += [table_text(case_table(record)), case_legend(record)]
    else:
        parts.append(table_text(record.table()))
    return "\n\n".join(parts)


def made_with(facts):
    """What matters of a record's provenance, in three lines."""
    commit = (facts.get("git_commit") or "unknown")[:12]
    lines = [
        f"TVM {facts.get('tvm')}, tvm-ffi {facts.get('tvm_ffi')}, commit {commit}"
        f"{' with changes' if facts.get('git_dirty') else ''}, {facts.get('date')}",
        f"{facts.get('cpu')}, {facts.get('threads')} threads"
        f"{', ' + facts['gpu'] if facts.get('gpu') else ''}, target {facts.get('target')}",
        f"command: {facts.get('command')}",
    ]
    return "\n".join(lines)


def table_text(table):
    """A data frame as text: floating-point numbers with three digits, `-` where there is none."""
    table = table.astype(object)
    table = table.where(table.notna(), "-")
    return table.map(
        lambda value: f"{value:.3f}" if isinstance(value, float) else str(value)
    ).to_string(index=False)


def _headline(record):
    replaced = f", supersedes {record.supersedes}" if record.supersedes else ""
    return f"{record.id}, {record.kind}, {len(record.rows)} rows{replaced}"


def _check_folder(folder):
    """Refuse a place for records before an hour is spent on them."""
    place = folder if folder.exists() else folder.absolute().parent
    if not (place.is_dir() and os.access(place, os.W_OK)):
        raise InputError(
            f"cannot write records to {folder}: it is not a folder, or not writable: name another"
        )
    store.ids(folder)  # reads the sums, which a new record is added to
