"""Kernels that make no promise about which of their tensors overlap."""

import tvm
from tvm import tirx

NOALIAS = "tirx.noalias"


@tvm.transform.module_pass(opt_level=0, name="DropNoalias")
class DropNoalias:
    """Take `tirx.noalias` off every kernel, so that LLVM may not move a load over a store."""

    def transform_module(self, mod, _context):
        """Return the module with the attribute gone; the graph stays as it is."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, tirx.PrimFunc) and function.attrs and NOALIAS in function.attrs:
                mod[name] = function.without_attr(NOALIAS)
        return mod
