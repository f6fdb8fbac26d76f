"""What it costs that kernels take tensors at offsets, where the tensors lie at equal addresses."""

import numpy as np
import tvm
from tvm import tirx

from .. import isolate
from ..agreement import agrees
from ..backends import backend_of
from ..build import build, check_options
from ..passes.accept_offsets import AcceptOffsets
from ..progress import progress
from ..subjects import find_subject
from ..values import to_arrays, to_device
from .kernel_calls import kernel_calls
from .latency import SITTINGS, interleaved, ratio_interval
from .replay import Replay

APPROACH, PLANNER = "alias", "arena"
FUSED = (True, False)

#: Timed rounds of each comparison in one sitting, at least and at most.
ROUNDS = (3, 100)


def offset_rows(names, target, budget):
    """Time the kernels that take offsets beside the same kernels without.

    There are several sittings, each a process of its own with builds and buffers of its own.

    Parameters
    ----------
    names : list of str
        Of workloads or fetched models.
    target : str or dict
    budget : float
        Seconds of timed rounds for each row, over all sittings; more where that is not enough for
        the fewest rounds.

    Yields
    ------
    dict
        A row of a record of kind `offsets`; `results/README.md` lists the keys.
    """
    request = {"names": names, "target": target, "budget": budget / SITTINGS}
    sittings = []
    for number in range(1, SITTINGS + 1):
        progress(f"offsets: sitting {number} of {SITTINGS}")
        sittings.append(list(isolate.results_of("offsets", request)))
    progress("")
    yield from map(_row, zip(*sittings))


def offset_results(names, target, budget):
    """Yield what one sitting finds for each program and fusion; runs in the process of its own."""
    for name in names:
        subject = find_subject(name, None, "main")
        for fused in FUSED:
            yield _sitting(subject, target, fused, budget)


def _sitting(subject, target, fused, budget):
    chosen = {"approach": APPROACH, "target": target, "planner": PLANNER, "fused": fused}
    options = check_options(**chosen, dims=subject.dims)

    def built(**verified):
        return build(subject.mod, **chosen, params=subject.params, dims=subject.dims, **verified)

    accepting = built()
    with tvm.transform.PassContext(disabled_pass=[AcceptOffsets().info.name]):
        plain, again = built(verify=False), built(verify=False)
    params = [p for p in subject.mod["main"].params if p.name not in subject.params]
    tensors = to_device(params, subject.inputs, backend_of(options.target).device())
    calls, count, result = kernel_calls(accepting, tensors, takers_of_offsets(accepting))
    there, at_start = Replay(calls), Replay(calls, keep_offsets=False)
    cost = {
        "accepting": there.with_offsets(accepting),
        "plain": there.plain(plain),
        "again": there.plain(again),
    }
    # Apart from the above: a run finds in the caches what the one before it left there.
    placement = {"plain": there.plain(plain), "at_start": at_start.plain(plain)}
    results = [there.results(run) for run in cost.values()]
    results.append(at_start.results(placement["at_start"]))
    correct = agrees(to_arrays(result), subject.expected) and _equal(results)
    timed = correct and bool(calls)
    return {
        "workload": subject.name,
        "approach": APPROACH,
        "planner": PLANNER,
        "fused": fused,
        "target": str(options.target),
        "threads": tvm.runtime.num_threads(),
        "correct": correct,
        "kernels": count,
        "rewritten": len(calls),
        "cost": _timed(cost, budget / 2) if timed else None,
        "placement": _timed(placement, budget / 2) if timed else None,
    }


def takers_of_offsets(built):
    """The names of a build's kernels of which a parameter declares an offset."""
    return {
        name.name_hint
        for name, function in built.stages["planned"].functions_items()
        if isinstance(function, tirx.PrimFunc)
        and any(
            isinstance(param.ty, tirx.BufferType) and isinstance(param.ty.elem_offset, tirx.Var)
            for param in function.params
        )
    }


def _equal(results):
    """Whether lists of arrays are equal, element by element."""
    return all(
        np.array_equal(first, other, equal_nan=first.dtype.kind == "f")
        for others in results[1:]
        for first, other in zip(results[0], others, strict=True)
    )


def _timed(runs, budget):
    least, most = ROUNDS
    return interleaved(runs, budget, least=least, most=most, warmup=1, warmup_seconds=0.05)


def _row(sittings):
    """The row of one program and fusion setting from what its sittings found."""
    row = {key: sittings[0][key] for key in sittings[0] if key not in ("cost", "placement")}
    row["correct"] = all(sitting["correct"] for sitting in sittings)
    cost, placement = (_pooled(sittings, key) for key in ("cost", "placement"))
    found = _interval(cost, "accepting", "plain")
    identical = _interval(cost, "again", "plain")
    placed = _interval(placement, "plain", "at_start")
    return {
        **row,
        **found,
        "aa_lo": identical["lo"],
        "aa_hi": identical["hi"],
        "samples": cost,
        **{f"placement_{key}": value for key, value in placed.items()},
        "placement_samples": placement,
    }


def _pooled(sittings, key):
    """The seconds of all sittings by run, with their numbers of rounds; None where one has none."""
    samples = [sitting[key] for sitting in sittings]
    if None in samples:
        return None
    pooled = {run: [seconds for each in samples for seconds in each[run]] for run in samples[0]}
    return {**pooled, "sittings": [len(each["plain"]) for each in samples]}


def _interval(samples, run, reference):
    """`ratio`, `lo` and `hi` of a run to another; None each where nothing was timed."""
    if samples is None:
        return dict.fromkeys(("ratio", "lo", "hi"))
    sittings = samples["sittings"]
    return ratio_interval(samples[run], samples[reference], sittings=sittings)._asdict()
