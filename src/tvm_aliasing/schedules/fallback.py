"""Whatever no other rule fits: the blocks stay as they are, their outer loops are shared out."""

from math import prod

from tvm import tirx

from .blocks import axes_of, blocks_of, inline_spatial, is_spatial, parallel
from .rule import CPURule
from .spatial import schedule_elements


class Fallback(CPURule):
    """Each block by itself, with the buffers between them: such a kernel may need workspace."""

    def schedule(self, func, target):
        sch = inline_spatial(func)
        for block in blocks_of(sch):
            axes = axes_of(sch, block)
            if axes is None:
                continue
            if is_spatial(sch, block):
                schedule_elements(sch, block, [loop for _, loop in axes], target)
                continue
            spatial = []
            for axis, loop in axes:
                if axis.iter_type != tirx.IterVar.DataPar:
                    break
                spatial.append(loop)
            if spatial:
                parallel(sch, spatial, prod(sch.get(loop).extent for _, loop in axes))
        return sch
