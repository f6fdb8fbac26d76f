"""Kernels that copy contiguous ranges out of what they read: reshape, slice, split."""

from tvm import sym, tirx

from ..values import element_count, item_bytes
from .moves import moves
from .reshape_only import is_reshape_only


def ranges_viewed(kernel):
    """The ranges that a kernel's outputs are, where it does nothing but copy them out.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
        In destination-passing style.

    Returns
    -------
    dict of int to (int, Expr), or None
        For each output, by its position among the parameters, the parameter that it is a range of
        and the byte there with which it begins.
    """
    found, analyzer = {}, sym.Analyzer()
    position = {param: i for i, param in enumerate(kernel.params)}
    for move in moves(kernel) or ():
        if move.source not in position or move.dest not in position:
            return _as_reshape(kernel)
        whole = move.dest_begin is not None and analyzer.can_prove_equal(move.dest_begin, 0)
        whole = whole and analyzer.can_prove_equal(move.count, element_count(move.dest.ty.shape))
        output = position[move.dest]
        if not whole or output in found:
            return None
        begin = analyzer.simplify(move.source_begin * item_bytes(move.source.ty.dtype))
        found[output] = position[move.source], begin
    sources = {source for source, _ in found.values()}
    return found if found and not sources & found.keys() else None


def _as_reshape(kernel):
    """The same of a reshape in several steps, through buffers of its own."""
    if not is_reshape_only(kernel):
        return None
    source, output = (
        i for i, param in enumerate(kernel.params) if isinstance(param.ty, tirx.BufferType)
    )
    return {output: (source, tirx.const(0, "int64"))}
