"""Approaches side by side on the same programs."""

import itertools
import sys
from dataclasses import asdict, dataclass, field, replace

import tvm
from tvm import relax

from . import isolate
from .agreement import agrees
from .approaches import approaches as approach_names
from .build import build, check_options
from .dims import check_dims, require_dims, symbolic_dims
from .errors import AliasingError, InputError, UnsupportedError
from .measure.memory_map import Lifetime, memory_map
from .measure.provenance import provenance
from .measure.reference import unplanned_result
from .models import Model, load_model, model, models, onnx_reference
from .models.inputs import seeded_inputs
from .models.quiet import silenced
from .results.record import Record
from .values import check_arguments
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
        lists. `params` goes with an IRModule.

    Returns
    -------
    Record
        One row for each program, approach and combination of options. A row whose result is wrong,
        that raised or whose process died has no memory figures; its label says which.

    Raises
    ------
    InputError, UnsupportedError
    """
    params = build_options.pop("params", None)
    settings = _settings(approaches, build_options)
    subjects = _named_apart(
        _subject(program, inputs, params, build_options) for program in _listed(mods_or_workloads)
    )
    if not subjects or not settings:
        raise InputError("nothing to compare: name a program, an approach and a value of each axis")
    rows, maps = [], []
    for subject in subjects:
        for row, lifetimes in _measured(subject, settings, build_options):
            rows.append({**row, "workload": subject.name})
            maps.append(lifetimes)
    facts = provenance()
    facts["references"] = {subject.name: subject.reference for subject in subjects}
    return Record(kind="compare", provenance=facts, rows=rows, maps=maps)


def row_results(where, settings, dims, fixed):
    """Yield `(row, memory map)` for each setting; runs in the process of its own."""
    subject = _found(where, dims, fixed.get("entry", "main"))
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
    except AliasingError:
        raise
    except Exception as error:  # whatever TVM raises costs this row only
        return {**row, "label": f"raised: {isolate.told(error)}"}, None
    row["ran"] = True
    row["correct"] = agrees(result, subject.expected)
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
        with silenced():  # TVM warns of targets that it cannot detect
            check_options(**setting, **fixed)
        settings.append(setting)
    return settings


def _subject(program, inputs, params, build_options):
    dims, entry = build_options.get("dims") or {}, build_options.get("entry", "main")
    if isinstance(program, tvm.IRModule):
        function, params = _entry_function(program, entry), params or {}
        if inputs is None:
            require_dims("the module", symbolic_dims(function), dims)
            inputs = seeded_inputs(function, params, dims)
        program = Model(name="module", mod=program, params=params, inputs=inputs, dims=dims)
    elif inputs is not None or params is not None:
        raise InputError("inputs and params go with an IRModule: others have their own")
    if isinstance(program, Workload):
        return _from_workload(program, dims)
    if isinstance(program, Model):
        return _from_model(program, entry)
    return _found(str(program), dims, entry)


def _named_apart(subjects):
    """The subjects as a list, those of one name numbered from the second on."""
    found, names = [], set()
    for subject in subjects:
        tries = itertools.chain(
            [subject.name], (f"{subject.name} ({i})" for i in itertools.count(2))
        )
        name = next(name for name in tries if name not in names)
        names.add(name)
        found.append(replace(subject, name=name))
    return found


def _entry_function(mod, entry):
    for name, function in mod.functions_items():
        if name.name_hint == entry and isinstance(function, relax.Function):
            return function
    raise InputError(f"the module has no Relax function {entry!r}: name another with entry")


def _found(where, dims, entry):
    """The program of a name or path."""
    if where in workloads():
        return _from_workload(workload(where), dims, where)
    known = {entry.name: entry.path for entry in models()}
    if where in known:
        return _from_model(model(where), entry, where, path=known[where])
    if "/" not in where and "." not in where:
        names = ", ".join([*workloads(), *known])
        raise InputError(f"no workload or model {where!r}: use a file, or one of {names}")
    return _from_model(load_model(where, dims), entry, where, path=where)


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


def _from_model(found, entry, where=None, path=None):
    params = _entry_function(found.mod, entry).params
    check_arguments([p for p in params if p.name not in found.params], found.inputs, found.dims)
    if found.expected is not None:
        expected, reference = found.expected, "given with the program"
    elif path is not None and str(path).endswith(".onnx"):
        expected, reference = onnx_reference(path, found.inputs), "ONNX Runtime"
    else:
        expected = _reference(found, entry)
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


def _reference(found, entry):
    """The result of a program that comes without one."""
    try:
        with silenced():
            return unplanned_result(found.mod, found.params, found.inputs, entry)
    except Exception as error:  # whatever TVM raises
        raise UnsupportedError(
            f"TVM cannot run {found.name}, not even unfused and unplanned: {isolate.told(error)}:"
            " replace the operator or the function that this names"
        ) from error


def _listed(value):
    return list(value) if isinstance(value, list | tuple) else [value]


def _progress(text):
    """Show on a terminal what is being done; the line is overwritten by the next."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
