"""Which tensors a kernel writes, and which it hands on."""

from functools import lru_cache

import tvm_ffi
from tvm import ir, tirx

from .accesses import accesses


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
    pointers = handed_on(kernel)
    handed = {i for i, param in enumerate(kernel.params) if param in pointers}
    return tuple(sorted(handed.union(stored_params(kernel))))


@lru_cache(maxsize=1024)
def stored_params(kernel):
    """The positions of the parameters that a kernel stores to, in order."""
    stored = set()
    tvm_ffi.structural_walk(kernel.body, (tirx.BufferStore, lambda store: stored.add(store.buffer)))
    return tuple(i for i, param in enumerate(kernel.params) if param in stored)


@lru_cache(maxsize=1024)
def loaded_params(kernel):
    """The positions of the parameters that a kernel loads from, or whose pointer it hands on."""
    loaded = set(handed_on(kernel))
    tvm_ffi.structural_walk(kernel.body, (ir.TensorLoad, lambda load: loaded.add(load.source)))
    return tuple(i for i, param in enumerate(kernel.params) if param in loaded)


@lru_cache(maxsize=1024)
def needed_params(kernel):
    """The positions of the parameters that a kernel stores to, and loads from before that.

    One whose order of accesses cannot be read off is not among them.
    """
    stored, needed = set(), set()
    for access in accesses(kernel) or ():
        if access.is_store:
            stored.add(access.buffer)
        elif access.buffer not in stored:
            needed.add(access.buffer)
    return tuple(i for i in stored_params(kernel) if kernel.params[i] in needed)


@lru_cache(maxsize=1024)
def handed_on(kernel):
    """The buffers whose pointer a kernel hands on, as sorting does: a set of variables."""
    found = set()

    def see(call):
        if call.op.same_as(ir.Op.get("tirx.buffer_data")):
            found.add(call.args[0])

    tvm_ffi.structural_walk(kernel.body, (ir.Call, see))
    return frozenset(found)
