"""Where a reshape leaves every byte in its place."""

import tvm_ffi
from tvm import relax


def memory_scope(ty):
    """The memory scope that a tensor's type names; TVM's default is `global`."""
    vdevice = ty.vdevice if isinstance(ty, relax.TensorType) else None
    return vdevice.memory_scope if vdevice else "global"


def keeps_bytes_in_place(source, result, flat_scopes):
    """Whether a reshape from one tensor type to another leaves every byte where it is."""
    return (
        memory_scope(source) in flat_scopes
        and memory_scope(result) in flat_scopes
        and tvm_ffi.structural_equal(source.vdevice, result.vdevice)
    )
