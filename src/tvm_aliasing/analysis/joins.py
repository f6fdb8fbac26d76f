"""Kernels that put their inputs together: concat and stack along the first axis, and updates."""

from tvm import sym, tirx

from ..values import element_count
from .moves import moves


def pieces_joined(kernel):
    """The inputs that a kernel lays one after the other, where it does nothing else.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
        In destination-passing style: the last buffer is the output.

    Returns
    -------
    list of (int, Expr), or None
        The position of each input among the parameters and the element of the output with which it
        begins, in order. None where a piece is no whole input or no contiguous range: in a concat
        along an inner axis, say.
    """
    analyzer = sym.Analyzer()
    output = kernel.params[-1]
    position = {param: i for i, param in enumerate(kernel.params)}
    pieces, end = [], tirx.const(0, "int64")
    left = list(moves(kernel) or ())
    while left:
        move = next((move for move in left if _begins_at(move, end, analyzer)), None)
        if move is None or not move.dest.same_as(output) or move.source not in position:
            return None
        if not _is_whole(move, analyzer):
            return None
        pieces.append((position[move.source], move.dest_begin))
        end = end + move.count
        left.remove(move)
    covered = analyzer.can_prove_equal(end, element_count(output.ty.shape))
    return pieces if covered and len(pieces) > 1 else None


def pieces_updated(kernel):
    """The inputs that a kernel puts into a copy of another one, where it does nothing else.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
        In destination-passing style: the last buffer is the output.

    Returns
    -------
    (int, list of (int, Expr)), or None
        The position of the input that is updated; and of each one put into it the position, and
        the element with which it begins there, in order.
    """
    analyzer = sym.Analyzer()
    output = kernel.params[-1]
    position = {param: i for i, param in enumerate(kernel.params)}
    found = []
    for move in moves(kernel) or ():
        known = move.source in position and move.dest_begin is not None
        if not known or not move.dest.same_as(output) or not _is_whole(move, analyzer):
            return None
        found.append((position[move.source], move.dest_begin))
    sources = {source for source, _ in found}
    if len(found) < 2 or len(sources) < len(found):
        return None
    (updated, begin), *pieces = found
    count = element_count(kernel.params[updated].ty.shape)
    covers = analyzer.can_prove_equal(count, element_count(output.ty.shape))
    return (updated, pieces) if covers and analyzer.can_prove_equal(begin, 0) else None


def _is_whole(move, analyzer):
    """Whether a move takes all of its source."""
    count = element_count(move.source.ty.shape)
    whole = analyzer.can_prove_equal(move.count, count)
    return whole and analyzer.can_prove_equal(move.source_begin, 0)


def _begins_at(move, element, analyzer):
    return move.dest_begin is not None and analyzer.can_prove_equal(move.dest_begin, element)
