"""Offsets in one arena for buffers of known lifetimes.

Buffers are placed one by one, each in the lowest gap that those already placed leave during its
lifetime. How high that gets depends on the order, so several are tried.
"""

from collections import Counter
from itertools import accumulate
from random import Random
from typing import NamedTuple

from .exhaustive import lowest_packing
from .timeline import Timeline

SEARCHED = 48  # most buffers whose packings are searched exhaustively
WORK = 400_000  # of a `Timeline`, at most, after which no further order is tried
WORK_EACH = 150  # the same for each of the buffers and of `FEW` more
FEW = 300
TRIES = 16  # orders of the buffers of one stretch of the program
FAR_LONGER = 16  # times the usual lifetime: buffers that live so long are placed first


class Buffer(NamedTuple):
    """What is to be placed.

    Attributes
    ----------
    size : int
        Bytes; may be 0.
    live : tuple of (int, int)
        Half-open ranges of program points: sorted, disjoint, none empty, at least one.
    """

    size: int
    live: tuple[tuple[int, int], ...]


def load(buffers, alignment=64):
    """Largest sum, over program points, of the sizes of the buffers that are live there.

    Parameters
    ----------
    buffers : sequence of Buffer
    alignment : int
        Bytes. Each size is rounded up to a multiple.

    Returns
    -------
    int
        Bytes. No packing is lower, and the lowest can be higher.
    """
    change = Counter()
    for buffer in buffers:
        for begin, end in buffer.live:
            change[begin] += rounded(buffer.size, alignment)
            change[end] -= rounded(buffer.size, alignment)
    return max(accumulate(change[point] for point in sorted(change)), default=0)


def height(buffers, offsets, alignment=64):
    """Bytes of the arena that holds each buffer, its size rounded up, at its offset."""
    ends = (at + rounded(buffer.size, alignment) for buffer, at in zip(buffers, offsets))
    return max(ends, default=0)


def cut(buffers, offsets, alignment=64):
    """An arena, cut at each address that no buffer crosses.

    Parameters
    ----------
    buffers : sequence of Buffer
    offsets : list of int
        Bytes, one for each buffer.
    alignment : int
        Bytes. Each size is rounded up to a multiple.

    Returns
    -------
    list of list of (int, int)
        For each part the buffers in it, in their order: index, and offset in the part.
    """
    parts, begin, end = [], 0, 0
    # A buffer of no bytes begins no part: another lies there.
    for i in sorted(range(len(buffers)), key=lambda i: (offsets[i], -buffers[i].size)):
        if not parts or begin < end <= offsets[i]:
            begin = offsets[i]
            parts.append([])
        parts[-1].append((i, offsets[i] - begin))
        end = max(end, offsets[i] + rounded(buffers[i].size, alignment))
    return [sorted(part) for part in parts]


def pack(buffers, alignment=64):
    """Offsets in a low arena at which no buffers that are live at a common point overlap.

    Of up to 8 buffers the arena is the lowest possible, of more it is the lowest that was found.

    Parameters
    ----------
    buffers : sequence of Buffer
    alignment : int
        Bytes. Each offset is a multiple, and each size is rounded up to one.

    Returns
    -------
    list of int
        Bytes, one for each buffer. The same buffers get the same offsets.
    """
    if not buffers:
        return []
    sizes = [rounded(buffer.size, alignment) for buffer in buffers]
    lives = [buffer.live for buffer in buffers]
    return _Packer(sizes, lives, load(buffers, alignment)).pack()


def rounded(size, alignment):
    """A number of bytes, up to the next multiple."""
    return -(-size // alignment) * alignment


class _Packer:
    """Packs buffers until the arena is as low as the bound."""

    def __init__(self, sizes, lives, bound):
        self._sizes, self._lives, self._bound = sizes, lives, bound
        self._timeline = Timeline(sizes, lives)
        self._random = Random(0)
        self._work = min(WORK, WORK_EACH * (FEW + len(sizes)))

    def pack(self):
        """The first packing that is low enough, or the lowest that is found."""
        timeline, packings = self._timeline, []
        for order in _orders(self._sizes, self._lives):
            before = timeline.work
            if before > self._work // 2:
                break
            offsets = [0] * len(order)
            timeline.place(order, offsets)
            self._lower(order, offsets, timeline.work + timeline.work - before)
            packings.append((timeline.top(offsets), offsets, order))
            if packings[-1][0] <= self._bound:
                return offsets
        _, offsets, order = min(packings, key=lambda packing: packing[0])
        if len(order) <= SEARCHED:
            offsets, is_lowest = lowest_packing(self._sizes, self._lives, offsets)
            if is_lowest:
                return offsets
        self._lower(order, offsets, self._work)
        self._place_anew(order, [], offsets, self._work, self._work)
        return offsets

    def _lower(self, order, offsets, work):
        """Lower what ends above the bound by placing anew what is near it in time.

        The highest first, and as much around it as it takes, but not everything.
        """
        spans, reach = self._timeline.spans, 2
        while self._timeline.work < work:
            tops = list(map(int.__add__, self._sizes, offsets))
            top = max(tops)
            if top <= self._bound:
                return
            first, last = spans[tops.index(top)]
            begin, end = first - reach * (last - first), last + reach * (last - first)
            near = [i for i in order if spans[i][0] < end and begin < spans[i][1]]
            moved = [i for i in near if begin <= spans[i][0] and spans[i][1] <= end]
            if len(moved) == len(order):
                return
            fixed = [i for i in near if not (begin <= spans[i][0] and spans[i][1] <= end)]
            self._timeline.work += len(order) // 4
            self._place_anew(moved, fixed, offsets, TRIES, work)
            reach = 2 if self._timeline.top(offsets) < top else 2 * reach

    def _place_anew(self, moved, fixed, offsets, tries, work):
        """Place buffers again and again, each time those that end highest earlier.

        How much earlier is drawn at random, the same each time. The lowest offsets are kept.
        """
        sizes, trial = self._sizes, offsets.copy()
        rank = {i: place / len(moved) for place, i in enumerate(moved)}
        lowest = max(offsets[i] + sizes[i] for i in moved)
        for _ in range(tries):
            if lowest <= self._bound or self._timeline.work >= work:
                return
            for i in moved:
                if trial[i] + sizes[i] >= lowest:
                    rank[i] -= self._random.random()
            order = sorted(moved, key=rank.__getitem__)
            self._timeline.place(order, trial, fixed)
            top = max(trial[i] + sizes[i] for i in moved)
            if top < lowest:
                lowest, offsets[:] = top, trial


def _orders(sizes, lives):
    """Orders to place buffers in, the better ones first."""
    buffers = range(len(sizes))
    first = [live[0][0] for live in lives]
    last = [live[-1][1] for live in lives]
    points = [sum(end - begin for begin, end in live) for live in lives]
    long = FAR_LONGER * sorted(points)[len(points) // 2]
    outlast = [count if count > long else 0 for count in points]
    yield sorted(buffers, key=lambda i: (-outlast[i], -sizes[i], -points[i], first[i]))
    if any(outlast):
        yield sorted(buffers, key=lambda i: (-sizes[i], -points[i], first[i]))
    yield sorted(buffers, key=lambda i: (-sizes[i] * points[i], first[i]))
    yield sorted(buffers, key=lambda i: (-points[i], -sizes[i], first[i]))
    yield sorted(buffers, key=lambda i: (first[i], -last[i], -sizes[i]))
    yield sorted(buffers, key=lambda i: (-last[i], first[i], -sizes[i]))
    yield sorted(buffers, key=lambda i: (last[i], -sizes[i]))
    yield sorted(buffers, key=lambda i: (-first[i], -sizes[i]))
