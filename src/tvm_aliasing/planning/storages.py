"""From the allocations of a function to its storages: what the planners decide, as data."""

from typing import NamedTuple

from ..analysis.alias_classes import Memory
from .allocations import Allocation
from .packing import Buffer, cut, height, pack
from .room import move_to_outputs
from .tokens import Request, assign


class Storage(NamedTuple):
    """Bytes that hold tensors.

    Attributes
    ----------
    memory : Memory
    dtype : str
    size : int
        Bytes.
    held : tuple of (Allocation, int)
        The tensors in the order of the program, each with its byte offset.
    """

    memory: Memory
    dtype: str
    size: int
    held: tuple[tuple[Allocation, int], ...]

    @property
    def path(self):
        """The branches that lead to all that it holds."""
        common = []
        for steps in zip(*(allocation.path for allocation, _ in self.held)):
            if any(step != steps[0] for step in steps):
                break
            common.append(steps[0])
        return tuple(common)


def token_storages(allocations):
    """One storage a token, each tensor at offset 0, chosen by TVM's rule.

    Tensors of one device, scope and dtype share storages, and no others. Outputs are left out.
    """
    shared = [allocation for allocation in allocations if not allocation.returned]
    requests = [Request((a.memory, a.dtype), a.size, a.live) for a in shared]
    token_of, sizes = assign(requests)
    held = [[] for _ in sizes]
    for allocation, token in zip(shared, token_of):
        held[token].append((allocation, 0))
    return [
        Storage(tensors[0][0].memory, tensors[0][0].dtype, size, tuple(tensors))
        for tensors, size in zip(held, sizes)
    ]


def arena_storages(allocations):
    """One arena for each device and scope, tensors packed in it by their lifetimes.

    An arena is cut into storages at each address that no tensor crosses: it takes as many bytes,
    and each storage is given back after its own last use. Outputs have storages of their own, in
    which other tensors may lie before. What cannot be used at an offset is left out.
    """
    outputs = [a for a in allocations if a.returned and not a.path]
    shared = [a for a in allocations if a.takes_offset and not a.returned]
    moved = move_to_outputs(outputs, shared)
    position = {allocation.var: i for i, allocation in enumerate(allocations)}
    storages = []
    for number, output in enumerate(outputs):
        held = [(shared[i], offset) for i, (room, offset) in moved.items() if room == number]
        if held:
            # What is used first need not be allocated first.
            held = sorted([*held, (output, 0)], key=lambda tensor: position[tensor[0].var])
            storages.append(Storage(output.memory, output.dtype, output.size, tuple(held)))
    inside = {}
    for i, allocation in enumerate(shared):
        if i not in moved:
            inside.setdefault(allocation.memory, []).append(allocation)
    for memory, tensors in inside.items():
        buffers = [Buffer(allocation.size, allocation.live) for allocation in tensors]
        for part in cut(buffers, pack(buffers)):
            size = height([buffers[i] for i, _ in part], [offset for _, offset in part])
            held = tuple((tensors[i], offset) for i, offset in part)
            storages.append(Storage(memory, "uint8", size, held))
    return storages
