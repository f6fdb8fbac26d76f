"""From the allocations of a function to its storages: what the planners decide, as data."""

from typing import NamedTuple

from ..analysis.alias_classes import Memory
from .allocations import Allocation
from .packing import Buffer, height, pack
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

    Tensors of one device, scope and dtype share storages, and no others.
    """
    requests = [Request((a.memory, a.dtype), a.size, a.live) for a in allocations]
    token_of, sizes = assign(requests)
    held = [[] for _ in sizes]
    for allocation, token in zip(allocations, token_of):
        held[token].append((allocation, 0))
    return [
        Storage(tensors[0][0].memory, tensors[0][0].dtype, size, tuple(tensors))
        for tensors, size in zip(held, sizes)
    ]


def arena_storages(allocations):
    """One storage for each device and scope, tensors packed in it by their lifetimes.

    What cannot be used at an offset is left out.
    """
    inside = {}
    for allocation in allocations:
        if allocation.takes_offset:
            inside.setdefault(allocation.memory, []).append(allocation)
    storages = []
    for memory, tensors in inside.items():
        buffers = [Buffer(allocation.size, allocation.live) for allocation in tensors]
        offsets = pack(buffers)
        held = tuple(zip(tensors, offsets))
        storages.append(Storage(memory, "uint8", height(buffers, offsets), held))
    return storages
