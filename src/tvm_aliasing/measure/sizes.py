"""What a planned function allocates, in numbers, and the symbolic sizes that these depend on."""

from tvm import ir, relax, tirx

from ..analysis.bindings import bindings_of, is_call
from ..values import element_count, evaluate, item_bytes


def storage_bytes(value):
    """What a binding's value allocates as storage, as an expression; None where it does not."""
    return (
        element_count(value.args[0].values)
        if is_call(value, "relax.memory.alloc_storage")
        else None
    )


def tensor_bytes(value):
    """What a binding's value allocates as a tensor, as an expression; None where it does not."""
    if is_call(value, "relax.memory.alloc_tensor"):
        return element_count(value.args[2].values) * item_bytes(value.args[3].value)
    return None


def with_match_casts(function, sizes):
    """The sizes, and those that a `match_cast` of a value of known shape gives a name to."""
    sizes = dict(sizes)
    for binding in bindings_of(function.body):
        if isinstance(binding, relax.MatchCast):
            sizes = _matched(binding.ty, binding.value.ty, sizes) | sizes
    return sizes


def sizes_within(callee, call, sizes):
    """The symbolic sizes of a called function, from what it is called with."""
    found = {}
    for param, argument in zip(callee.params, call.args):
        found |= _matched(param.ty, argument.ty, sizes)
    return found


def sizes_of_call(kernel, arguments):
    """The symbolic sizes and numbers of a kernel in a call.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
    arguments : sequence
        One for each parameter: a shape for a tensor, an integer for a number.

    Returns
    -------
    dict of Var to int
    """
    sizes = {}
    for param, argument in zip(kernel.params, arguments):
        is_buffer = isinstance(param.ty, tirx.BufferType)
        declared, given = (param.ty.shape, argument) if is_buffer else ([param], [argument])
        sizes |= {var: int(value) for var, value in zip(declared, given) if isinstance(var, ir.Var)}
    return sizes


def _matched(declared, given, sizes):
    """What the variables of a declared type stand for where a value of a given type meets it."""
    found = {}
    if isinstance(declared, relax.TupleType) and isinstance(given, relax.TupleType):
        for pair in zip(declared.fields, given.fields):
            found |= _matched(*pair, sizes)
    elif isinstance(declared, relax.TensorType | relax.ShapeType):
        for size, actual in zip(_extents(declared), _extents(given)):
            value = evaluate(actual, sizes)
            if isinstance(size, ir.Var) and value is not None:
                found[size] = value
    return found


def _extents(ty):
    shape = ty.shape if isinstance(ty, relax.TensorType) else ty
    return shape.values or () if isinstance(shape, relax.ShapeExpr | relax.ShapeType) else ()
