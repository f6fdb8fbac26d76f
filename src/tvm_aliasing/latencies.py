"""Latency of approaches at one point of all axes, as ratios to one of them.

The same program runs up to some per cent faster or slower from process to process, because its
bytes lie elsewhere. So a point is timed in several sittings, each with builds of its own.
"""

from . import isolate
from .agreement import agrees
from .backends import backend_of
from .build import build, check_options
from .errors import InputError
from .measure.latency import SITTINGS, interleaved, ratio_interval
from .subjects import find_subject
from .values import to_arrays, to_device

#: Timed rounds in one sitting, at least and at most.
ROUNDS = (5, 50)
#: Their kernels are not those of the others, so that a ratio would not say what aliasing costs.
NOT_TIMED = ("shipped", "stock+inplace")

_AGAIN = "{} again"  # names the second build of the reference


def latencies(subject, points, dims, fixed, reference, budget, progress):
    """Time approaches at some points of all axes.

    A program given by name or path is timed in processes of its own, one a sitting; another in
    this process, with builds of its own in each sitting.

    Parameters
    ----------
    subject : Subject
    points : list of list of dict
        For each point what `build` is called with, an approach each; `reference` is among them.
        All give the right result.
    dims : dict of str to int or None
        What the subject was found with.
    fixed : dict
        What `build` is called with at all points.
    reference : str
        The approach that the others' seconds are divided by.
    budget : float
        Seconds of timed rounds at each point, over all sittings; more where that is not enough for
        the fewest rounds.
    progress : callable
        Called with a line before each sitting.

    Returns
    -------
    list of dict
        For each point, by approach: `latency` of a record's row, or a text that says why it could
        not be timed.
    """
    if not points:
        return []
    sittings = []
    for number in range(1, SITTINGS + 1):
        progress(f"{subject.name}: latency, sitting {number} of {SITTINGS}")
        try:
            sittings.append(_sitting(subject, points, dims, fixed, reference, budget / SITTINGS))
        except isolate.Died as death:
            return [dict.fromkeys(_names(point), f"not timed: {death}") for point in points]
    return [
        {name: _latency(name, reference, parts) for name in _names(point)}
        for point, *parts in zip(points, *sittings)
    ]


def _names(point):
    return [setting["approach"] for setting in point]


def sitting_results(where, points, dims, fixed, reference, budget, rounds):
    """Yield the samples of each point; runs in the process of its own."""
    subject = find_subject(where, dims, fixed.get("entry", "main"))
    for point in points:
        yield _samples(subject, point, fixed, reference, budget, rounds)


def _sitting(subject, points, dims, fixed, reference, budget):
    """Of one sitting, for each point what `_samples` gives."""
    if subject.where is None:
        return [_samples(subject, point, fixed, reference, budget, ROUNDS) for point in points]
    request = {
        "where": subject.where,
        "points": points,
        "dims": dims,
        "fixed": fixed,
        "reference": reference,
        "budget": budget,
        "rounds": ROUNDS,
    }
    return list(isolate.results_of("latencies", request))


def _samples(subject, point, fixed, reference, budget, rounds):
    """Seconds by run of one point, None where the result was wrong."""
    calls = {}
    for setting in point:
        name = setting["approach"]
        for run in (name, _AGAIN.format(name)) if name == reference else (name,):
            calls[run] = _checked_call(subject, setting, fixed)
    if calls[reference] is None or calls[_AGAIN.format(reference)] is None:
        return dict.fromkeys(calls)
    right = {run: call for run, call in calls.items() if call is not None}
    least, most = rounds
    seconds = interleaved(right, budget, least=least, most=most, warmup=1, warmup_seconds=0.2)
    return {run: seconds.get(run) for run in calls}


def _checked_call(subject, setting, fixed):
    """A call of the function alone, its tensors on the device; None if its result is wrong."""
    built = build(subject.mod, **setting, **fixed, params=subject.params, dims=subject.dims)
    target = check_options(**setting, **fixed, dims=subject.dims).target
    params = [p for p in subject.mod[built.entry].params if p.name not in subject.params]
    tensors = to_device(params, subject.inputs, backend_of(target).device())
    function = built.machine()[built.entry]
    if not agrees(to_arrays(function(*tensors)), subject.expected):
        return None
    return lambda: function(*tensors)


def _latency(name, reference, sittings):
    """One approach's `latency`, from the samples of each sitting of one point."""
    again = _AGAIN.format(reference)
    this = again if name == reference else name
    if any(part[run] is None for part in sittings for run in (this, reference, again)):
        return "not timed: the result was wrong in another run"
    sizes = [len(part[reference]) for part in sittings]
    pooled = {
        run: [seconds for part in sittings for seconds in part[run]]
        for run in (this, reference, again)
    }
    found = ratio_interval(pooled[this], pooled[reference], sittings=sizes)
    identical = ratio_interval(pooled[again], pooled[reference], sittings=sizes)
    return {
        "ratio_to": reference,
        "ratio": found.ratio,
        "lo": found.lo,
        "hi": found.hi,
        "aa_lo": identical.lo,
        "aa_hi": identical.hi,
        "samples": {
            "this": pooled[this],
            "reference": pooled[reference],
            "sittings": sizes,
        },
    }


def beside(row, other):
    """The latency of a row beside another, whichever approach their record divides by.

    All approaches at one point are called in the same rounds, so that the two rows are paired too.

    Parameters
    ----------
    row, other : dict
        Rows of one record, with a latency, at the same point of all axes.

    Returns
    -------
    dict
        As `latency` of a row. The A/A row is the one of the point: two identical builds of the
        approach that the record divides by.

    Raises
    ------
    InputError
        One was not timed, or they are not of the same rounds.
    """
    this, reference = row["latency"], other["latency"]
    pair = f"{row['approach']} and {other['approach']} of {row['workload']}"
    if this is None or reference is None:
        raise InputError(f"{pair} were not both timed: name two rows with a latency")
    rounds, others = (
        (latency["samples"]["reference"], latency["samples"]["sittings"])
        for latency in (this, reference)
    )
    if rounds != others:
        raise InputError(f"{pair} were not timed in the same rounds: name rows of one point")
    if this["ratio_to"] == other["approach"]:
        return this  # the samples of the reference's own row are those of its second build
    samples = {**this["samples"], "reference": reference["samples"]["this"]}
    found = ratio_interval(*(samples[key] for key in ("this", "reference")), sittings=rounds[1])
    return {
        "ratio_to": other["approach"],
        **found._asdict(),
        "aa_lo": this["aa_lo"],
        "aa_hi": this["aa_hi"],
        "samples": samples,
    }
