"""Latency: calls timed in turns, the ratio of two builds, and what "slower" means."""

import gc
import time
from itertools import count
from typing import NamedTuple

import numpy as np

from ..errors import InputError

#: A ratio up to this is not called slower, however narrow its interval.
SLOWER_FROM = 1.02

#: Processes in which a point is timed, each with builds of its own.
SITTINGS = 4

#: Times that the rounds are drawn again for an interval.
RESAMPLES = 2000


class Ratio(NamedTuple):
    """A median ratio with the ends of its interval."""

    ratio: float
    lo: float
    hi: float


def interleaved(
    runs,
    budget=10.0,
    *,
    least=30,
    most=300,
    warmup=3,
    warmup_seconds=0.5,
    clock=time.perf_counter,
):
    """Time calls in turns, A B C … A B C …, in this process.

    Each round calls everything once, in an order that changes from round to round: nothing is
    always first, or always behind the same neighbour. The garbage collector is off meanwhile.

    Parameters
    ----------
    runs : dict of str to callable
        Called without arguments; each returns when its work is done.
    budget : float
        Seconds for the timed rounds: after `least` of them no round begins later than this.
    least, most : int
        Number of timed rounds.
    warmup : int
        Rounds that are not timed come first: at least so many.
    warmup_seconds : float
        And for at least so long.
    clock : callable
        Returns seconds.

    Returns
    -------
    dict of str to list of float
        Seconds of each call, to the nanosecond; the n-th of each run are of the same round.

    Raises
    ------
    InputError
        Nothing to time, or no number of rounds fits.
    """
    if not runs:
        raise InputError("nothing to time: give at least one run")
    if not 1 <= least <= most:
        raise InputError(f"cannot time {least} to {most} rounds: give least >= 1 and most >= least")
    samples = {name: [] for name in runs}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        begin = clock()
        for number in count():
            if number >= warmup and clock() - begin >= warmup_seconds:
                break
            for name in _order(list(runs), number):
                runs[name]()
        begin = clock()
        for number in range(most):
            if number >= least and clock() - begin >= budget:
                break
            for name in _order(list(runs), number):
                run = runs[name]
                before = clock()
                run()  # the result is not kept, so that it is freed within its own time
                after = clock()
                samples[name].append(round(after - before, 9))
    finally:
        if collecting:
            gc.enable()
    return samples


def _order(names, number):
    """The order of a round: every rotation, forwards and then backwards."""
    shift = number // 2 % len(names)
    rotated = names[shift:] + names[:shift]
    return rotated[::-1] if number % 2 else rotated


def ratio_interval(samples_a, samples_b, seed=0, confidence=0.95, sittings=None):
    """Median of the paired ratios a / b, with its bootstrap interval.

    Pairs are resampled, not the two lists apart: what slows a whole round cancels out. Of several
    sittings these are resampled first, then the pairs within each: rounds of one process share
    where its bytes lie, and are no substitute for another process.

    Parameters
    ----------
    samples_a, samples_b : sequence of float
        Seconds; the n-th of both are of the same round.
    seed : int
        Of the resampling: the same samples and seed give the same interval.
    confidence : float
        Between 0 and 1.
    sittings : sequence of int, optional
        Number of rounds of each sitting, in the order of the samples; by default all are of one.

    Returns
    -------
    Ratio

    Raises
    ------
    InputError
        Fewer than two pairs, lists of different lengths, a time that is not above zero, or
        sittings that are not those of the samples.
    """
    a, b = (np.asarray(samples, dtype=float) for samples in (samples_a, samples_b))
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise InputError("a ratio needs two lists of equal length, of two samples or more")
    if not all(np.isfinite(times).all() and (times > 0).all() for times in (a, b)):
        raise InputError("a ratio needs times above zero: time something that takes longer")
    sittings = [len(a)] if sittings is None else list(sittings)
    if sum(sittings) != len(a) or min(sittings, default=0) < 1:
        raise InputError(
            f"sittings of {sittings} rounds are not those of {len(a)} samples: give the number of"
            " rounds of each"
        )
    ratios = a / b
    medians = _resampled_medians(np.split(ratios, np.cumsum(sittings)[:-1]), seed)
    # Not BCa: it corrects by the jackknife, which is not consistent for a median, and is 0 / 0
    # where the middle samples are equal.
    lo, hi = np.quantile(medians, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Ratio(float(np.median(ratios)), float(lo), float(hi))


def _resampled_medians(groups, seed):
    """Medians of ratios drawn again, groups first."""
    random = np.random.default_rng(seed)
    # One group fewer: as many as there are would spread too little where there are few.
    drawn = max(len(groups) - 1, 1)
    medians = []
    for _ in range(RESAMPLES):
        chosen = [groups[i] for i in random.integers(len(groups), size=drawn)]
        again = [group[random.integers(len(group), size=len(group))] for group in chosen]
        medians.append(np.median(np.concatenate(again)))
    return medians


def is_slower(latency, latency_again):
    """Whether a build is slower than another, by two runs of the same measurement.

    In both runs the interval's lower end has to be above 1.02 and above the upper end of that
    run's A/A row, the ratio of two identical builds.

    Parameters
    ----------
    latency, latency_again : dict
        `latency` of a row of a record.

    Returns
    -------
    bool

    Raises
    ------
    InputError
        The two are ratios to different builds.
    """
    if latency["ratio_to"] != latency_again["ratio_to"]:
        raise InputError(
            f"ratios to {latency['ratio_to']} and to {latency_again['ratio_to']}"
            " are not two runs of one measurement: give two to the same build"
        )
    return all(each["lo"] > max(SLOWER_FROM, each["aa_hi"]) for each in (latency, latency_again))


def overlap(a, b):
    """Whether the intervals of two ratios have a point in common.

    Parameters
    ----------
    a, b : dict
        `latency` of rows of records.

    Returns
    -------
    bool
    """
    return a["lo"] <= b["hi"] and b["lo"] <= a["hi"]
