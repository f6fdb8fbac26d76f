"""The packed functions that the programs call."""

import ctypes

import numpy as np
import tvm

from tvm_aliasing.measure.kernel_calls import byte_offset

#: What each returns: an argument itself, a tensor of its own, or both in a tuple.
SAME, COPY = "hazard_programs.same", "hazard_programs.copy"
SECOND, SECOND_COPY = "hazard_programs.second", "hazard_programs.second_copy"
BOTH, BOTH_COPIES = "hazard_programs.both", "hazard_programs.both_copies"
#: Returns a copy, and reads from the first byte of the storage as if there were no offset.
FIRST_BYTES = "hazard_programs.first_bytes"


def _copy(tensor):
    return tvm.runtime.tensor(np.copy(tensor.numpy()))


def _first_bytes(tensor):
    found = np.empty(tensor.shape, str(tensor.dtype))
    ctypes.memmove(found.ctypes.data, tensor.data_ptr() - byte_offset(tensor), found.nbytes)
    return tvm.runtime.tensor(found)


for _name, _function in {
    SAME: lambda tensor: tensor,
    COPY: _copy,
    SECOND: lambda _first, second: second,
    SECOND_COPY: lambda _first, second: _copy(second),
    BOTH: lambda first, second: [second, first],
    BOTH_COPIES: lambda first, second: [_copy(second), _copy(first)],
    FIRST_BYTES: _first_bytes,
}.items():
    tvm.register_global_func(_name, _function, override=True)
