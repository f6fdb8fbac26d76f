"""Elementwise kernels, copies, transposes: nothing but spatial blocks."""

from math import prod

from .blocks import (
    axes_of,
    blocks_of,
    divides,
    inline_spatial,
    is_spatial,
    parallel,
    vector_lanes,
    vectorize,
)
from .rule import CPURule


class Spatial(CPURule):
    """Everything computed at the outputs; the last axis in vectors, the others shared out."""

    def schedule(self, func, target):
        sch = inline_spatial(func)
        blocks = blocks_of(sch)
        if any(axes_of(sch, b) is None or not is_spatial(sch, b) for b in blocks):
            return None
        for block in blocks:
            schedule_elements(sch, block, [loop for _, loop in axes_of(sch, block)], target)
        return sch


def schedule_elements(sch, block, loops, target):
    """Share the iterations of a spatial block's loops among threads, in vectors."""
    if not loops:
        return
    lanes = vector_lanes(target, sch.get(block).writes[0].source.ty.dtype)
    elements = prod(sch.get(loop).extent for loop in loops)
    if len(loops) == 1 or not divides(lanes, sch.get(loops[-1]).extent):
        every = sch.fuse(*loops) if len(loops) > 1 else loops[0]
        while lanes > 1 and not divides(lanes, elements):
            lanes //= 2
        loops = sch.split(every, [None, lanes])
    parallel(sch, loops[:-1], elements)
    vectorize(sch, loops[-1], lanes)
