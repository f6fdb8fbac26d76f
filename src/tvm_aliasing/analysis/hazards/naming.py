"""How the variables of a function get their names, in the order in which it is walked."""

from dataclasses import replace

from tvm import relax

from ..bindings import operands, operator_of
from ..operators import ALLOCATIONS
from ..places import typed_leaves
from .names import Name, State, leaves_of
from .storage_bytes import overlap


class Names:
    """The names of a function's tensors at a point of it.

    Parameters
    ----------
    facts : Facts

    Attributes
    ----------
    state : State
        What they stand for on the path that is walked.
    point : int
        Bindings and ends of branches, counted as they come.
    """

    def __init__(self, facts):
        self._facts, self._classes = facts, facts.classes
        self.state, self.point = State(), 0
        self._of = {}  # variable -> its names, nested as its type
        self._last_use = _last_uses(facts.function)
        self._ending = {}  # point -> the names that nothing mentions after it
        self._cells = []  # by number the last use of a name in it

    def of(self, expr):
        """The names of a value's tensors, nested as its type; None for what is no tensor's."""
        if isinstance(expr, relax.Tuple):
            return [self.of(field) for field in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            names = self.of(expr.tuple_value)
            return names[expr.index] if isinstance(names, list) else names
        return self._of.get(expr) if isinstance(expr, relax.Var) else None

    def give(self, var, sources=(), how="made"):
        """Give a variable's tensors their names.

        Parameters
        ----------
        var : relax.Var
        sources : sequence of names
            What they may be other names of, or were made in.
        how : str
            Which of that: `view`; `renaming`, which means what is there now; `field` of a tuple,
            which means what was there when that was made; `made`.
        """
        places = self._classes.places[var]
        tensors = list(typed_leaves(var.ty, places))
        aligned = [leaves_of(source) for source in sources]
        made = []
        for i, (ty, leaf) in enumerate(tensors):
            if not leaf or isinstance(ty, relax.ShapeType):
                made.append(None)
                continue
            its_sources = [
                name
                for source in aligned
                for name in (source if len(source) != len(tensors) else source[i : i + 1])
                if name is not None
            ]
            made.append(self._name(var, ty, leaf, its_sources, how))
        self._of[var] = _nested(places, iter(made))

    def forget(self):
        """Stop watching what nothing mentions after this point."""
        for name in self._ending.pop(self.point, ()):
            self.state.forget(name)

    def _name(self, var, ty, leaf, sources, how):
        its, last_use = self._facts.bytes.of(ty, leaf), self._last_use.get(var, 0)
        content = [piece for part in its for piece in self._content(part)]
        name = Name(var, its, *self._cell(sources, last_use, how), last_use, empty=not content)
        marks = [mark for source in sources for mark in self._inherited(source, its, how)]
        if last_use >= self.point:
            self.state.hold(name, content, marks)
            self._ending.setdefault(last_use, []).append(name)
        return name

    def _content(self, part):
        """What of some bytes holds something: all that the function has not allocated."""
        made = self._classes.binding_of.get(part.root)
        if made is not None and operator_of(made.value) in ALLOCATIONS:
            return self.state.holds(part)
        return [part]

    def _cell(self, sources, last_use, how):
        """The cell of a new name, and all that a write through it is meant for."""
        its = {source.cell for source in sources}
        if how == "view" or len(its) != 1:
            its = {len(self._cells)}
            self._cells.append(last_use)
        (cell,) = its
        self._cells[cell] = max(self._cells[cell], last_use)
        above = {cell for source in sources for cell in source.cells}
        # What nothing mentions any more is left out.
        return cell, frozenset(c for c in {cell, *above} if self._cells[c] >= self.point)

    def _inherited(self, source, its, how):
        """What a view or a renaming of a name takes over from it."""
        state = self.state
        marks = state.marks.get(source, ())
        if how == "made":
            return []
        if how == "view":
            lost = [mark for mark in marks if any(overlap(mark.bytes, part) for part in its)]
            return [replace(mark, renews=False) for mark in lost]
        if how == "field":
            return [replace(mark, renews=False) for mark in marks]
        if source in state.renamed_next:  # from now on this is the name of what was written
            state.mark(source, state.renamed_next.pop(source))
        return [mark for mark in marks if not mark.renews]


def _nested(places, made):
    """Names in the form of places."""
    if isinstance(places, list):
        return [_nested(field, made) for field in places]
    return next(made)


def _last_uses(function):
    """The last point that mentions each variable, counted as they are walked."""
    found, point = {}, 0

    def visit(body):
        nonlocal point
        for block in body.blocks:
            for binding in block.bindings[:]:
                point += 1
                value = binding.value
                if isinstance(value, relax.If):
                    found.update(dict.fromkeys(operands(value.cond), point))
                    visit(value.true_branch)
                    visit(value.false_branch)
                else:
                    found.update(dict.fromkeys(operands(value), point))
        point += 1
        found.update(dict.fromkeys(operands(body.body), point))

    visit(function.body)
    return found
