"""Whether a call may be given overlapping arguments, one of which it writes."""

from tvm import tirx

from ..bindings import callee_of, operator_of
from ..in_place import overwritable
from ..operators import KERNEL_CALLS
from ..writes import loaded_params
from .storage_bytes import are_one, overlap


def overlapping(target, other):
    """The pairs of bytes of two names that may have one in common."""
    return [(one, two) for one in target.bytes for two in other.bytes if overlap(one, two)]


def is_proved(value, mod, use, other, pairs):
    """Whether a kernel may write an argument over another one, as its body shows.

    The two must be the same bytes, and each be read before it is written; or the kernel does not
    touch the other one.

    Parameters
    ----------
    value : relax.Call
    mod : tvm.IRModule
    use, other : Use
        The argument that is written, and another.
    pairs : list
        What `overlapping` finds of the two.
    """
    kernel = _kernel(value, mod)
    if kernel is None:
        return False
    if other.writes is None and other.position not in loaded_params(kernel):
        return True
    over = other.position in overwritable(kernel).get(use.position, ())
    return over and len(pairs) == 1 and are_one(*pairs[0])


def _kernel(value, mod):
    if operator_of(value) in KERNEL_CALLS:
        return mod[value.args[0]]
    callee = callee_of(value, mod)
    return callee if isinstance(callee, tirx.PrimFunc) else None
