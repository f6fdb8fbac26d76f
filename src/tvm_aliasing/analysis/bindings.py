"""Small questions about the bindings of a Relax function."""

from functools import cache

from tvm import ir, relax

from .expressions import variables
from .operators import LOWERED

_operator = cache(ir.Op.get)


def bindings_of(body):
    """Every binding of a function's body in order, those of branches after the `If` around them."""
    for block in body.blocks:
        for binding in block.bindings[:]:
            yield binding
            value = binding.value
            if isinstance(value, relax.If):
                yield from bindings_of(value.true_branch)
                yield from bindings_of(value.false_branch)


def is_call(value, name):
    """Whether a binding's value calls the operator of a name."""
    return isinstance(value, relax.Call) and value.op.same_as(_operator(name))


def operator_of(value):
    """The name of the operator that a binding's value calls, also once it is lowered, or None."""
    if not isinstance(value, relax.Call):
        return None
    if isinstance(value.op, relax.ExternFunc):
        return LOWERED.get(value.op.global_symbol)
    return value.op.name if isinstance(value.op, ir.Op) else None


def callee_of(value, mod):
    """The function of a module that a binding's value calls, or None."""
    if isinstance(value, relax.Call) and isinstance(value.op, ir.GlobalVar):
        return mod.functions.get(value.op)
    return None


def read_by(value):
    """The variables that a binding's value reads itself: of an `If` those of its condition."""
    return operands(value.cond if isinstance(value, relax.If) else value)


def operands(value):
    """The variables that a binding's value reads, without those in shapes of a call.

    `variables` finds the same, and walks all below the value.
    """
    kind = type(value)
    if kind is relax.Var or kind is relax.DataflowVar:
        return [value]
    if _is_leaf(kind):
        return []
    if kind is relax.Tuple:
        parts = value.fields
    elif kind is relax.Call and not isinstance(value.op, relax.Var):
        parts = value.args
    else:
        return variables(value)
    return [var for part in parts[:] for var in operands(part)]


@cache
def _is_leaf(kind):
    return issubclass(kind, ir.GlobalVar | relax.ExternFunc | relax.ShapeExpr | ir.Constant)
