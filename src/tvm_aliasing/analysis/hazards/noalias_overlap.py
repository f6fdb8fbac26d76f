"""Kernels that promise that nothing overlaps, and are given what does: kind `noalias-overlap`."""

from tvm import relax, tirx

from ..bindings import callee_of, operands
from ..places import leaves
from ..writes import written_params
from .hazard import Found, Hazard
from .storage_bytes import overlap

_NOALIAS = "tirx.noalias"


def noalias_overlaps(facts):
    """Find calls of kernels marked `tirx.noalias` that write what overlaps another argument.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the call.
    """
    found = []
    for binding in facts.bindings:
        kernel = callee_of(binding.value, facts.mod)
        if not isinstance(kernel, tirx.PrimFunc) or not _is_marked(kernel):
            continue
        arguments = list(binding.value.args)
        its_bytes = [_bytes(facts, argument) for argument in arguments]
        pair = _overlapping(its_bytes, written_params(kernel))
        if pair is not None:
            key = "noalias-overlap", binding.var
            names = [facts.label(var) for i in pair for var in operands(arguments[i])]
            found.append(Found(binding.var, key, _hazard(binding.value.op.name_hint, names)))
    return found


def _is_marked(kernel):
    return bool(kernel.attrs and kernel.attrs.get(_NOALIAS, 0))


def _bytes(facts, argument):
    if not isinstance(argument.ty, relax.TensorType) or not isinstance(argument, relax.Var):
        return ()
    (leaf,) = leaves(facts.classes.of(argument))
    return facts.bytes.of(argument.ty, leaf)


def _overlapping(its_bytes, written):
    """The first written argument that overlaps another one, and that one."""
    for output in written:
        for other, theirs in enumerate(its_bytes):
            if other != output and any(overlap(a, b) for a in its_bytes[output] for b in theirs):
                return output, other
    return None


def _hazard(kernel, names):
    written, other = names[0], names[-1]
    message = (
        f"{kernel} is marked {_NOALIAS} and gets overlapping arguments: it writes {written}, which "
        f"overlaps {other}; take the mark off, or keep the two apart"
    )
    return Hazard("noalias-overlap", tuple(dict.fromkeys(names)), message)
