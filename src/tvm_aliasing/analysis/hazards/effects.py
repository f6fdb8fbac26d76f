"""What each binding reads and writes: which of its arguments, and how surely."""

from typing import NamedTuple

from tvm import ir, relax, tirx

from ..bindings import callee_of, operands, operator_of
from ..operators import (
    AT_ZERO,
    BYTELESS,
    BYTELESS_PACKED,
    ELIDED,
    EXTERN_CALLS,
    KERNEL_CALLS,
    TIE,
    VIEWS,
)
from ..writes import handed_on, needed_params, stored_params


class Use(NamedTuple):
    """An argument of a call.

    Attributes
    ----------
    argument : relax.Expr
    position : int
        Among the parameters of the callee, or the arguments of another call.
    writes : str or None
        `all`: every tensor in it. `empty`: those that hold nothing yet, which is how a function
        outside the module is given a place for its result. A tuple: the tensors at these paths.
    kernel : tvm.tirx.PrimFunc or None
        The callee, where that is one.
    """

    argument: relax.Expr
    position: int
    writes: str | tuple | None = None
    kernel: tirx.PrimFunc | None = None

    @property
    def reads(self):
        """Whether what the argument holds before the call may be read."""
        if self.kernel is None or self.writes != "all":
            return True
        return self.position in needed_params(self.kernel)


def uses_of(binding, facts):
    """The uses of a binding's value; of an `If` those of its condition.

    Views and renamings are none: they only give a name to bytes.

    Parameters
    ----------
    binding : relax.Binding
    facts : Facts

    Returns
    -------
    list of Use
    """
    if binding.var not in facts.uses:
        facts.uses[binding.var] = _uses_of(binding.value, facts)
    return facts.uses[binding.var]


def _uses_of(value, facts):
    if isinstance(value, relax.If):
        return [Use(value.cond, 0)]
    if not isinstance(value, relax.Call):
        return []
    operator, callee = operator_of(value), callee_of(value, facts.mod)
    if operator in BYTELESS or operator in (*VIEWS, *AT_ZERO):
        return []
    if operator in ELIDED and (facts.elided or isinstance(value.op, relax.ExternFunc)):
        return []
    if isinstance(callee, tirx.PrimFunc):
        return _of_kernel(callee, list(value.args), stored_params(callee))
    if operator in KERNEL_CALLS:
        kernel, arguments = facts.mod[value.args[0]], list(value.args[1])
        return _of_kernel(kernel, arguments, {*stored_params(kernel), *_in_place(value)})
    if isinstance(callee, relax.Function):
        written = written_by(facts.others[value.op])
        return [
            Use(argument, i, writes=tuple(tuple(path) for at, *path in written if at == i) or None)
            for i, argument in enumerate(value.args)
        ]
    if operator == "relax.call_inplace_packed":
        written = _in_place(value)
        return [
            Use(argument, i, writes="all" if i in written else None)
            for i, argument in enumerate(value.args[1:])
        ]
    return _of_other(value, operator)


def _in_place(call):
    """The positions of the arguments that a call names as places of its results."""
    indices = getattr(call.attrs, "inplace_indices", None) or ()
    return {int(index) for index in indices if int(index) >= 0}


def _of_kernel(kernel, arguments, written):
    pointers = handed_on(kernel)
    found = []
    for i, argument in enumerate(arguments):
        if not isinstance(argument.ty, relax.TensorType):
            continue
        handed = bool(pointers) and kernel.params[i] in pointers
        writes = "all" if i in written else "empty" if handed else None
        found.append(Use(argument, i, writes, kernel))
    return found


def _of_other(value, operator):
    """A packed function may fill what is empty; an operator of Relax only reads."""
    packed = isinstance(value.op, relax.ExternFunc)
    if packed and value.op.global_symbol in BYTELESS_PACKED:
        return []
    if operator == "relax.call_pure_packed" and value.args[0].global_symbol == TIE:
        return [Use(value.args[1], 0)]
    outside = operator is None or operator in EXTERN_CALLS
    # A closure is read with what it has captured.
    read = [value.op] if isinstance(value.op, ir.Var) else []
    return [
        Use(var, i, writes="empty" if outside else None)
        for i, var in enumerate([*read, *(v for part in value.args for v in operands(part))])
        if not isinstance(var.ty, ir.PrimType | relax.ShapeType)
    ]


def written_by(facts):
    """The parameters that a function writes: positions, each followed by those of fields.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    frozenset of tuple of int
    """
    if facts.written is None:
        facts.written = frozenset()  # what a recursive call sees
        facts.written = frozenset(
            root.site
            for binding in facts.bindings
            for use in uses_of(binding, facts)
            for leaf in written_leaves(facts.classes.of(use.argument), use.writes)
            for root in leaf
            if root.kind == "param"
        )
    return facts.written


def written_leaves(places, writes, path=()):
    """The tensors in an argument, as its places have them, that are surely written."""
    if isinstance(places, list):
        for i, field in enumerate(places):
            yield from written_leaves(field, writes, (*path, i))
    elif writes == "all" or (isinstance(writes, tuple) and path in writes):
        yield places
