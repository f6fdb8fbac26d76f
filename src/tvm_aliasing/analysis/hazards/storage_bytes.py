"""Which bytes of which storage a tensor takes, where several tensors lie in one storage."""

from typing import NamedTuple

from tvm import ir

from ..alias_classes import Root
from ..bindings import operator_of
from ..byte_ranges import apart, as_number, byte_size, same
from ..operators import IN_STORAGE
from ..places import shifted


class Bytes(NamedTuple):
    """Bytes of a tensor.

    Attributes
    ----------
    base : Root
        The storage; the tensor that was made first where nothing says more.
    root : Root
        What was made there first.
    begin, size : int, Expr or None
        The bytes of the root; None where not known.
    offset : int, Expr or None
        Where the root begins in the storage.
    room : int or None
        The most bytes of the whole root.
    """

    base: Root
    root: Root
    begin: int | ir.Expr | None
    size: int | ir.Expr | None
    offset: int | ir.Expr | None
    room: int | None


class StorageBytes:
    """From the places of a function's tensors to bytes of storages.

    Parameters
    ----------
    classes : AliasClasses
    bounds : SizeBounds
    lowered : bool
        Whether the function is what the virtual machine runs. Types no longer say there how long a
        tensor of symbolic shape is: it counts as one byte, and one at a symbolic offset as none,
        so that nothing is taken for an overlap that is none.
    """

    def __init__(self, classes, bounds, lowered):
        self._classes, self._bounds, self._lowered = classes, bounds, lowered
        self._held = {}  # root -> [(storage, offset)], room

    def of(self, ty, leaf):
        """The bytes that a tensor of a type may take: a tuple of `Bytes`, one for each root."""
        size = self._size(ty)
        return tuple(
            Bytes(base, root, begin, size, offset, room)
            for root, begin in leaf.items()
            if not self._lowered or begin is None or isinstance(begin, int)
            for held, room in [self._storages_of(root)]
            for base, offset in held
        )

    def storages_of(self, root):
        """The storages that a root may lie in, each with the byte where it begins."""
        return self._storages_of(root)[0]

    def _size(self, ty):
        size = byte_size(ty)
        return 1 if size is None and self._lowered else size

    def _storages_of(self, root):
        if root not in self._held:
            self._held[root] = self._find(root)
        return self._held[root]

    def _find(self, root):
        classes = self._classes
        made = classes.binding_of.get(root)
        if made is None or root in classes.made_in_callee:
            return [(root, 0)], None
        if operator_of(made.value) not in IN_STORAGE:
            return [(root, 0)], None
        storage, offset, shape, dtype, *_ = made.value.args
        bases = classes.of(storage) or {root: 0}
        room = self._size(made.var.ty) if self._lowered else None
        if room is None:
            room = self._bounds.size(shape, dtype.value)
        return [(base, shifted(begin, as_number(offset))) for base, begin in bases.items()], room


def overlap(one, other):
    """Whether two `Bytes` may have a byte in common."""
    if one.base != other.base:
        return False
    if one.root == other.root:
        return not apart(one.begin, one.size, other.begin, other.size, nonnegative=True)
    return not apart(*_in_storage(one), *_in_storage(other), nonnegative=True)


def are_one(one, other):
    """Whether two `Bytes` are the same ones, from the first to the last."""
    if one.base != other.base or not same(one.size, other.size):
        return False
    if one.root == other.root:
        return same(one.begin, other.begin)
    return same(shifted(one.offset, one.begin), shifted(other.offset, other.begin))


def covers(one, other):
    """Whether one has all bytes of another, both known in numbers."""
    numbers = (one.begin, one.size, other.begin, other.size)
    if one.root != other.root or not all(isinstance(number, int) for number in numbers):
        return False
    return one.begin <= other.begin and other.begin + other.size <= one.begin + one.size


def _in_storage(its):
    """Where bytes lie in their storage, and how many: of symbolic ones the most."""
    begin = shifted(its.offset, its.begin)
    if isinstance(begin, int) and isinstance(its.size, int):
        return begin, its.size
    if isinstance(its.room, int):
        return its.offset, its.room
    return begin, its.size
