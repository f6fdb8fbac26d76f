"""Packing: never an overlap, and for few buffers the lowest arena, as brute force finds it."""

from itertools import combinations, combinations_with_replacement, pairwise
from random import Random

import pytest

from tvm_aliasing.planning import exhaustive
from tvm_aliasing.planning.exhaustive import lowest_packing
from tvm_aliasing.planning.packing import Buffer, cut, height, load, pack


def buffer(size, *live):
    return Buffer(size, live)


def points(buffer):
    return {point for begin, end in buffer.live for point in range(begin, end)}


def fits(buffers, limit):
    """Whether buffers of sizes in units fit below a limit: by all offsets of each."""
    if needed_by_conflicts(buffers) > limit:
        return False

    def place(left, taken):
        if not left:
            return True
        (size, meets), rest = left[0], left[1:]
        for offset in range(limit - size + 1):
            units = (1 << size) - 1 << offset
            if not any(taken[point] & units for point in meets):
                with_it = {point: taken[point] | units for point in meets}
                if place(rest, {**taken, **with_it}):
                    return True
        return False

    largest_first = sorted(((b.size, points(b)) for b in buffers), key=lambda pair: -pair[0])
    return place(largest_first, dict.fromkeys(set().union(*map(points, buffers)), 0))


def needed_by_conflicts(buffers):
    """Largest sum of sizes of buffers of which each two are live together somewhere."""
    cliques = [(0, [])]
    for b in buffers:
        meets = points(b)
        cliques += [
            (total + b.size, [*others, meets])
            for total, others in cliques
            if all(meets & other for other in others)
        ]
    return max(total for total, _ in cliques)


def check_valid(buffers, offsets, alignment):
    """No overlap, by the definition; what `load` and `height` say is checked as well."""
    assert len(offsets) == len(buffers)
    assert all(offset >= 0 and offset % alignment == 0 for offset in offsets)
    sizes = [-(-b.size // alignment) * alignment for b in buffers]
    live = {}
    for index, b in enumerate(buffers):
        for point in points(b):
            live.setdefault(point, []).append(index)
    for together in live.values():
        ranges = sorted((offsets[i], offsets[i] + sizes[i]) for i in together if sizes[i])
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ranges))
    needed = max((sum(sizes[i] for i in together) for together in live.values()), default=0)
    assert load(buffers, alignment) == needed
    top = max((offset + size for offset, size in zip(offsets, sizes)), default=0)
    assert height(buffers, offsets, alignment) == top >= needed


def check_lowest(buffers):
    """The arena is valid and none is lower. Gives what it needs beyond the load."""
    offsets = pack(buffers, 1)
    check_valid(buffers, offsets, 1)
    beyond = height(buffers, offsets, 1) - load(buffers, 1)
    if beyond:
        assert not fits(buffers, height(buffers, offsets, 1) - 1)
    return beyond


def intervals(count):
    return [((begin, end),) for begin, end in combinations(range(count + 1), 2)]


def lifetimes(count):
    """All sets of points, as ranges."""
    for chosen in range(1, 2**count):
        inside = [False, *(bool(chosen >> point & 1) for point in range(count)), False]
        edges = [point for point in range(count + 1) if inside[point] != inside[point + 1]]
        yield tuple(zip(edges[::2], edges[1::2]))


@pytest.mark.parametrize(
    ("lives", "sizes", "most"),
    [
        (intervals(3), (0, 1, 2, 3), 3),
        (intervals(3), (1, 2, 3), 4),
        (intervals(4), (1, 2), 5),
        (intervals(3), (1, 2), 6),
        (list(lifetimes(3)), (1, 2), 4),
        (list(lifetimes(4)), (1, 2), 3),
        (list(lifetimes(4)), (1,), 5),
    ],
    ids=["zeros", "sizes", "points", "buffers", "ranges", "more points", "units"],
)
def test_all_small_cases(lives, sizes, most):
    kinds = [Buffer(size, live) for live in lives for size in sizes]
    for count in range(1, most + 1):
        for buffers in combinations_with_replacement(kinds, count):
            check_lowest(buffers)


def draw_lifetimes(random, count):
    """Buffers of up to two ranges over few points."""
    lives = list(lifetimes(5))
    return [Buffer(random.randint(1, 4), random.choice(lives)) for _ in range(count)]


def draw_without_slack(random, count):
    """Intervals that fill the arena at every point: few orders of placing reach the load."""
    kept, ended, point = [(2, 0), (3, 0), (1, 0)], [], 0
    while len(kept) + len(ended) < count:
        point += 1
        random.shuffle(kept)
        gone = [kept.pop() for _ in range(random.randint(1, len(kept)))]
        ended += [buffer(size, (begin, point)) for size, begin in gone]
        room = sum(size for size, _ in gone)
        while room:
            size = random.randint(1, room)
            kept.append((size, point))
            room -= size
    return [*ended, *(buffer(size, (begin, point + 1)) for size, begin in kept)][:count]


def draw_scattered(random, count):
    """Buffers that are live at four points each."""
    chosen = [sorted(random.sample(range(count), 4)) for _ in range(count)]
    return [
        Buffer(random.randint(1, 100), tuple((point, point + 1) for point in at)) for at in chosen
    ]


@pytest.mark.parametrize("count", [6, 7, 8])
@pytest.mark.parametrize("draw", [draw_lifetimes, draw_without_slack])
def test_drawn_cases_of_up_to_8_buffers(draw, count):
    random = Random(count)
    for _ in range(400):
        check_lowest(draw(random, count))


@pytest.mark.parametrize("draw", [draw_lifetimes, draw_without_slack])
def test_search_from_a_bad_packing(draw, monkeypatch):
    """All buffers on top of each other to begin with. For so few it is never given up."""
    monkeypatch.setattr(exhaustive, "STEPS", 1)
    random = Random(0)
    for _ in range(300):
        buffers = draw(random, 8)
        sizes = [b.size for b in buffers]
        stacked = [sum(sizes[:index]) for index in range(len(sizes))]
        offsets, is_lowest = lowest_packing(sizes, [b.live for b in buffers], stacked)
        check_valid(buffers, offsets, 1)
        assert is_lowest
        assert not fits(buffers, height(buffers, offsets, 1) - 1)


@pytest.mark.parametrize(("count", "is_known"), [(9, True), (25, False)])
def test_search_is_given_up_for_many_buffers(count, is_known):
    """In a ring of conflicts only two are live at a time; an odd ring needs room for three."""
    lives = [((k, k + 2),) for k in range(count - 1)] + [((0, 1), (count - 1, count))]
    offsets, is_lowest = lowest_packing([1] * count, lives, list(range(count)))
    assert max(offsets) + 1 == 3
    assert is_lowest == is_known


def test_search_finds_nothing_higher(monkeypatch):
    """Also where it does not look at every set of buffers that are in conflict."""
    random = Random(0)
    drawn = [draw_scattered(random, 12) for _ in range(20)]
    packed = [pack(buffers, 1) for buffers in drawn]
    monkeypatch.setattr(exhaustive, "CLIQUES", 1)
    monkeypatch.setattr(exhaustive, "STEPS", 500)
    for buffers, offsets in zip(drawn, packed):
        sizes, lives = [b.size for b in buffers], [b.live for b in buffers]
        found, _ = lowest_packing(sizes, lives, offsets)
        check_valid(buffers, found, 1)
        assert height(buffers, found, 1) <= height(buffers, offsets, 1)


def test_intervals_that_need_more_than_their_load():
    """The smallest such case that a search over drawn intervals found: load 7, arena 8."""
    drawn = [
        (4, (0, 1)),
        (3, (0, 2)),
        (1, (2, 3)),
        (1, (1, 3)),
        (1, (2, 4)),
        (3, (1, 4)),
        (1, (2, 4)),
        (2, (3, 5)),
        (5, (4, 5)),
    ]
    buffers = [buffer(size, live) for size, live in drawn]
    assert load(buffers, 1) == 7
    assert check_lowest(buffers) == 1


def test_branches_can_need_more_than_their_load():
    """Each two of the three are live together, all three never."""
    buffers = [
        buffer(64, (0, 1), (2, 3)),
        buffer(64, (0, 2)),
        buffer(64, (1, 3)),
    ]
    assert load(buffers) == 128
    assert height(buffers, pack(buffers)) == 192


def test_two_ranges_leave_room_between_them():
    buffers = [buffer(64, (0, 1), (2, 3)), buffer(64, (1, 2))]
    assert pack(buffers) == [0, 0]


def test_order_of_first_use_fragments():
    """Placed as they begin to live, the last finds two gaps of 2 and none of 4."""
    buffers = [
        buffer(2, (0, 2)),
        buffer(2, (0, 3)),
        buffer(2, (0, 2)),
        buffer(2, (0, 3)),
        buffer(4, (2, 3)),
    ]
    assert height(buffers, [0, 2, 4, 6, 8], 1) == 12
    assert load(buffers, 1) == 8
    assert check_lowest(buffers) == 0


@pytest.mark.parametrize(
    ("buffers", "offsets"),
    [
        ([], []),
        ([buffer(100, (0, 1))], [0]),
        ([buffer(0, (0, 1))], [0]),
        ([buffer(0, (0, 1)), buffer(0, (0, 1))], [0, 0]),
        ([buffer(0, (0, 2)), buffer(1, (0, 2)), buffer(65, (1, 3))], [0, 128, 0]),
        ([buffer(64, (0, 1)), buffer(64, (1, 2))], [0, 0]),
    ],
    ids=["none", "one", "empty", "empties", "empty among others", "end meets begin"],
)
def test_offsets(buffers, offsets):
    assert pack(buffers) == offsets
    check_valid(buffers, offsets, 64)


@pytest.mark.parametrize(("alignment", "needed"), [(1, 101), (16, 128), (64, 192), (256, 512)])
def test_sizes_are_rounded_up(alignment, needed):
    buffers = [buffer(100, (0, 2)), buffer(1, (1, 3))]
    assert load(buffers, alignment) == needed
    assert height(buffers, pack(buffers, alignment), alignment) == needed
    check_valid(buffers, pack(buffers, alignment), alignment)


def test_load_of_buffers_far_apart():
    assert load([buffer(64, (0, 1)), buffer(128, (5, 6))]) == 128


def drawn_chain(count, sizes, *, outlasting, seed=0):
    """Values that the next few kernels read and, every so often, one that lives to the end."""
    random = Random(seed)
    buffers = []
    for begin in range(count):
        length = random.choice((2, 2, 2, random.randint(2, 12)))
        if outlasting and begin % (count // outlasting) == 0:
            length = count
        end = min(begin + length, count)
        buffers.append(buffer(random.choice(sizes), (begin, end)))
    return buffers


TYPICAL = (0, 64, 1000, 4096, 8192, 12288, 50176, 100352)


@pytest.mark.parametrize(
    "buffers",
    [
        drawn_chain(300, TYPICAL, outlasting=0),
        drawn_chain(300, TYPICAL, outlasting=6),
        drawn_chain(10_000, TYPICAL, outlasting=0),
        drawn_chain(10_000, TYPICAL, outlasting=200),
        drawn_chain(3000, range(1, 100_000), outlasting=10, seed=3),
    ],
    ids=["short", "short, outlasted", "long", "long, outlasted", "all sizes"],
)
def test_programs_that_reach_the_load(buffers):
    offsets = pack(buffers)
    check_valid(buffers, offsets, 64)
    assert height(buffers, offsets) == load(buffers)


def drawn(count, longest):
    random = Random(1)
    buffers = []
    for _ in range(count):
        begin = random.randrange(count)
        end = min(begin + random.randint(1, longest), count)
        buffers.append(buffer(random.randint(1, 1000), (begin, end)))
    return buffers


@pytest.mark.parametrize(
    ("count", "longest", "limit"), [(60, 60, 1.01), (1000, 20, 1.02), (3000, 20, 1.05)]
)
def test_drawn_programs_come_near_the_load(count, longest, limit):
    """Nearer than the fixed orders come, and the last than placing everything anew does."""
    buffers = drawn(count, longest)
    offsets = pack(buffers)
    check_valid(buffers, offsets, 64)
    assert height(buffers, offsets) <= limit * load(buffers)


def test_the_same_buffers_get_the_same_offsets():
    buffers = drawn(60, 60)
    assert pack(buffers) == pack(buffers)


# Cutting.


@pytest.mark.parametrize(
    ("buffers", "offsets", "parts"),
    [
        ([], [], []),
        ([buffer(64, (0, 1)), buffer(64, (1, 2))], [0, 0], [[(0, 0), (1, 0)]]),
        ([buffer(64, (0, 1)), buffer(1, (0, 2))], [64, 0], [[(1, 0)], [(0, 0)]]),
        ([buffer(65, (0, 1)), buffer(64, (1, 2))], [0, 64], [[(0, 0), (1, 64)]]),
        (
            [buffer(128, (0, 1)), buffer(64, (1, 2)), buffer(64, (1, 2)), buffer(64, (0, 9))],
            [0, 0, 64, 128],
            [[(0, 0), (1, 0), (2, 64)], [(3, 0)]],
        ),
        ([buffer(0, (0, 1)), buffer(64, (0, 1))], [0, 0], [[(0, 0), (1, 0)]]),
        ([buffer(0, (0, 1)), buffer(0, (0, 1))], [0, 0], [[(0, 0), (1, 0)]]),
    ],
    ids=["none", "in turns", "side by side", "rounded up", "crossed", "empty", "only empty"],
)
def test_an_arena_is_cut_where_no_buffer_crosses(buffers, offsets, parts):
    assert cut(buffers, offsets) == parts


@pytest.mark.parametrize("alignment", [1, 64])
def test_a_cut_arena_is_as_large(alignment):
    buffers = drawn_chain(300, TYPICAL, outlasting=6)
    offsets = pack(buffers, alignment)
    parts = cut(buffers, offsets, alignment)
    assert len(parts) > 1
    assert sorted(i for part in parts for i, _ in part) == list(range(len(buffers)))
    sizes = []
    for part in parts:
        inside, at = [buffers[i] for i, _ in part], [offset for _, offset in part]
        check_valid(inside, at, alignment)
        sizes.append(height(inside, at, alignment))
    assert sum(sizes) == height(buffers, offsets, alignment)
