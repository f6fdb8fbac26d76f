"""Which bytes of each storage a function reads, and when."""

from typing import NamedTuple

from tvm import ir

from .bindings import read_by
from .byte_ranges import byte_size
from .liveness import meet
from .places import typed_leaves


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
            for var in read_by(point.binding.value) if point.binding else ():
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
