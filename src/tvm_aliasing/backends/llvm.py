"""CPU through LLVM."""

import tvm

from ..schedules import ScheduleForCPU
from .backend import Backend

LLVM = Backend(
    kind="llvm",
    device=tvm.cpu,
    flat_scopes=frozenset({"global"}),
    schedules=ScheduleForCPU,
)
