"""How long introducing, planning and verifying take, against the size of a program."""

import gc
import time
from itertools import product
from statistics import median

import numpy as np
import tvm
from tvm.ir.instrument import pass_instrument

from .. import isolate
from ..agreement import agrees
from ..analysis.moves import moves
from ..approaches import PLANNERS, approach, front
from ..build import build, check_options
from ..passes.accept_offsets import AcceptOffsets
from ..passes.accept_overlaps import AcceptOverlaps
from ..progress import progress
from ..stage_hazards import check_stages
from .reference import unplanned_result
from .scaling_program import NAME, SIZE, program

#: Approaches and planners, each with each.
TIMED = tuple(product(("k0", "alias"), ("token", "arena")))

#: Bindings of the program that is also built, and of a larger one.
SIZES = (1_000, 10_000)
#: Times that each is done at those sizes; the medians count.
REPETITIONS = (5, 3)

#: The part of a build that introduction and planning are meant to take at most, and verification.
SHARE_LIMIT = 0.10
#: How many times as long they are meant to take at most in the larger program.
RATIO_LIMIT = 15


def scaling_rows(target, sizes=SIZES, repetitions=REPETITIONS):
    """Time the passes that introduce and plan, and the verifier, on a program of two sizes.

    Each size has a process of its own, in which approaches and planners take turns.

    Parameters
    ----------
    target : str or dict
    sizes, repetitions : (int, int)
        Number of bindings and of repetitions, for the program that is also built and the other.

    Yields
    ------
    dict
        A row of a record of kind `scaling`; `results/README.md` lists the keys.
    """
    found = []
    for bindings, times, built in zip(sizes, repetitions, (True, False)):
        progress(f"scaling: {bindings} bindings")
        request = {"bindings": bindings, "repetitions": times, "built": built, "target": target}
        found.append(list(isolate.results_of("scaling", request)))
    progress("")
    for pair in zip(*found):
        yield from _rows(*pair)


def scaling_results(bindings, repetitions, built, target):
    """Yield what is found at one size, for each of `TIMED`; runs in the process of its own."""
    mod = program(bindings)
    x = np.random.default_rng(0).standard_normal(SIZE, dtype=np.float32)
    expected = unplanned_result(mod, {}, (x,)) if built else None
    # The front is the same for all.
    some = _options(*TIMED[0], target)
    with some.target:
        begun = tvm.transform.Sequential(front(some))(mod)
    results = [
        {
            "program": NAME,
            "approach": name,
            "planner": planner,
            "bindings": bindings,
            "target": str(some.target),
            "threads": tvm.runtime.num_threads(),
            "correct": True if built else None,
            "samples": {"introduction": [], "planning": [], "verification": [], "build": []},
        }
        for name, planner in TIMED
    ]
    for _ in range(repetitions):
        for (name, planner), result in zip(TIMED, results):
            seconds = _seconds_taken(begun, name, _options(name, planner, target))
            if built:
                gc.collect()
                before = time.perf_counter()
                whole = build(mod, name, target, planner=planner, fused=False)
                seconds["build"] = time.perf_counter() - before
                result["correct"] &= agrees(whole.run(x), expected)
            for part, taken in seconds.items():
                result["samples"][part].append(round(taken, 6))
    yield from results


def _options(name, planner, target):
    return check_options(name, target, planner=planner, fused=False)


def _seconds_taken(mod, name, options):
    """Seconds of each part on a module that has gone through the front."""
    stages = approach(name).stages(options)
    schedules = options.schedules.info.name
    planning = PLANNERS[options.planner], AcceptOverlaps, AcceptOffsets
    watch = _Stopwatch(
        {
            "introduction": {p.info.name for p in stages["introduced"]} - {schedules},
            "planning": {made().info.name for made in planning},
        }
    )
    moves.cache_clear()  # as in a build of its own
    gc.collect()
    found = {}
    with options.target, tvm.transform.PassContext(instruments=[watch]):
        for stage in ("introduced", "planned"):
            mod = found[stage] = tvm.transform.Sequential(stages[stage])(mod)
    gc.collect()
    before = time.perf_counter()
    check_stages(name, found, options)
    return {**watch.seconds, "verification": time.perf_counter() - before}


@pass_instrument
class _Stopwatch:
    """Adds up the seconds of passes by what they are a part of.

    Parameters
    ----------
    passes : dict of str to set of str
        The names of the passes of each part.
    """

    def __init__(self, passes):
        self.seconds = dict.fromkeys(passes, 0.0)
        self._part_of = {name: part for part, names in passes.items() for name in names}

    def run_before_pass(self, _mod, info):
        if info.name in self._part_of:
            self._begin = time.perf_counter()

    def run_after_pass(self, _mod, info):
        if info.name in self._part_of:
            self.seconds[self._part_of[info.name]] += time.perf_counter() - self._begin


def _rows(small, large):
    """The rows of one approach and planner."""
    rows = [_with_medians(result) for result in (small, large)]
    small_s, large_s = (row["introduction_s"] + row["planning_s"] for row in rows)
    small_check, large_check = (row["verification_s"] for row in rows)
    build_s = rows[0]["build_s"]
    shares = {
        "share_of_build": small_s / build_s,
        "verification_share": small_check / build_s,
        "share_limit": SHARE_LIMIT,
    }
    ratios = {
        "ratio_to_1000": large_s / small_s,
        "verification_ratio": large_check / small_check,
        "ratio_limit": RATIO_LIMIT,
    }
    yield {**rows[0], **shares, **dict.fromkeys(ratios)}
    yield {**rows[1], **dict.fromkeys(shares), **ratios}


def _with_medians(result):
    """A result with the median of each of its samples, None where there are none."""
    samples = result["samples"]
    medians = {f"{part}_s": median(taken) if taken else None for part, taken in samples.items()}
    return {
        **{key: result[key] for key in result if key != "samples"},
        **medians,
        "samples": samples,
    }
