"""Tensors at an offset that are read from the first byte of their storage: kind `offset-abi`."""

from tvm import relax, tirx

from ..bindings import callee_of, operands, operator_of
from ..offsets import read_from_first_byte, takes_offset
from ..operators import AT_ZERO, BYTELESS, BYTELESS_PACKED
from ..places import typed_leaves
from .hazard import Found, Hazard, call_name


def offset_abi(facts, offsets):
    """Find arguments that may begin inside a storage, where whoever reads them cannot take that.

    A kernel takes an offset that its buffer declares. A packed function, the condition of an `If`
    and what the virtual machine itself does read from the first byte. Of a packed function that may
    return an argument, the result is not known to begin elsewhere.

    Parameters
    ----------
    facts : Facts
        Of a planned function.
    offsets : Offsets
        Of the same, on its `trustful` facts.

    Returns
    -------
    list of Found
    """
    found = []
    for binding in facts.bindings:
        value = binding.value
        kernel = callee_of(value, facts.mod)
        if isinstance(kernel, relax.Function):
            continue  # its own calls meet the offset
        if isinstance(kernel, tirx.PrimFunc):
            met = [
                (value.args[i], alignment)
                for i, alignment in offsets.met_by_kernel(value)
                if alignment and not takes_offset(kernel, i, 0 if facts.lowered else alignment)
            ]
        else:
            met = _met_by_other(facts, offsets, value)
        for argument, alignment in met:
            named = operands(argument)
            if named:
                key = "offset-abi", binding.var, named[0]
                hazard = _hazard(facts, value, named[0], alignment)
                found.append(Found(binding.var, key, hazard))
    return found


def _met_by_other(facts, offsets, value):
    """What begins inside a storage and is read from the first byte, with its alignment."""
    operator = operator_of(value)
    packed = value.op if isinstance(value, relax.Call) else None
    if operator in (*BYTELESS, *AT_ZERO) or (
        isinstance(packed, relax.ExternFunc) and packed.global_symbol in BYTELESS_PACKED
    ):
        return
    for var in read_from_first_byte(facts.mod, value):
        for ty, leaf in typed_leaves(var.ty, facts.trustful.classes.of(var)):
            alignment = offsets.alignment(leaf, ty)
            if alignment:
                yield var, alignment
                break


def _hazard(facts, value, var, alignment):
    call, named = call_name(value), facts.label(var)
    if isinstance(value, relax.If):
        call = "the condition of an If"
    message = (
        f"{named} may begin at a multiple of {alignment} bytes inside its storage, and {call} "
        "takes it from byte 0 only: copy it first, or let the kernel's buffer declare an offset"
    )
    return Hazard("offset-abi", (named,), message)
