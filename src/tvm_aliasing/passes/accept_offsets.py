"""Kernels whose tensors may begin inside a storage: the offset ABI."""

import tvm
import tvm_ffi
from tvm import ir, tirx

from ..analysis.moves import begins_at_zero
from ..analysis.offsets import ALIGNMENT, kernel_offsets
from ..values import item_bytes


def with_offsets(func, alignments):
    """A PrimFunc that takes some of its tensors at byte offsets.

    TVM's kernels demand offset zero unless a buffer declares an element offset of its own. One that
    does is left as it is.

    Parameters
    ----------
    func : tvm.tirx.PrimFunc
    alignments : dict of int to int
        By parameter the bytes of which its offset is a multiple.

    Returns
    -------
    tvm.tirx.PrimFunc
    """
    renamed = {
        func.params[i]: _at_offset(func.params[i], alignment)
        for i, alignment in alignments.items()
        if begins_at_zero(func.params[i])
    }
    body = tvm_ffi.structural_map(func.body, (ir.Var, lambda var: renamed.get(var, var)))
    params = [renamed.get(param, param) for param in func.params]
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs)


def _at_offset(buffer, alignment):
    ty = buffer.ty
    return tirx.decl_buffer(
        ty.shape,
        ty.dtype,
        buffer.name,
        strides=ty.strides,
        scope=ty.storage_scope,
        offset_factor=max(1, alignment // item_bytes(ty.dtype)),
        layout=ty.layout,
    )


@tvm.transform.module_pass(opt_level=0, name="AcceptOffsets")
class AcceptOffsets:
    """Let kernels take tensors at offsets; the graph stays as it is.

    Runs on a planned module, where every offset is known, and after scheduling: to the schedule
    rules the rewritten kernel is another one.

    Parameters
    ----------
    everywhere : bool
        Whether to rewrite every kernel, to see what that costs, in place of those that may meet an
        offset.
    """

    def __init__(self, everywhere=False):
        self.everywhere = everywhere

    def transform_module(self, mod, _context):
        """Return the module with those PrimFuncs rewritten."""
        met = _every_buffer(mod) if self.everywhere else kernel_offsets(mod)
        if not met:
            return mod
        mod = mod.clone()
        for name, alignments in met.items():
            mod[name] = with_offsets(mod[name], alignments)
        return mod


def _every_buffer(mod):
    return {
        name: {
            i: ALIGNMENT
            for i, param in enumerate(function.params)
            if isinstance(param.ty, tirx.BufferType)
        }
        for name, function in mod.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }
