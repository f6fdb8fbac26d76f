"""The lowest arena that a few buffers fit in, by trying every order of their offsets."""

from itertools import islice
from math import inf

SURE = 8  # buffers up to which the search is never given up: they have 109,601 partial orders
STEPS = 5_000  # after which it is given up for more buffers
CLIQUES = 100  # most that are looked at; intervals have no more than there are buffers


def lowest_packing(sizes, lives, offsets):
    """Search for the lowest packing, from a packing.

    Parameters
    ----------
    sizes : list of int
        Bytes.
    lives : list of tuple of (int, int)
        Half-open ranges of program points, for each buffer.
    offsets : list of int
        Bytes: a packing to begin with.

    Returns
    -------
    list of int, bool
        The lowest packing that was found, in bytes, and whether none is lower.
    """
    search = _Search(sizes, lives, offsets)
    search.visit([0] * len(sizes), {}, (0, -1))
    return search.offsets, search.steps > 0 or search.top == search.bound


class _Search:
    """What is known so far.

    Take a lowest packing in which no buffer can be lowered alone. In the order of its offsets each
    buffer lies at 0 or on one that comes before it.
    """

    def __init__(self, sizes, lives, offsets):
        self.offsets = offsets
        self.top = max(map(int.__add__, sizes, offsets))
        self.steps = inf if len(sizes) <= SURE else STEPS
        self._sizes = sizes
        self._conflicts = [
            {j for j, other in enumerate(lives) if j != i and meet(live, other)}
            for i, live in enumerate(lives)
        ]
        cliques = _cliques(self._conflicts, set(), set(range(len(sizes))), set())
        self._cliques = list(islice(cliques, CLIQUES))
        self.bound = max(sum(sizes[i] for i in clique) for clique in self._cliques)

    def visit(self, floors, placed, last):
        """Place the rest.

        Parameters
        ----------
        floors : list of int
            Where each buffer's placed conflicts end.
        placed : dict of int to int
            Offsets.
        last : tuple of int
            The offset and the index of the buffer that was placed last.
        """
        self.steps -= 1
        if len(placed) == len(self._sizes):
            self.offsets = [placed[i] for i in range(len(self._sizes))]
            self.top = max(map(int.__add__, self._sizes, self.offsets))
            return
        if self._least(floors, placed, last) >= self.top:
            return
        for i in sorted(range(len(floors)), key=floors.__getitem__):
            if self.steps <= 0 or self.top == self.bound:
                return
            end = floors[i] + self._sizes[i]
            if i not in placed and (floors[i], i) > last and end < self.top:
                above = [
                    max(floor, end) if j in self._conflicts[i] else floor
                    for j, floor in enumerate(floors)
                ]
                self.visit(above, {**placed, i: floors[i]}, (floors[i], i))

    def _least(self, floors, placed, last):
        """Bytes that what is left needs, since those of a clique lie on each other."""
        least = 0
        for clique in self._cliques:
            left = [i for i in clique if i not in placed]
            if left:
                begin = max(last[0], min(floors[i] for i in left))
                least = max(least, begin + sum(self._sizes[i] for i in left))
        return least


def meet(live, other):
    """Whether two lifetimes have a point in common."""
    return any(a < d and c < b for a, b in live for c, d in other)


def _cliques(conflicts, clique, more, done):
    """The largest sets of buffers that are all in conflict, as Bron and Kerbosch find them."""
    if not more and not done:
        yield clique
        return
    pivot = max(more | done, key=lambda i: len(conflicts[i] & more))
    for i in sorted(more - conflicts[pivot]):
        yield from _cliques(conflicts, clique | {i}, more & conflicts[i], done & conflicts[i])
        more, done = more - {i}, done | {i}
