"""Which bytes of each storage a function reads, and when."""

from typing import NamedTuple

from tvm import ir, relax, sym, tirx

from ..values import element_count, item_bytes
from .bindings import operands
from .liveness import meet
from .places import typed_leaves
from .symbols import has_byte_ranges


class Read(NamedTuple):
    """Bytes that are read at a point; None where it is not known which, or how many."""

    point: int
    begin: int | ir.Expr | None
    size: int | ir.Expr | None


class Reads:
    """The reads of one function, by root.

    What only gives a value another name counts as a read, as it does for `Liveness`.

    Parameters
    ----------
    classes : AliasClasses
    liveness : Liveness
    """

    def __init__(self, classes, liveness):
        self._liveness = liveness
        self._reads = {}
        for number, point in enumerate(liveness.points):
            for var in _read_by(point.binding):
                self._note(number, var.ty, classes.of(var))
        self._note(len(liveness.points) - 1, classes.function.ret_ty, classes.result)

    def after(self, point, root):
        """The reads of a root that can follow a point, with those of the result at the end."""
        return [read for read in self.beside(point, root) if read.point > point]

    def beside(self, point, root):
        """The reads of a root on paths with a point, before and after it."""
        path = self._liveness.points[point].path
        return [
            read
            for read in self._reads.get(root, ())
            if meet(path, self._liveness.points[read.point].path)
        ]

    def _note(self, point, ty, places):
        for tensor, leaf in typed_leaves(ty, places):
            for root, begin in leaf.items():
                self._reads.setdefault(root, []).append(Read(point, begin, byte_size(tensor)))


def byte_size(ty):
    """Bytes of a tensor type, an integer or an expression; None where it does not say."""
    if not isinstance(ty, relax.TensorType) or not has_byte_ranges(ty):
        return None
    size = sym.Analyzer().simplify(element_count(ty.shape.values) * item_bytes(ty.dtype))
    return as_number(size)


def as_number(size):
    """An integer where an expression is one."""
    return int(size) if isinstance(size, tirx.IntImm) else size


def apart(begin, size, other_begin, other_size):
    """Whether two ranges of one storage are proved to have no byte in common."""
    if None in (begin, size, other_begin, other_size):
        return False
    analyzer = sym.Analyzer()
    return bool(
        analyzer.can_prove(begin + size <= other_begin)
        or analyzer.can_prove(other_begin + other_size <= begin)
    )


def may_overlap(one, other, classes):
    """Whether two tensors may have a byte in common."""
    places, others = classes.of(one), classes.of(other)
    return any(
        not apart(places[root], byte_size(one.ty), others[root], byte_size(other.ty))
        for root in places.keys() & others.keys()
    )


def same(one, other):
    """Whether two numbers of bytes are known and equal."""
    return one is not None and other is not None and sym.Analyzer().can_prove_equal(one, other)


def _read_by(binding):
    if binding is None:
        return []
    value = binding.value
    return operands(value.cond if isinstance(value, relax.If) else value)
