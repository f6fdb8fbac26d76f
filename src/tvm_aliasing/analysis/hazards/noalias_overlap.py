"""Kernels that promise that nothing overlaps, and are given what does: kind `noalias-overlap`."""

from tvm import relax, tirx

from ..bindings import callee_of, operands
from ..places import leaves
from ..writes import written_params
from .hazard import Found, Hazard
from .storage_bytes import overlap

_NOALIAS = "tirx.noalias"


def noalias_overlaps(facts):
    """Find calls of kernels that promise `tirx.noalias` and write what overlaps another argument.

    TVM's LLVM code generator takes the promise of the kernel whose name sorts last for that of all
    kernels of a module: one that is not marked itself counts as marked where that one is.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the call.
    """
    last = _last_kernel(facts.mod)
    found = []
    for binding in facts.bindings:
        kernel = callee_of(binding.value, facts.mod)
        if not isinstance(kernel, tirx.PrimFunc):
            continue
        own = binding.value.op.name_hint
        marked = next((name for name in (own, last) if _is_marked(facts.mod[name])), None)
        if marked is None:
            continue
        arguments = list(binding.value.args)
        its_bytes = [_bytes(facts, argument) for argument in arguments]
        pair = _overlapping(its_bytes, written_params(kernel))
        if pair is not None:
            key = "noalias-overlap", binding.var
            names = [facts.label(var) for i in pair for var in operands(arguments[i])]
            found.append(Found(binding.var, key, _hazard(own, marked, names)))
    return found


def _last_kernel(mod):
    """The name of the kernel that sorts last, or None where there is none."""
    return max(
        (
            name.name_hint
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc)
        ),
        default=None,
    )


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


def _hazard(kernel, marked, names):
    written, other = names[0], names[-1]
    told = f"{kernel} writes {written} and gets it a second time"
    if written != other:
        told = f"{kernel} writes {written}, which overlaps {other}, another argument"
    if kernel == marked:
        message = f"{told}, and is marked {_NOALIAS}: take the mark off, or keep the two apart"
    else:
        message = (
            f"{told}, and {marked} is marked {_NOALIAS}, which TVM's LLVM code generator takes for "
            "a promise of every kernel: take the mark off all, or keep the two apart"
        )
    return Hazard("noalias-overlap", tuple(dict.fromkeys(names)), message)
