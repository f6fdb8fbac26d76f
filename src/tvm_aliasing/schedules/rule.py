"""What all schedule rules share."""

from abc import ABC, abstractmethod

from tvm import tirx
from tvm.s_tir import ScheduleError
from tvm.s_tir.dlight.base import ScheduleRule


class CPURule(ScheduleRule, ABC):
    """A rule that leaves a kernel to the next one where TVM refuses a step of its schedule."""

    def apply(self, func, target, _tunable):
        """Schedule a kernel as `tvm.s_tir.dlight` asks for it."""
        if any(map(_is_empty, func.params)):
            return None  # nothing to gain, and TVM cannot lower a tile of no columns
        try:
            return self.schedule(func, target)
        except ScheduleError:
            return None

    @abstractmethod
    def schedule(self, func, target):
        """Schedule a kernel.

        Parameters
        ----------
        func : tvm.tirx.PrimFunc
        target : tvm.target.Target

        Returns
        -------
        tvm.s_tir.Schedule or None
            None where the rule does not fit.
        """


def _is_empty(param):
    """Whether a parameter is a tensor without elements."""
    return isinstance(param.ty, tirx.BufferType) and any(
        isinstance(extent, tirx.IntImm) and extent.value == 0 for extent in param.ty.shape
    )
