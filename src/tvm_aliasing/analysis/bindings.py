"""Small questions about the bindings of a Relax function."""

from tvm import ir, relax


def bindings_of(body):
    """Every binding of a function's body in order, those of branches after the `If` around them."""
    for block in body.blocks:
        for binding in block.bindings:
            yield binding
            if isinstance(binding.value, relax.If):
                yield from bindings_of(binding.value.true_branch)
                yield from bindings_of(binding.value.false_branch)


def is_call(value, name):
    """Whether a binding's value calls the operator of a name."""
    return isinstance(value, relax.Call) and value.op.same_as(ir.Op.get(name))


def callee_of(value, mod):
    """The function of a module that a binding's value calls, or None."""
    if isinstance(value, relax.Call) and isinstance(value.op, ir.GlobalVar):
        return mod.functions.get(value.op)
    return None
