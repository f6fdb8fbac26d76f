"""Matmul, batched matmul, convolution: sums of products, accumulated in a tile of registers."""

from math import prod

from tvm import tirx

from .blocks import (
    axes_of,
    blocks_of,
    depends_on,
    has_condition,
    inline_spatial,
    is_output,
    is_spatial,
    largest_divisor,
    last_index,
    parallel,
    vector_bits,
    vector_lanes,
    vectorize,
)
from .rule import CPURule

#: Bits of a vector register -> rows and vectors of a tile, as many as 16 such registers hold, or 32
#: of 512 bits. From 1024 bytes on TVM would take the tile from a workspace.
_TILE = {128: (4, 2), 256: (6, 2), 512: (8, 1)}
#: The same where a padded operand is copied for each tile: a wide one copies less.
_PADDED_TILE = {128: (4, 4), 256: (6, 2), 512: (4, 2)}


class Contraction(CPURule):
    """One tile of the output at a time: its sums stay in registers until its epilogue is done.

    The tile's columns are vectors along the output's last axis. Its rows are an axis along which
    the operand that holds the columns is reused. No tile is larger than what TVM puts on the stack,
    so that the kernel needs no workspace.
    """

    def schedule(self, func, target):
        sch = inline_spatial(func, keep=_pads_a_reduction)
        blocks = blocks_of(sch)
        sums = [block for block in blocks if not is_spatial(sch, block)]
        if len(sums) != 1 or any(axes_of(sch, block) is None for block in blocks):
            return None
        (block,) = sums
        pads, outputs = sch.get_producers(block), sch.get_consumers(block)
        if len(blocks) != 1 + len(pads) + len(outputs):
            return None
        if not all(is_output(sch, output) for output in outputs):
            return None
        axes = [axis for axis, _ in axes_of(sch, block)]
        tile = _tile_axes(sch.get(block), axes)
        if tile is None or all(axis.iter_type == tirx.IterVar.DataPar for axis in axes):
            return None  # the second where every sum has one term
        _schedule(sch, block, pads, outputs or [sch.cache_write(block, 0, "global")], tile, target)
        return sch


def _pads_a_reduction(sch, block):
    """Whether a block makes the padded copy that a reduction reads: inlined, it hinders vectors."""
    return has_condition(sch, block) and not all(
        is_spatial(sch, consumer) for consumer in sch.get_consumers(block)
    )


def _tile_axes(block, axes):
    """Positions of the iterators that make a tile's rows (None: one row) and columns.

    None where the rule does not fit: the last axis of the output must be read in order.
    """
    output = block.writes[0]
    last = last_index(output)
    columns = next((i for i, axis in enumerate(axes) if axis.var.same_as(last)), None)
    if columns is None:
        return None
    var = axes[columns].var
    operands = [read for read in block.reads if not read.source.same_as(output.source)]
    with_columns = [read for read in operands if depends_on(read, var)]
    if not with_columns or not all(_in_order(read, var) for read in with_columns):
        return None
    reused = [
        i
        for i, axis in enumerate(axes)
        if axis.iter_type == tirx.IterVar.DataPar
        and i != columns
        and not any(depends_on(read, axis.var) for read in with_columns)
    ]
    return (reused[-1] if reused else None), columns


def _in_order(read, var):
    """Whether a variable moves a read along its last axis only."""
    return [index.same_as(last_index(read)) for index in depends_on(read, var)] == [True]


def _schedule(sch, block, pads, outputs, rows_and_columns, target):
    rows, columns = rows_and_columns
    axes = axes_of(sch, block)
    loops = [loop for _, loop in axes]
    lanes = vector_lanes(target, sch.get(block).writes[0].source.ty.dtype)
    most_rows, vectors = (_PADDED_TILE if pads else _TILE)[vector_bits(target)]
    work = prod(sch.get(loop).extent for loop in loops)
    sums = [loop for axis, loop in axes if axis.iter_type == tirx.IterVar.CommReduce]
    tiles = [
        loop
        for i, (axis, loop) in enumerate(axes)
        if axis.iter_type == tirx.IterVar.DataPar and i not in rows_and_columns
    ]
    width = largest_divisor(sch.get(loops[columns]).extent, lanes * vectors)
    column_tiles, column = sch.split(loops[columns], [None, width])
    tiles.append(column_tiles)
    inner = []
    if rows is not None:
        height = largest_divisor(sch.get(loops[rows]).extent, most_rows)
        row_tiles, row = sch.split(loops[rows], [None, height])
        tiles.append(row_tiles)
        inner.append(row)
    sch.reorder(*tiles, *sums, *inner, column)
    for pad in pads:
        sch.compute_at(pad, sums[-2] if len(sums) > 1 else sums[-1])
    for output in outputs:
        sch.reverse_compute_at(output, tiles[-1])
    tile = parallel(sch, tiles, work)
    for loop in inner:
        sch.unroll(loop)
    sch.unroll(vectorize(sch, column, lanes))
    for output in outputs:
        innermost = sch.get_loops(output)[-1]
        if not sch.get(innermost).same_as(sch.get(tile)):  # it is where a tile has one element
            vectorize(sch, innermost, lanes)
    sch.decompose_reduction(block, sums[0])
