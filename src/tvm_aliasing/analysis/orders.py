"""In which other orders the bindings of a block mean the same."""

from tvm import ir, relax
from tvm.relax.analysis import contains_impure_call

from .bindings import operator_of
from .expressions import variables
from .operators import IN_PLACE

_PLAIN = (relax.Tuple, relax.TupleGetItem, relax.Var, relax.ShapeExpr, ir.Constant)


def may_move(binding):
    """Whether a binding only makes a value of values, so that what runs around it does not matter.

    What does not stays where it is, and nothing moves across it: an `If`, what has effects, what
    writes over an argument, a `match_cast` (it names sizes), a call of a Relax function (it may
    write over its arguments).
    """
    value = binding.value
    if isinstance(binding, relax.MatchCast):
        return False
    if isinstance(value, relax.Call):
        operator = operator_of(value)
        return not (operator is None or operator in IN_PLACE or contains_impure_call(value))
    return isinstance(value, _PLAIN)


def blocks_of(body):
    """Every block of a function's body, those of branches among them."""
    for block in body.blocks:
        yield block
        for binding in block.bindings[:]:
            if isinstance(binding.value, relax.If):
                yield from blocks_of(binding.value.true_branch)
                yield from blocks_of(binding.value.false_branch)


def runs(bindings):
    """The ranges of consecutive bindings of a block that may all move, two at least, in order."""
    stay = [i for i, binding in enumerate(bindings) if not may_move(binding)]
    between = zip([-1, *stay], [*stay, len(bindings)])
    return [range(begin + 1, end) for begin, end in between if end - begin > 2]


def needs(bindings):
    """What each binding of a block needs of the same block: sets of positions, by position."""
    position = {binding.var: i for i, binding in enumerate(bindings)}
    return [
        {position[var] for var in _read(binding) if var in position} - {i}
        for i, binding in enumerate(bindings)
    ]


def _read(binding):
    """The variables that a binding reads, symbolic sizes included."""
    return variables(binding.value) + variables(binding.var.ty)


def neighbours(order, needs):
    """Each binding alone, and with what only it needs, as late and as early as it may stand.

    Parameters
    ----------
    order : tuple of int
        The bindings of a run, by their positions in the block as it was written.
    needs : list of set of int
        As `needs` gives them.

    Yields
    ------
    tuple
        What moves (a tuple of positions, in order), whether later, and the order that results.
    """
    for last in order:
        for group in dict.fromkeys(((last,), _with_its_own(last, order, needs))):
            for later in (True, False):
                moved = _moved(group, later, order, needs)
                if moved != order:
                    yield group, later, moved


def _with_its_own(last, order, needs):
    """A binding after what nothing else of the run needs, directly or not."""
    group = {last}
    for candidate in reversed(order[: order.index(last)]):
        readers = {reader for reader in order if candidate in needs[reader]}
        if readers and readers <= group:
            group.add(candidate)
    return tuple(i for i in order if i in group)


def _moved(group, later, order, needs):
    """The order with a group together: before what first needs it, or after all that it needs."""
    others = [i for i in order if i not in group]
    if later:
        at = next((at for at, i in enumerate(others) if needs[i] & set(group)), len(others))
    else:
        needed = set().union(*(needs[i] for i in group))
        at = max((at + 1 for at, i in enumerate(others) if i in needed), default=0)
    return (*others[:at], *group, *others[at:])


def named(binding):
    """A binding in words: its variable, and the kernel or operator that it calls."""
    value, operator = binding.value, operator_of(binding.value)
    kernel = operator == "relax.call_tir" and isinstance(value.args[0], ir.GlobalVar)
    runs_there = value.args[0].name_hint if kernel else operator or type(value).__name__
    return f"{binding.var.name} ({runs_there})"
