"""Kernels whose tensors may begin inside a storage: the offset ABI."""

import tvm
import tvm_ffi
from tvm import ir, tirx

#: Bytes that an offset must be a multiple of: the alignment of TVM's storages.
ALIGNMENT = 64


def with_offsets(func):
    """A PrimFunc that takes each of its buffers at any aligned byte offset.

    TVM's kernels demand offset zero unless a buffer declares an element offset of its own.

    Parameters
    ----------
    func : tvm.tirx.PrimFunc

    Returns
    -------
    tvm.tirx.PrimFunc
    """
    renamed = {
        param: tirx.decl_buffer(
            param.ty.shape,
            param.ty.dtype,
            param.name,
            offset_factor=max(1, ALIGNMENT * 8 // tvm.DataType(param.ty.dtype).bits),
        )
        for param in func.params
        if isinstance(param.ty, tirx.BufferType)
    }
    body = tvm_ffi.structural_map(func.body, (ir.Var, lambda var: renamed.get(var, var)))
    params = [renamed.get(param, param) for param in func.params]
    return tirx.PrimFunc(params, body, func.ret_type, func.attrs)


@tvm.transform.module_pass(opt_level=0, name="AcceptOffsets")
class AcceptOffsets:
    """Let every kernel of a module take its tensors at offsets; the graph stays as it is."""

    def transform_module(self, mod, _context):
        """Return the module with its PrimFuncs rewritten."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, tirx.PrimFunc):
                mod[name] = with_offsets(function)
        return mod
