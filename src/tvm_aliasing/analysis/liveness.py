"""When each storage of a Relax function is live: from its first use to its last, on every path."""

from bisect import bisect_left
from typing import NamedTuple

from tvm import relax

from .bindings import callee_of, operator_of, read_by
from .operators import ALLOCATIONS
from .places import leaves, roots_of


class Point(NamedTuple):
    """A moment of a function.

    Attributes
    ----------
    path : tuple
        Which branches lead to it: pairs of the point of an `If` and a branch.
    binding : Binding or None
        What runs; None where a called function's results begin to live, and at the return.
    """

    path: tuple
    binding: relax.Binding | None


class Liveness:
    """What is used when in one function.

    A root is live from its first use to its last, and what the function returns to the end. A
    tensor of which another is a view is live as long as that one. Allocating is not a use. In a
    branch that no later use can follow from, it is not live.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
    classes : AliasClasses
        Of that function.

    Attributes
    ----------
    points : list of Point
        In order; those of both branches of an `If` follow it, the true one first.
    uses : dict of Root to list of int
        The points that use it, in order.
    point_of : dict of Var to int
        The point of each binding.
    """

    def __init__(self, mod, function, classes):
        self._mod, self._classes = mod, classes
        self.points, self.uses, self.point_of = [], {}, {}
        self._visit(function.body, ())
        self._point((), None, roots_of(classes.result))
        self._in_branches = [i for i, point in enumerate(self.points) if point.path]

    def live(self, root):
        """The points at which a root is live, as half-open ranges in order."""
        return self.live_over(self.uses.get(root, ()))

    def live_over(self, uses):
        """The points at which what has uses at given points, in order, is live."""
        if not uses:
            return ()
        begin, end = uses[0], uses[-1] + 1
        # Outside branches every point between two uses lies on a path with both.
        inside = self._in_branches
        inside = inside[bisect_left(inside, begin) : bisect_left(inside, end)]
        ranges = []
        for point in (*(point for point in inside if not self._is_live(uses, point)), end):
            if begin < point:
                ranges.append((begin, point))
            begin = point + 1
        return tuple(ranges)

    def _is_live(self, uses, point):
        """Whether there is a use before a point and one after, on one path with it."""
        path = self.points[point].path

        def on_path(use):
            return meet(path, self.points[use].path)

        first = next(filter(on_path, uses), None)
        last = next(filter(on_path, reversed(uses)), None)
        return first is not None and first <= point <= last

    def _visit(self, body, path):
        for block in body.blocks:
            for binding in block.bindings[:]:
                value = binding.value
                here = len(self.points)
                self.point_of[binding.var] = here
                made = self._classes.places[binding.var]
                if operator_of(value) in ALLOCATIONS:
                    self._point(path, binding, ())
                elif isinstance(value, relax.If):
                    self._point(path, binding, roots_read(value, self._classes))
                    self._visit(value.true_branch, (*path, (here, True)))
                    self._visit(value.false_branch, (*path, (here, False)))
                elif isinstance(callee_of(value, self._mod), relax.Function):
                    read = roots_read(value, self._classes)
                    self._point(path, binding, read)
                    self._point(path, None, roots_of(made) - read)
                else:
                    read = roots_read(value, self._classes)
                    self._point(path, binding, read | roots_of(made))

    def _point(self, path, binding, roots):
        for root in roots:
            self.uses.setdefault(root, []).append(len(self.points))
        self.points.append(Point(path, binding))


def roots_read(value, classes):
    """The roots that a binding's value reads.

    Of an `If` those of its condition; of a field of a tuple not those of the other fields.

    Parameters
    ----------
    value : relax.Expr
    classes : AliasClasses

    Returns
    -------
    set of Root
    """
    if isinstance(value, relax.TupleGetItem):
        return roots_of(classes.of(value))
    places = [classes.places.get(var, {}) for var in read_by(value)]
    return {root for place in places for leaf in leaves(place) for root in leaf}


def meet(path, other):
    """Whether one run can take both paths."""
    return not (path and other) or all(
        branch == dict(other).get(branching, branch) for branching, branch in path
    )
