"""Where a reshape leaves every byte in its place."""

import tvm_ffi


def memory_scope(tensor_type):
    """The memory scope that a tensor type names; TVM's default is `global`."""
    return tensor_type.vdevice.memory_scope if tensor_type.vdevice else "global"


def keeps_bytes_in_place(source, result, flat_scopes):
    """Whether a reshape from one tensor type to another leaves every byte where it is."""
    return (
        memory_scope(source) in flat_scopes
        and memory_scope(result) in flat_scopes
        and tvm_ffi.structural_equal(source.vdevice, result.vdevice)
    )
