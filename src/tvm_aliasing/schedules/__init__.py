"""Schedules for CPU kernels, so that what a copy costs stands beside real work.

TVM's CPU pipeline leaves kernels as they are legalised: naive loops, with full-size buffers inside.
Each rule here takes a kernel or leaves it to the next one.
"""

from tvm.ir.transform import module_pass
from tvm.s_tir import dlight

from .contraction import Contraction
from .fallback import Fallback
from .rows import Rows
from .spatial import Spatial

RULES = (Spatial(), Contraction(), Rows(), Fallback())


@module_pass(opt_level=0, name="ScheduleForCPU")
class ScheduleForCPU:
    """Schedule each PrimFunc of a module by the first rule that fits it.

    Parameters
    ----------
    target : tvm.target.Target
    """

    def __init__(self, target):
        self.target = target

    def transform_module(self, mod, _context):
        """Return the module with its PrimFuncs scheduled."""
        with self.target:
            # It changes the module that it is given.
            return dlight.ApplyDefaultSchedule(*RULES)(mod.clone())


__all__ = ["RULES", "ScheduleForCPU"]
