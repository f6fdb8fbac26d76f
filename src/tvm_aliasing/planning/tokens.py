"""TVM's memory planner as a rule on lifetimes: which buffers share a storage.

`TokenAllocatorMixed` in TVM's `static_plan_block_memory.cc`, for sizes that are numbers.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable
from heapq import heappop, heappush
from typing import NamedTuple

MATCH_RANGE = 16  # TVM's `match_range_`: how many times larger or smaller a token may be


class Request(NamedTuple):
    """What is to be given a token.

    Attributes
    ----------
    key : Hashable
        Device, scope and dtype: what those that share a token have in common.
    size : int
        Bytes; may be 0.
    live : tuple of (int, int)
        Half-open ranges of program points: sorted, disjoint, none empty, at least one.
    """

    key: Hashable
    size: int
    live: tuple[tuple[int, int], ...]


def assign(requests):
    """Tokens as TVM chooses them, in the order in which the requests begin to live.

    A token is held from the first point of a request to the end of its last range. Those that are
    released at one point are released in the order of their requests. TVM's order is that of a
    call's arguments; tokens of equal size are alike to it, so the sizes do not depend on that.

    Parameters
    ----------
    requests : sequence of Request

    Returns
    -------
    list of int, list of int
        The token of each request, and the bytes of each token.
    """
    token_of, sizes = [0] * len(requests), []
    held = []  # heap of (end, place in the order, token, key)
    free = {}  # key -> sorted (size, how many were released before, token)
    released = 0
    order = sorted(range(len(requests)), key=lambda index: requests[index].live[0][0])
    for place, index in enumerate(order):
        key, size, live = requests[index]
        while held and held[0][0] <= live[0][0]:
            _, _, token, its_key = heappop(held)
            insort(free.setdefault(its_key, []), (sizes[token], released, token))
            released += 1
        token = _take(free.get(key, []), size)
        if token is None:
            token = len(sizes)
            sizes.append(size)
        sizes[token] = max(sizes[token], size)
        token_of[index] = token
        heappush(held, (live[-1][1], place, token, key))
    return token_of, sizes


def _take(free, size):
    """Take the token that TVM's `RequestReuse` takes out of the free ones, or None.

    Of the smallest that are large enough it is the one released first, of the largest that are too
    small the one released last.
    """
    place = bisect_left(free, (size,))
    if place < len(free) and free[place][0] <= size * MATCH_RANGE:
        return free.pop(place)[2]
    if place > 0 and free[place - 1][0] >= size // MATCH_RANGE:
        return free.pop(place - 1)[2]
    return None
