"""Which tensors a kernel writes, and which it hands on."""

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
    written = handed_on(kernel)
    tvm_ffi.structural_walk(
        kernel.body, (tirx.BufferStore, lambda store: written.add(store.buffer))
    )
    return tuple(i for i, param in enumerate(kernel.params) if param in written)


def handed_on(kernel):
    """The buffers whose pointer a kernel hands on, as sorting does: a set of variables."""
    found = set()

    def see(call):
        if call.op.same_as(ir.Op.get("tirx.buffer_data")):
            found.add(call.args[0])

    tvm_ffi.structural_walk(kernel.body, (ir.Call, see))
    return found
