"""Symbolic sizes in numbers, beyond those that the inputs of a function give."""

from tvm import ir, relax

from ..values import evaluate


def bindings_of(body):
    """Every binding of a function's body in order, those of branches after the `If` around them."""
    for block in body.blocks:
        for binding in block.bindings:
            yield binding
            if isinstance(binding.value, relax.If):
                yield from bindings_of(binding.value.true_branch)
                yield from bindings_of(binding.value.false_branch)


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
