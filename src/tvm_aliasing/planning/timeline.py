"""What the buffers that have been placed take of an arena, by program point."""

from bisect import bisect_left, bisect_right
from itertools import chain


class Timeline:
    """A binary tree over program points, to place buffers with.

    A lifetime is made of few nodes, however long it is.

    Attributes
    ----------
    sizes : list of int
        Bytes of the buffers.
    spans : list of (int, int)
        First point of each buffer and the end of its last range.
    work : int
        What `place` has done so far: ranges looked at, and ten for each buffer.

    Parameters
    ----------
    lives : list of tuple of (int, int)
        Half-open ranges of program points, for each buffer.
    """

    def __init__(self, sizes, lives):
        self.sizes = sizes
        self.work = 0
        self.spans = [(live[0][0], live[-1][1]) for live in lives]
        # Buffers that are live together are so at a point where one of them begins to be.
        points = sorted({begin for live in lives for begin, _ in live})
        leaves = 1 << len(points).bit_length()
        parts = []
        for live in lives:
            ranges = ((bisect_left(points, begin), bisect_left(points, end)) for begin, end in live)
            parts.append([k for begin, end in ranges for k in _nodes(leaves + begin, leaves + end)])
        numbers = {node: k for k, node in enumerate(sorted(set().union(*parts)))}
        above = {1: ()}  # node -> those of the numbered nodes that contain it
        for node in range(2, 2 * leaves):
            half = node // 2
            above[node] = (*above[half], numbers[half]) if half in numbers else above[half]
        self._nodes = [tuple(numbers[node] for node in nodes) for nodes in parts]
        self._above = [tuple({k for node in nodes for k in above[node]}) for nodes in parts]
        contained = set().union(*self._above)
        self._containing = [tuple(k for k in nodes if k in contained) for nodes in self._nodes]
        # For each node sorted ends of ranges: of lifetimes that contain it, and that meet it.
        self._across = {k: [] for k in contained}
        self._within = [[] for _ in numbers]

    def top(self, offsets):
        """Bytes of the arena."""
        return max(map(int.__add__, self.sizes, offsets))

    def place(self, order, offsets, fixed=()):
        """Place each buffer in turn, in the lowest gap.

        Parameters
        ----------
        order : list of int
            The buffers.
        offsets : list of int
            The offset of each buffer, in bytes. Those of the buffers placed are set.
        fixed : list of int
            Buffers that are there already, at their offsets.
        """
        across, within = self._across, self._within
        for i in fixed:
            self._take(i, offsets[i])
        for i in order:
            taken = []
            for node in self._nodes[i]:
                if found := within[node]:
                    taken += zip(found[::2], found[1::2])
            for node in self._above[i]:
                if found := across[node]:
                    taken += zip(found[::2], found[1::2])
            taken.sort()
            self.work += len(taken)
            offsets[i] = _lowest_gap(taken, self.sizes[i])
            self._take(i, offsets[i])
        self.work += 10 * (len(order) + len(fixed))
        for i in chain(order, fixed):
            for node in self._containing[i]:
                across[node].clear()
            for node in chain(self._nodes[i], self._above[i]):
                within[node].clear()

    def _take(self, i, begin):
        end = begin + self.sizes[i]
        for node in self._containing[i]:
            _take(self._across[node], begin, end)
        for node in self._nodes[i]:
            _take(self._within[node], begin, end)
        for node in self._above[i]:
            _take(self._within[node], begin, end)


def _nodes(begin, end):
    """The largest nodes that make up a range of leaves, where node // 2 is the one above."""
    while begin < end:
        if begin % 2:
            yield begin
            begin += 1
        if end % 2:
            end -= 1
            yield end
        begin, end = begin // 2, end // 2


def _take(taken, begin, end):
    """Add a range to sorted disjoint ones, given as begin, end, begin, end, ..."""
    low, high = bisect_left(taken, begin), bisect_right(taken, end)
    taken[low:high] = [begin][low % 2 :] + [end][high % 2 :]


def _lowest_gap(taken, size):
    """Where the lowest gap begins that is large enough between sorted (begin, end) ranges."""
    offset = 0
    for begin, end in taken:
        if begin - offset >= size:
            break
        offset = max(offset, end)
    return offset
