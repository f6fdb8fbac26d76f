"""Kernels that lay their inputs one after the other: concat and stack along the first axis."""

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
        whole = analyzer.can_prove_equal(move.source_begin, 0)
        count = element_count(move.source.ty.shape)
        if not (whole and analyzer.can_prove_equal(move.count, count)):
            return None
        pieces.append((position[move.source], move.dest_begin))
        end = end + move.count
        left.remove(move)
    covered = analyzer.can_prove_equal(end, element_count(output.ty.shape))
    return pieces if covered and len(pieces) > 1 else None


def _begins_at(move, element, analyzer):
    return move.dest_begin is not None and analyzer.can_prove_equal(move.dest_begin, element)
