"""Approaches side by side on the same programs."""

from dataclasses import asdict

import tvm

from . import isolate
from .agreement import agrees
from .build import build, check_options
from .errors import AliasingError, InputError, UnsupportedError, VerifyError
from .latencies import NOT_TIMED, ROUNDS, latencies
from .measure.latency import SITTINGS
from .measure.memory_map import Lifetime, memory_map
from .measure.provenance import provenance
from .progress import progress
from .results.record import Record
from .settings import AXES, check_timed, listed, settings_of
from .subjects import find_subject, named_apart, subject_of

#: Seconds of timed rounds at each point of all axes.
LATENCY_BUDGET = 6.0

_give_pools_back = tvm.get_global_func("vm.builtin.memory_manager.clear")


def compare(
    mods_or_workloads,
    approaches=None,
    inputs=None,
    *,
    latency_to=None,
    latency_budget=LATENCY_BUDGET,
    **build_options,
):
    """Build and measure programs under several approaches.

    A program given by name or path runs in a process of its own, so that a crash costs one row.

    Parameters
    ----------
    mods_or_workloads : IRModule, Workload, Model, str or path, or a list of them
        A string is the name of a workload or of a fetched model, or the path of a model file.
    approaches : str or list of str, optional
        By default all of `ta.approaches()`, but for those that do not take the options given.
    inputs : tuple of ndarray, optional
        For an IRModule; by default seeded random arrays.
    latency_to : str, optional
        The approach whose seconds the others' are divided by, at each point of all axes; by default
        nothing is timed. `shipped` and `stock+inplace` are not timed: their kernels are others.
    latency_budget : float
        Seconds of timed rounds at each point. Builds, and the fewest rounds of a slow program, may
        take longer.
    **build_options
        As for `build`; `planner`, `placement`, `fused`, `exec_mode`, `outputs` and `target` may be
        lists. `params` goes with an IRModule. Without a planner each approach is run under `token`
        and `arena`, `stock` under `tvm` too, and `shipped` and the variants of `stock` under `tvm`
        only.

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
    settings = settings_of(approaches, build_options)
    dims = build_options.get("dims")
    fixed = {name: value for name, value in build_options.items() if name not in (*AXES, "dims")}
    if latency_to is not None:
        check_timed(settings, fixed, latency_to, latency_budget)
    subjects = named_apart(
        subject_of(program, inputs, params, build_options) for program in listed(mods_or_workloads)
    )
    if not subjects or not settings:
        raise InputError("nothing to compare: name a program, an approach and a value of each axis")
    rows, maps = [], []
    for subject in subjects:
        measured = list(measure_rows(subject, settings, dims, fixed))
        labels = [row["label"] for row, _ in measured]
        if all(label.startswith("refused: ") for label in labels):
            raise UnsupportedError(f"{subject.name}: {labels[0].removeprefix('refused: ')}")
        if latency_to is not None:
            measured = time_rows(
                subject, settings, measured, dims, fixed, latency_to, latency_budget
            )
        for row, lifetimes in measured:
            rows.append({**row, "workload": subject.name})
            maps.append(lifetimes)
    targets = {row["target"] for row in rows}
    facts = provenance(target=targets.pop() if len(targets) == 1 else None)
    facts["references"] = {subject.name: subject.reference for subject in subjects}
    if latency_to is not None:
        facts["latency"] = {"budget": latency_budget, "sittings": SITTINGS, "rounds": list(ROUNDS)}
    return Record(kind="compare", provenance=facts, rows=rows, maps=maps)


def row_results(where, settings, dims, fixed):
    """Yield `(row, memory map)` for each setting; runs in the process of its own."""
    subject = find_subject(where, dims, fixed.get("entry", "main"))
    for setting in settings:
        yield _row(subject, setting, fixed)


def measure_rows(subject, settings, dims, fixed):
    """Yield `(row, memory map)` for each setting, in a process of its own where that can be.

    Parameters
    ----------
    subject : Subject
    settings : list of dict
        What `build` is called with, the same in no two.
    dims : dict of str to int or None
        What the subject was found with.
    fixed : dict
        What `build` is called with for all.
    """
    pending = list(settings)
    while pending:
        progress(f"{subject.name}: {pending[0]['approach']}")
        if subject.where is None:
            yield _row(subject, pending.pop(0), fixed)
            continue
        request = {
            "where": subject.where,
            "settings": pending,
            "dims": dims,
            "fixed": fixed,
        }
        try:
            for row, lifetimes in isolate.results_of("rows", request, environment=isolate.FILLED):
                pending = pending[1:]
                yield row, lifetimes and [Lifetime(*fields) for fields in lifetimes]
                if pending:
                    progress(f"{subject.name}: {pending[0]['approach']}")
        except isolate.Died as death:
            if pending:  # else all is measured, and the process died as it ended
                yield _blank_row(subject, pending[0], fixed, f"died: {death}"), None
                pending = pending[1:]
    progress("")


def time_rows(subject, settings, measured, dims, fixed, reference, budget):
    """Fill in the latency of right rows.

    Parameters
    ----------
    subject, settings, dims, fixed
        As for `measure_rows`.
    measured : list of (dict, memory map)
        What that yielded.
    reference : str
        The approach whose seconds the others' are divided by.
    budget : float
        Seconds of timed rounds at each point of all axes.

    Returns
    -------
    list of (dict, memory map)
        A row that could be measured and not timed has a label that says why.
    """
    points = {}
    for at, (setting, (row, _)) in enumerate(zip(settings, measured)):
        if row["correct"] and row["approach"] not in NOT_TIMED:
            point = tuple(row[axis] for axis in AXES)
            points.setdefault(point, {})[row["approach"]] = at, setting
    points = [point for point in points.values() if reference in point]
    timed = list(measured)
    found = latencies(
        subject,
        [[setting for _, setting in point.values()] for point in points],
        dims,
        fixed,
        reference,
        budget,
        progress,
    )
    for point, by_name in zip(points, found):
        for name, (at, _) in point.items():
            row, lifetimes = measured[at]
            key = "label" if isinstance(by_name[name], str) else "latency"
            timed[at] = {**row, key: by_name[name]}, lifetimes
    progress("")
    return timed


def _row(subject, setting, fixed):
    row = _blank_row(subject, setting, fixed, "run on a CPU")
    _give_pools_back()  # the row before may have left its own result there
    try:
        built = build(subject.mod, **setting, **fixed, params=subject.params, dims=subject.dims)
        result = built.run(*subject.inputs)
    except (UnsupportedError, VerifyError) as error:  # the options were checked before
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
