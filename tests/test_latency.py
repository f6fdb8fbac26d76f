"""Latency on made-up samples and clocks: no test asserts a real time."""

import gc

import numpy as np
import pytest

from tvm_aliasing.errors import InputError
from tvm_aliasing.measure.latency import Ratio, interleaved, is_slower, overlap, ratio_interval

# Interleaving


class Bench:
    """Runs that take set seconds of a clock of their own, and remember who was called."""

    def __init__(self, **seconds):
        self.now = 5.0
        self.calls = []
        self.runs = {name: self._run(name, taken) for name, taken in seconds.items()}

    def _run(self, name, taken):
        def run():
            self.calls.append(name)
            self.now += taken

        return run

    def time(self, budget=10.0, **options):
        options = {"warmup": 0, "warmup_seconds": 0, **options}
        return interleaved(self.runs, budget, clock=lambda: self.now, **options)

    def rounds(self):
        size = len(self.runs)
        return ["".join(self.calls[at : at + size]) for at in range(0, len(self.calls), size)]


def test_samples_are_the_seconds_of_each_run():
    samples = Bench(a=0.25, b=0.5).time(least=4, most=4)
    assert samples == {"a": [0.25] * 4, "b": [0.5] * 4}


def test_two_runs_take_turns_at_being_first():
    bench = Bench(a=1, b=1)
    bench.time(least=4, most=4)
    assert bench.rounds() == ["ab", "ba", "ba", "ab"]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_everyone_is_in_every_place_equally_often(size):
    names = "abcde"[:size]
    bench = Bench(**dict.fromkeys(names, 1))
    rounds = 2 * size
    samples = bench.time(least=rounds, most=rounds)
    assert {name: len(each) for name, each in samples.items()} == dict.fromkeys(names, rounds)
    for place in range(size):
        found = [order[place] for order in bench.rounds()]
        assert {name: found.count(name) for name in names} == dict.fromkeys(names, 2)


@pytest.mark.parametrize(
    ("budget", "rounds"),
    [(0, 30), (10, 30), (60, 60), (59.5, 60), (60.5, 61), (300, 300), (1000, 300)],
)
def test_budget_sets_the_rounds_between_least_and_most(budget, rounds):
    bench = Bench(a=0.25, b=0.75)
    samples = bench.time(budget)
    assert [len(each) for each in samples.values()] == [rounds, rounds]
    assert len(bench.calls) == 2 * rounds


@pytest.mark.parametrize(
    ("warmup", "seconds", "rounds"), [(0, 0, 0), (3, 0, 3), (3, 2, 3), (3, 7, 7), (0, 6.5, 7)]
)
def test_warmup_is_by_count_and_seconds_and_not_in_the_samples(warmup, seconds, rounds):
    bench = Bench(a=0.5, b=0.5)
    samples = bench.time(least=5, most=5, warmup=warmup, warmup_seconds=seconds)
    assert [len(each) for each in samples.values()] == [5, 5]
    assert len(bench.rounds()) == rounds + 5


def test_warmup_is_not_in_the_budget():
    samples = Bench(a=1).time(40, warmup=100)
    assert len(samples["a"]) == 40


def test_samples_are_whole_nanoseconds():
    samples = Bench(a=1 / 3).time(least=1, most=1)
    assert samples["a"] == [0.333333333]


@pytest.fixture
def _collector_kept():
    enabled = gc.isenabled()
    yield
    (gc.enable if enabled else gc.disable)()


@pytest.mark.usefixtures("_collector_kept")
@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collector_is_off_meanwhile(enabled):
    seen = []

    def run():
        seen.append(gc.isenabled())
        if len(seen) == 4:
            raise ZeroDivisionError

    (gc.enable if enabled else gc.disable)()
    for _ in range(2):  # the second time the run fails
        try:
            interleaved({"a": run}, 0, least=2, most=2, warmup=1, warmup_seconds=0)
        except ZeroDivisionError:
            seen.append("failed")
        assert gc.isenabled() is enabled
    assert seen == [False] * 4 + ["failed"]


def test_result_is_freed_within_its_own_time():
    events = []

    class Result:
        def __del__(self):
            events.append("freed")

    def clock():
        events.append("clock")
        return 0.0

    interleaved({"a": Result}, least=1, most=1, warmup=0, warmup_seconds=0, clock=clock)
    assert events[-3:] == ["clock", "freed", "clock"]


def test_real_clock():
    samples = interleaved({"a": int, "b": int}, 0, least=2, most=2, warmup_seconds=0)
    assert [len(each) for each in samples.values()] == [2, 2]


@pytest.mark.parametrize(
    ("runs", "options"),
    [({}, {}), ({"a": int}, {"least": 0}), ({"a": int}, {"least": 5, "most": 4})],
)
def test_nothing_to_time(runs, options):
    with pytest.raises(InputError, match="time"):
        interleaved(runs, **options)


# The ratio and its interval


def noisy(ratio, size, seed=1, noise=0.05):
    """Pairs of samples that share what slows a round, and differ by a known ratio."""
    random = np.random.default_rng(seed)
    shared = np.exp(random.normal(0, 0.5, size))
    a, b = (shared * np.exp(random.normal(0, noise, size)) for _ in range(2))
    return 1e-3 * ratio * a, 1e-3 * b


@pytest.mark.parametrize("known", [0.5, 1.0, 1.1, 3.0])
@pytest.mark.parametrize("size", [30, 300])
def test_interval_holds_the_known_ratio(known, size):
    found = ratio_interval(*noisy(known, size))
    assert found.lo <= known <= found.hi
    assert found.lo < found.ratio < found.hi
    assert found.hi - found.lo < 0.1 * known  # pairing takes out the shared noise
    assert all(type(value) is float for value in found)


def test_interval_holds_the_ratio_about_as_often_as_it_says():
    intervals = [ratio_interval(*noisy(1.1, 40, seed=seed)) for seed in range(100)]
    assert 88 <= sum(found.lo <= 1.1 <= found.hi for found in intervals) <= 100


def test_ratio_is_the_median_of_pairs():
    a, b = [2.0, 30.0, 9.0], [1.0, 10.0, 1.0]
    assert ratio_interval(a, b).ratio == 3.0
    assert np.median(a) / np.median(b) == 9.0


def test_interval_depends_on_the_seed_only():
    samples = noisy(1.1, 300)
    first = ratio_interval(*samples)
    assert ratio_interval(*samples) == ratio_interval(*map(list, samples), seed=0) == first
    others = [ratio_interval(*samples, seed=seed) for seed in range(1, 10)]
    assert {found.ratio for found in others} == {first.ratio}
    assert any(found != first for found in others)


def test_interval_shrinks_with_samples_and_grows_with_confidence():
    def width(size, confidence=0.95):
        found = ratio_interval(*noisy(1.0, size), confidence=confidence)
        return found.hi - found.lo

    assert width(30) > width(300) > width(3000)
    assert width(100, 0.5) < width(100, 0.95) < width(100, 0.999)


def test_inverse_ratio_mirrors_the_interval():
    a, b = noisy(1.3, 31)
    there, back = ratio_interval(a, b), ratio_interval(b, a)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert (back.lo, back.hi) == pytest.approx((1 / there.hi, 1 / there.lo), rel=0.01)


def test_constant_samples_give_a_point():
    assert ratio_interval([3.0] * 30, [2.0] * 30) == Ratio(1.5, 1.5, 1.5)
    assert ratio_interval([1.0] * 2, [1.0] * 2) == Ratio(1.0, 1.0, 1.0)


def in_sittings(count, rounds, between, seed=1):
    """Pairs of a ratio of 1 that each sitting is off by a share of its own."""
    random = np.random.default_rng(seed)
    off = np.repeat(np.exp(random.normal(0, between, count)), rounds)
    return off * np.exp(random.normal(0, 0.03, off.size)), np.ones(off.size), [rounds] * count


def test_one_sitting_is_none():
    a, b, _ = in_sittings(1, 40, 0)
    assert ratio_interval(a, b, sittings=[40]) == ratio_interval(a, b)


def test_sittings_widen_the_interval_where_they_differ():
    def width(**options):
        found = ratio_interval(a, b, **options)
        return found.hi - found.lo

    a, b, sittings = in_sittings(4, 40, 0.02)
    assert width(sittings=sittings) > 2 * width()
    a, b, sittings = in_sittings(4, 40, 0)
    assert width(sittings=sittings) < 2 * width()


def test_sittings_may_be_of_any_size_and_order_of_the_groups_is_theirs():
    a = [1.0] * 10 + [2.0] * 3
    found = ratio_interval(a, [1.0] * 13, sittings=[10, 3])
    assert found == Ratio(1.0, 1.0, 2.0)
    assert ratio_interval(a, [1.0] * 13, sittings=[3, 10]).hi < 2.0


@pytest.mark.parametrize("between", [0.0, 0.005])
def test_intervals_of_two_measurements_overlap_though_sittings_differ(between):
    found = [
        ratio_interval(a, b, sittings=sittings)
        for a, b, sittings in (in_sittings(4, 40, between, seed) for seed in range(60))
    ]
    assert sum(each.lo <= 1 <= each.hi for each in found) >= 55
    pairs = list(zip(found[::2], found[1::2]))
    assert sum(a.lo <= b.hi and b.lo <= a.hi for a, b in pairs) == len(pairs)


@pytest.mark.parametrize("sittings", [[], [3], [2, 3], [4, 0], [5, -1]])
def test_sittings_that_are_not_those_of_the_samples(sittings):
    with pytest.raises(InputError, match=r"sittings of .* rounds are not those of 4 samples"):
        ratio_interval([1.0] * 4, [1.0] * 4, sittings=sittings)


def test_equal_middle_samples():
    """As a coarse clock gives them."""
    found = ratio_interval([1.0] * 28 + [2.0, 4.0], [1.0] * 30)
    assert found == Ratio(1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ([], [], "two samples"),
        ([1.0], [1.0], "two samples"),
        ([1.0, 1.0], [1.0, 1.0, 1.0], "equal length"),
        ([[1.0, 1.0]], [[1.0, 1.0]], "two lists"),
        ([1.0, 1.0], [1.0, 0.0], "above zero"),
        ([-1.0, 1.0], [1.0, 1.0], "above zero"),
        ([1.0, float("nan")], [1.0, 1.0], "above zero"),
    ],
)
def test_samples_that_have_no_ratio(a, b, said):
    with pytest.raises(InputError, match=said):
        ratio_interval(a, b)


# Slower, and overlap


def latency(lo, hi=2.0, aa_hi=1.01, ratio_to="copy"):
    return {
        "ratio_to": ratio_to,
        "ratio": (lo + hi) / 2,
        "lo": lo,
        "hi": hi,
        "aa_lo": 0.99,
        "aa_hi": aa_hi,
        "samples": {},
    }


@pytest.mark.parametrize(
    ("first", "second", "slower"),
    [
        (latency(1.03), latency(1.03), True),
        (latency(1.03), latency(1.021), True),
        (latency(1.03), latency(1.02), False),  # not above 1.02
        (latency(1.02), latency(1.03), False),
        (latency(1.03), latency(0.99), False),  # one run of two
        (latency(1.03, aa_hi=1.04), latency(1.03, aa_hi=1.04), False),  # identical builds differ so
        (latency(1.03, aa_hi=1.03), latency(1.05), False),  # not above the A/A row
        (latency(1.05, aa_hi=1.04), latency(1.05, aa_hi=1.04), True),
        (latency(1.05, aa_hi=1.01), latency(1.05, aa_hi=1.06), False),  # each by its own A/A row
        (latency(0.5, 0.6), latency(0.5, 0.6), False),
        (latency(float("nan")), latency(1.05), False),
    ],
)
def test_slower(first, second, slower):
    assert is_slower(first, second) is slower


def test_slower_than_what():
    with pytest.raises(InputError, match="to copy and to k0"):
        is_slower(latency(1.5), latency(1.5, ratio_to="k0"))


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        ((1.0, 1.2), (1.1, 1.3), True),
        ((1.0, 1.4), (1.1, 1.3), True),
        ((1.0, 1.1), (1.1, 1.3), True),
        ((1.0, 1.0), (1.0, 1.0), True),
        ((1.0, 1.09), (1.1, 1.3), False),
    ],
)
def test_overlap(a, b, common):
    a, b = latency(*a), latency(*b)
    assert overlap(a, b) is overlap(b, a) is common
