"""Room in the storages of outputs: until an output is written, they can hold other tensors."""

import numpy as np

from ..analysis.offsets import ALIGNMENT
from .exhaustive import meet
from .packing import rounded


def move_to_outputs(outputs, tensors):
    """Choose tensors to lie in the storages of outputs before those are written.

    The largest that fits is taken away from the point where most bytes are live, again and again,
    as long as that lowers the most. An output's storage does not grow.

    Parameters
    ----------
    outputs : list of Allocation
        Each has a storage of its own, which it begins and fills.
    tensors : list of Allocation
        Those that share one arena otherwise.

    Returns
    -------
    dict of int to (int, int)
        By the index of a tensor that of an output, and the byte offset in its storage.
    """
    rooms = [_Room(output) for output in outputs]
    fitting = [
        i for i, tensor in enumerate(tensors) if any(room.can_hold(tensor) for room in rooms)
    ]
    if not fitting:
        return {}
    load = np.zeros(1 + max(tensor.live[-1][1] for tensor in tensors), dtype="int64")
    for tensor in tensors:
        _add(load, tensor, 1)
    least, moves, kept = load.max(), [], 0
    while True:
        peak = load.argmax()
        here = [i for i in fitting if any(a <= peak < b for a, b in tensors[i].live)]
        move = _move(rooms, tensors, sorted(here, key=lambda i: -tensors[i].size))
        if move is None:
            return {i: (room, offset) for i, room, offset in moves[:kept]}
        fitting.remove(move[0])
        _add(load, tensors[move[0]], -1)
        moves.append(move)
        if load.max() < least:
            least, kept = load.max(), len(moves)


def _move(rooms, tensors, candidates):
    """The first of some tensors that a room has a place for: (tensor, room, offset), or None."""
    for i in candidates:
        for number, room in enumerate(rooms):
            offset = room.take(tensors[i])
            if offset is not None:
                return i, number, offset
    return None


def _add(load, tensor, sign):
    for begin, end in tensor.live:
        load[begin:end] += sign * rounded(tensor.size, ALIGNMENT)


class _Room:
    """The storage of an output."""

    def __init__(self, output):
        self._output = output
        self._held = [(0, output)]

    def can_hold(self, tensor):
        """Whether a tensor fits when nothing but the output is there."""
        alike = tensor.memory == self._output.memory and tensor.size <= self._output.size
        return alike and not meet(tensor.live, self._output.live)

    def take(self, tensor):
        """The lowest offset where a tensor fits, or None where there is none."""
        if not self.can_hold(tensor):
            return None
        beside = sorted(
            (offset, held.size) for offset, held in self._held if meet(held.live, tensor.live)
        )
        lowest = 0
        for offset, size in beside:
            if lowest + tensor.size <= offset:
                break
            lowest = max(lowest, rounded(offset + size, ALIGNMENT))
        if lowest + tensor.size > self._output.size:
            return None
        self._held.append((lowest, tensor))
        return lowest
