"""Which tensors a kernel writes."""

from functools import lru_cache

import tvm_ffi
from tvm import ir, tirx


@lru_cache(maxsize=1024)
def written_params(kernel):
    """The positions of the parameters that a kernel stores to, or whose pointer it hands on.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc

    Returns
    -------
    tuple of int
    """
    written = []

    def see_call(call):
        if call.op.same_as(ir.Op.get("tirx.buffer_data")):
            written.append(call.args[0])

    tvm_ffi.structural_walk(
        kernel.body,
        ((tirx.BufferStore, lambda store: written.append(store.buffer)), (ir.Call, see_call)),
    )
    return tuple(
        i for i, param in enumerate(kernel.params) if any(param.same_as(var) for var in written)
    )
