"""Approaches side by side on the same programs."""

import itertools
import sys
from dataclasses import asdict

import tvm

from . import isolate
from .agreement import agrees
from .approaches import approaches as approach_names
from .build import build, check_options
from .errors import AliasingError, InputError, UnsupportedError
from .measure.memory_map import Lifetime, memory_map
from .measure.provenance import provenance
from .models.quiet import silenced
from .results.record import Record
from .subjects import find_subject, named_apart, subject_of

#: Options that may be lists: every combination is run.
AXES = ("planner", "placement", "fused", "exec_mode", "outputs", "target")


def compare(mods_or_workloads, approaches=None, inputs=None, **build_options):
    """Build and measure programs under several approaches.

    A program given by name or path runs in a process of its own, so that a crash costs one row.

    Parameters
    ----------
    mods_or_workloads : IRModule, Workload, Model, str or path, or a list of them
        A string is the name of a workload or of a fetched model, or the path of a model file.
    approaches : str or list of str, optional
        By default all.
    inputs : tuple of ndarray, optional
        For an IRModule; by default seeded random arrays.
    **build_options
        As for `build`; `planner`, `placement`, `fused`, `exec_mode`, `outputs` and `target` may be
        lists. `params` goes with an IRModule.

    Returns
    -------
    Record
        One row for each program, approach and combination of options. A row that TVM refuses to
        build, whose result is wrong, that raised or whose process died has no memory figures; its
        label says which.

    Raises
    ------
    InputError, UnsupportedError
        Something cannot be used; or TVM refuses to build a program under every approach.
    """
    params = build_options.pop("params", None)
    settings = _settings(approaches, build_options)
    subjects = named_apart(
        subject_of(program, inputs, params, build_options) for program in _listed(mods_or_workloads)
    )
    if not subjects or not settings:
        raise InputError("nothing to compare: name a program, an approach and a value of each axis")
    rows, maps = [], []
    for subject in subjects:
        measured = list(_measured(subject, settings, build_options))
        labels = [row["label"] for row, _ in measured]
        if all(label.startswith("refused: ") for label in labels):
            raise UnsupportedError(f"{subject.name}: {labels[0].removeprefix('refused: ')}")
        for row, lifetimes in measured:
            rows.append({**row, "workload": subject.name})
            maps.append(lifetimes)
    targets = {row["target"] for row in rows}
    facts = provenance(target=targets.pop() if len(targets) == 1 else None)
    facts["references"] = {subject.name: subject.reference for subject in subjects}
    return Record(kind="compare", provenance=facts, rows=rows, maps=maps)


def row_results(where, settings, dims, fixed):
    """Yield `(row, memory map)` for each setting; runs in the process of its own."""
    subject = find_subject(where, dims, fixed.get("entry", "main"))
    for setting in settings:
        yield _row(subject, setting, fixed)


def _measured(subject, settings, build_options):
    """`(row, memory map)` for each setting, in a process of its own where that can be."""
    fixed = {
        name: value for name, value in build_options.items() if name not in AXES and name != "dims"
    }
    pending = list(settings)
    while pending:
        _progress(f"{subject.name}: {pending[0]['approach']}")
        if subject.where is None:
            yield _row(subject, pending.pop(0), fixed)
            continue
        request = {
            "where": subject.where,
            "settings": pending,
            "dims": build_options.get("dims"),
            "fixed": fixed,
        }
        try:
            for row, lifetimes in isolate.results_of("rows", request):
                pending = pending[1:]
                yield row, lifetimes and [Lifetime(*fields) for fields in lifetimes]
                if pending:
                    _progress(f"{subject.name}: {pending[0]['approach']}")
        except isolate.Died as death:
            if pending:  # else all is measured, and the process died as it ended
                yield _blank_row(subject, pending[0], fixed, f"died: {death}"), None
                pending = pending[1:]
    _progress("")


def _row(subject, setting, fixed):
    row = _blank_row(subject, setting, fixed, "run on a CPU")
    try:
        built = build(subject.mod, **setting, **fixed, params=subject.params, dims=subject.dims)
        result = built.run(*subject.inputs)
    except UnsupportedError as error:  # the options were checked before: it is TVM that refuses
        return {**row, "label": f"refused: {error}"}, None
    except AliasingError:
        raise
    except Exception as error:  # whatever TVM raises costs this row only
        return {**row, "label": f"raised: {isolate.told(error)}"}, None
    row["ran"] = True
    row["correct"] = agrees(result, subject.expected)
    if not row["correct"]:
        return row, None
    try:
        memory = asdict(built.memory(*subject.inputs))
        return {**row, "memory": memory}, memory_map(built, subject.inputs)
    except UnsupportedError as error:  # a size that depends on data
        return {**row, "label": f"not measured: {error}"}, None


def _blank_row(subject, setting, fixed, label):
    options = check_options(**setting, **fixed, dims=subject.dims)
    return {
        "workload": subject.name,
        "approach": setting["approach"],
        "planner": options.planner,
        "placement": options.placement,
        "fused": options.fused,
        "exec_mode": setting.get("exec_mode", "bytecode"),
        "outputs": options.outputs,
        "donate": list(options.donate),
        "dims": subject.dims,
        "threads": tvm.runtime.num_threads(),
        "target": str(options.target),
        "label": label,
        "ran": False,
        "correct": False,
        "memory": None,
        "latency": None,
    }


def _settings(approaches, build_options):
    """Every combination of approach and axes that makes sense, checked."""
    fixed = {name: value for name, value in build_options.items() if name not in AXES}
    axes = {name: _listed(build_options[name]) for name in AXES if name in build_options}
    names = approach_names() if approaches is None else _listed(approaches)
    settings = []
    for name, values in itertools.product(names, itertools.product(*axes.values())):
        setting = {"approach": name, **dict(zip(axes, values))}
        if approaches is None and name == "shipped" and setting.get("fused", True) is not True:
            continue
        with silenced():  # TVM warns of targets that it cannot detect
            check_options(**setting, **fixed)
        settings.append(setting)
    return settings


def _listed(value):
    return list(value) if isinstance(value, list | tuple) else [value]


def _progress(text):
    """Show on a terminal what is being done; the line is overwritten by the next."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
