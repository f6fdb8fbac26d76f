"""Ranges of bytes: how many a tensor takes, and whether two have one in common."""

from math import prod

import tvm
from tvm import ir, relax, sym, tirx

from ..values import element_count, item_bytes
from .expressions import variables


def has_byte_ranges(ty):
    """Whether a tensor type says how many bytes each range of elements takes."""
    sized = isinstance(ty.shape, relax.ShapeExpr) and ty.dtype is not None
    return sized and tvm.DataType(ty.dtype).bits % 8 == 0


def byte_size(ty):
    """Bytes of a tensor type, an integer or an expression; None where it does not say."""
    if not isinstance(ty, relax.TensorType) or not has_byte_ranges(ty):
        return None
    extents = ty.shape.values
    if all(isinstance(extent, tirx.IntImm) for extent in extents):
        return prod((int(extent) for extent in extents), start=item_bytes(ty.dtype))
    size = sym.Analyzer().simplify(element_count(ty.shape.values) * item_bytes(ty.dtype))
    return as_number(size)


def as_number(size):
    """An integer where an expression is one."""
    return int(size) if isinstance(size, tirx.IntImm) else size


def apart(begin, size, other_begin, other_size, nonnegative=False):
    """Whether two ranges of one storage are proved to have no byte in common.

    With `nonnegative` no symbolic size is taken to be less than 0.
    """
    if None in (begin, size, other_begin, other_size):
        return False
    if all(isinstance(n, int) for n in (begin, size, other_begin, other_size)):
        return begin + size <= other_begin or other_begin + other_size <= begin
    analyzer = sym.Analyzer()
    if nonnegative:
        numbers = (begin, size, other_begin, other_size)
        for var in {v for n in numbers if not isinstance(n, int) for v in variables(n)}:
            analyzer.bind(var, ir.Range(0, 2**31))
    return bool(
        analyzer.can_prove(begin + size <= other_begin)
        or analyzer.can_prove(other_begin + other_size <= begin)
    )


def may_overlap(one, other, classes):
    """Whether two tensors may have a byte in common."""
    places, others = classes.of(one), classes.of(other)
    return any(
        not apart(places[root], byte_size(one.ty), others[root], byte_size(other.ty))
        for root in places.keys() & others.keys()
    )


def same(one, other):
    """Whether two numbers of bytes are known and equal."""
    if one is None or other is None:
        return False
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    return sym.Analyzer().can_prove_equal(one, other)
