"""Approaches side by side on the same programs."""

import itertools
import sys
from dataclasses import asdict, dataclass, field

import tvm

from . import isolate
from .agreement import agrees
from .approaches import approaches as approach_names
from .build import build, check_options
from .dims import check_dims, require_dims, symbolic_dims
from .errors import InputError
from .measure.memory_map import Lifetime, memory_map
from .measure.provenance import provenance
from .measure.reference import unplanned_result
from .models import Model, load_model, model, models
from .models import onnx_reference
from .models.inputs import seeded_inputs
from .results.record import Record
from .workloads import Workload, workload, workloads

#: Options that may be lists: every combination is run.
AXES = ("planner", "placement", "fused", "exec_mode", "outputs", "target")


@dataclass(frozen=True)
class _Subject:
    """A program to compare approaches on; `where` finds it again in another process."""

    name: str
    mod: tvm.IRModule
    params: dict
    inputs: tuple
    expected: object
    reference: str
    dims: dict = field(default_factory=dict)
    where: str | None = None


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
        lists.

    Returns
    -------
    Record
        One row for each program, approach and combination of options. A row whose result is wrong
        or whose process died has no memory figures.

    Raises
    ------
    InputError, UnsupportedError
    """
    dims = build_options.get("dims")
    subjects = [
        _subject(program, inputs, dims, build_options.get("entry", "main"))
        for program in _listed(mods_or_workloads)
    ]
    settings = _settings(approaches, build_options)
    rows, maps = [], []
    for subject in subjects:
        for row, lifetimes in _measured(subject, settings, build_options):
            rows.append(row)
            maps.append(lifetimes)
    facts = provenance()
    facts["references"] = {subject.name: subject.reference for subject in subjects}
    return Record(kind="compare", provenance=facts, rows=rows, maps=maps)


def row_results(where, settings, dims, fixed):
    """Yield `(row, memory map)` for each setting; runs in the process of its own."""
    subject = _found(where, dims)
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
            yield _blank_row(subject, pending[0], fixed, f"died: {death}"), None
            pending = pending[1:]
    _progress("")


def _row(subject, setting, fixed):
    built = build(subject.mod, **setting, **fixed, params=subject.params, dims=subject.dims)
    row = _blank_row(subject, setting, fixed, "run on a CPU")
    row["ran"] = True
    row["correct"] = agrees(built.run(*subject.inputs), subject.expected)
    if not row["correct"]:
        return row, None
    row["memory"] = asdict(built.memory(*subject.inputs))
    return row, memory_map(built, subject.inputs)


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
        "threads": tvm.get_global_func("runtime.NumThreads")(),
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
        check_options(**setting, **fixed)
        settings.append(setting)
    return settings


def _subject(program, inputs, dims, entry):
    if isinstance(program, tvm.IRModule):
        if inputs is None:
            require_dims("the module", symbolic_dims(program[entry]), dims or {})
            inputs = seeded_inputs(program[entry], {}, dims or {})
        program = Model(name="module", mod=program, params={}, inputs=inputs, dims=dims or {})
    elif inputs is not None:
        raise InputError("inputs goes with an IRModule: a workload or a model has its own")
    if isinstance(program, Workload):
        return _from_workload(program, dims)
    if isinstance(program, Model):
        return _from_model(program)
    return _found(str(program), dims)


def _found(where, dims):
    """The program of a name or path."""
    if where in workloads():
        return _from_workload(workload(where), dims, where)
    known = {entry.name: entry.path for entry in models()}
    if where in known:
        return _from_model(model(where), where, path=known[where])
    if "/" not in where and "." not in where:
        names = ", ".join([*workloads(), *known])
        raise InputError(f"no workload or model {where!r}: use a file, or one of {names}")
    return _from_model(load_model(where, dims), where, path=where)


def _from_workload(found, dims, where=None):
    check_dims(found.name, symbolic_dims(found.mod["main"]), dims or {})
    return _Subject(
        name=found.name,
        mod=found.mod,
        params=found.params,
        inputs=found.inputs,
        expected=found.expected,
        reference="NumPy",
        dims={**found.dims, **(dims or {})},
        where=where,
    )


def _from_model(found, where=None, path=None):
    if found.expected is not None:
        expected, reference = found.expected, "given with the program"
    elif path is not None and str(path).endswith(".onnx"):
        expected, reference = onnx_reference(path, found.inputs), "ONNX Runtime"
    else:
        expected = unplanned_result(found.mod, found.params, found.inputs)
        reference = "TVM, nothing fused, no storage used twice"
    return _Subject(
        name=found.name,
        mod=found.mod,
        params=found.params,
        inputs=found.inputs,
        expected=expected,
        reference=reference,
        dims=found.dims,
        where=where,
    )


def _listed(value):
    return list(value) if isinstance(value, list | tuple) else [value]


def _progress(text):
    """Show on a terminal what is being done; the line is overwritten by the next."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
