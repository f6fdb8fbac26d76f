"""Softmax, normalisations, reductions: a row of the result at a time."""

from math import prod

from .blocks import (
    axes_of,
    blocks_of,
    depends_on,
    inline_spatial,
    is_output,
    is_spatial,
    parallel,
    vector_lanes,
    vectorize,
)
from .rule import CPURule


class Rows(CPURule):
    """All reductions of a row are computed where its result is, so that each holds one number.

    What lies between two reductions is computed again in each of them: softmax takes two
    exponentials for each element and needs no buffer.
    """

    def schedule(self, func, target):
        sch = inline_spatial(func)
        blocks = blocks_of(sch)
        if any(axes_of(sch, block) is None for block in blocks):
            return None
        outputs = [block for block in blocks if is_output(sch, block)]
        reductions = [block for block in blocks if not is_spatial(sch, block)]
        if len(outputs) != 1 or not reductions:
            return None
        (output,) = outputs
        if not is_spatial(sch, output):
            output = sch.cache_write(output, 0, "global")
        if len(blocks_of(sch)) != 1 + len(reductions):
            return None
        row, within = _row_axes(sch, output, reductions)
        if not row:
            return None
        work = prod(sch.get(loop).extent for _, loop in axes_of(sch, reductions[0]))
        sch.reorder(*row, *within)
        for block in reversed(reductions):
            sch.compute_at(block, row[-1])
        parallel(sch, row, work)
        if within:
            lanes = vector_lanes(target, sch.get(output).writes[0].source.ty.dtype)
            vectorize(sch, within[-1], lanes)
        return sch


def _row_axes(sch, output, reductions):
    """The loops of the output that say which number of a reduction it reads, and the others."""
    reduced = [sch.get(block).writes[0].source for block in reductions]
    reads = [
        read
        for read in sch.get(output).reads
        if any(read.source.same_as(buffer) for buffer in reduced)
    ]
    row, within = [], []
    for axis, loop in axes_of(sch, output):
        chooses = any(depends_on(read, axis.var) for read in reads)
        (row if chooses else within).append(loop)
    return row, within
