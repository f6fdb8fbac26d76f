"""What a PrimFunc moves: the contiguous ranges that it copies unmodified, read off its body.

One question in two strengths. `reshape_only` (K0) asks whether a kernel is one move of the whole
input to the whole output. Counting copy kernels asks whether it is nothing but moves.

Names and op patterns play no part. Whatever the body does not show, the answer is no.
"""

from dataclasses import dataclass
from functools import lru_cache

import tvm_ffi
from tvm import ir, sym, tirx

from ..values import element_count
from .expressions import divides_backwards, variables
from .loop_nests import nests


@dataclass(frozen=True)
class Move:
    """A contiguous range of one buffer, read in order and stored unmodified in another.

    Attributes
    ----------
    source, dest : Var
        The buffers.
    source_begin : Expr
        First element read, in elements of the flattened source.
    dest_begin : Expr or None
        First element written, or None where the elements written are not one contiguous range.
    count : Expr
        Number of elements moved.
    """

    source: ir.Var
    dest: ir.Var
    source_begin: ir.Expr
    dest_begin: ir.Expr | None
    count: ir.Expr


def begins_at_zero(buffer):
    """Whether a buffer's first element is the first of the memory that it is given."""
    return sym.Analyzer().can_prove_equal(buffer.ty.elem_offset, 0)


def is_compact(buffer):
    """Whether a buffer's elements lie in row-major order without gaps.

    They begin with the first of its memory, or where the caller says.
    """
    analyzer = sym.Analyzer()
    if not (begins_at_zero(buffer) or isinstance(buffer.ty.elem_offset, ir.Var)):
        return False
    if buffer.ty.layout is not None and not buffer.ty.layout.is_trivial():
        return False
    stride = tirx.const(1, "int64")
    for extent, declared in zip(reversed(buffer.ty.shape), reversed(buffer.ty.strides)):
        if not analyzer.can_prove_equal(declared, stride):
            return False
        stride = stride * extent
    return True


@lru_cache(maxsize=1024)  # several passes ask about the same kernels
def moves(func):
    """The moves that make up a PrimFunc, in order.

    Parameters
    ----------
    func : tvm.tirx.PrimFunc

    Returns
    -------
    tuple of Move, or None
        None where any statement does something else, or cannot be shown to do only this.
    """
    if _computes(func.body):
        return None  # most kernels do: their loops need no proof
    loop_nests = nests(func.body)
    if not loop_nests:
        return None
    found = []
    for nest in loop_nests:
        pieces = _pieces(nest.store.value, nest.domain)
        if pieces is None:
            return None
        for domain, load in pieces:
            move = _move(nest.store, load, domain)
            if move is None:
                return None
            found.append(move)
    return tuple(found)


def is_copy_kernel(func):
    """Whether a PrimFunc only moves contiguous data unmodified: reshape, slice, concat, identity.

    Transpose, broadcast, padding and gather are not moves, nor is a kernel that also computes.
    """
    return moves(func) is not None


def _computes(body):
    """Whether a store's value is neither a load nor a choice."""
    stores = []
    tvm_ffi.structural_walk(body, (tirx.BufferStore, stores.append))
    return not all(
        isinstance(store.value, ir.TensorLoad | tirx.Select) or _is_choice(store.value)
        for store in stores
    )


def _is_choice(value):
    return isinstance(value, ir.Call) and value.op.same_as(ir.Op.get("prim.if_then_else"))


def _pieces(value, domain):
    """Split a value that chooses among loads by its index into (domain, load), or None."""
    if isinstance(value, ir.TensorLoad):
        return [(domain, value)]
    if isinstance(value, tirx.Select):
        condition, chosen, other = value.condition, value.true_value, value.false_value
    elif _is_choice(value):
        condition, chosen, other = value.args
    else:
        return None
    split = _split(condition, domain)
    if split is None:
        return None
    inside, outside = _pieces(chosen, split[0]), _pieces(other, split[1])
    return None if inside is None or outside is None else inside + outside


def _split(condition, domain):
    """Cut a domain where a comparison of an iterator changes: (true part, false part), or None."""
    for iterator, extent in domain.items():
        found = _cut(condition, iterator, extent)
        if found is None:
            continue
        cut, upper_is_true = found
        end = extent.min + extent.extent
        analyzer = sym.Analyzer()
        for var in {*variables(cut), *variables(end)}:
            if var in domain or isinstance(var.ty, tirx.BufferType):
                return None
            analyzer.bind(var, ir.Range(0, tirx.max_value(var.ty.dtype)))  # sizes
        if not (analyzer.can_prove(extent.min <= cut) and analyzer.can_prove(cut <= end)):
            return None
        lower = {**domain, iterator: ir.Range.from_min_extent(extent.min, cut - extent.min)}
        upper = {**domain, iterator: ir.Range.from_min_extent(cut, end - cut)}
        return (upper, lower) if upper_is_true else (lower, upper)
    return None


def _cut(condition, iterator, extent):
    """Where a condition on an iterator changes, and whether it holds from there on, or None."""
    analyzer = sym.Analyzer()
    if isinstance(condition, tirx.EQ) and condition.a.same_as(iterator):
        # As a stack is legalised: it holds at the last value that is left.
        last = analyzer.can_prove_equal(condition.b + 1, extent.min + extent.extent)
        return (condition.b, True) if last else None
    if isinstance(condition, tirx.LE | tirx.LT):
        margin = condition.b - condition.a
    elif isinstance(condition, tirx.GE | tirx.GT):
        margin = condition.a - condition.b
    else:
        return None
    if isinstance(condition, tirx.LT | tirx.GT):
        margin = margin - 1
    # The condition holds where 0 <= margin: from a value of the iterator on, or up to one.
    begin = analyzer.simplify(iterator - margin)
    if iterator not in variables(begin):
        return begin, True
    end = analyzer.simplify(iterator + margin + 1)
    if iterator not in variables(end):
        return end, False
    return None


def _move(store, load, domain):
    """The move that a store of a load makes over a domain, or None where it is no move."""
    source, dest = load.source, store.buffer
    if not isinstance(source, ir.Var) or source.same_as(dest):
        return None
    if source.ty.dtype != dest.ty.dtype or not (is_compact(source) and is_compact(dest)):
        return None
    count = element_count(extent.extent for extent in domain.values())
    if sym.Analyzer().can_prove_equal(count, 0):
        zero = tirx.const(0, "int64")
        return Move(source, dest, zero, zero, count)
    source_begin = _begin(source, load.indices, domain)
    if source_begin is None:
        return None
    dest_begin = _begin(dest, store.indices, domain)
    if dest_begin is None and not _is_box(store.indices, domain):
        return None
    return Move(source, dest, source_begin, dest_begin, count)


def _begin(buffer, indices, domain):
    """Where a contiguous, in-order access over a domain begins, or None where it is not one."""
    analyzer = sym.Analyzer()
    steps, substitution, row_major = {}, {}, tirx.const(0, "int64")
    for iterator, extent in domain.items():
        step = tirx.Var(iterator.name, iterator.ty)
        steps[step] = ir.Range.from_min_extent(tirx.const(0, iterator.ty.dtype), extent.extent)
        substitution[iterator] = step + extent.min
        row_major = row_major * extent.extent + step
        analyzer.bind(step, steps[step])
    flat = tirx.const(0, "int64")
    for extent, index in zip(buffer.ty.shape, indices):
        flat = flat * extent + index
    flat = tvm_ffi.structural_map(flat, (ir.Var, lambda var: substitution.get(var, var)))
    flat = analyzer.simplify(flat)
    if divides_backwards(flat):
        return None
    begin = analyzer.simplify(_without_idle_modulos(flat, analyzer) - row_major)
    return None if any(var in steps for var in variables(begin)) else begin


def _without_idle_modulos(expr, analyzer):
    """An expression without the modulos by symbolic sizes that change nothing.

    TVM's `iter_map_simplify` drops them as well, and is wrong at times: to it
    `i // 3 * 3 + (i - 1) % 3` is `i - 1`.
    """

    def drop(modulo):
        number, size = modulo.a, modulo.b
        if isinstance(size, tirx.IntImm):
            return modulo  # the analyzer sees to those
        inside = analyzer.can_prove(number >= 0) and analyzer.can_prove(
            number < size, sym.ProofStrength.SYMBOLIC_BOUND
        )
        return number if inside else modulo

    return tvm_ffi.structural_map(expr, (tirx.FloorMod, drop))


def _is_box(indices, domain):
    """Whether an access runs through a box of its buffer in order, as a concat's writes do."""
    analyzer = sym.Analyzer()
    return len(indices) == len(domain) and not any(
        var in domain
        for index, iterator in zip(indices, domain)
        for var in variables(analyzer.simplify(index - iterator))
    )
