"""Kernels that make no promise about which of their tensors overlap."""

import tvm
from tvm import tirx

NOALIAS = "tirx.noalias"


def without_noalias(kernel):
    """A PrimFunc in which LLVM may not move a load over a store."""
    marked = kernel.attrs and NOALIAS in kernel.attrs
    return kernel.without_attr(NOALIAS) if marked else kernel


@tvm.transform.module_pass(opt_level=0, name="DropNoalias")
class DropNoalias:
    """Take `tirx.noalias` off every kernel."""

    def transform_module(self, mod, _context):
        """Return the module with the attribute gone; the graph stays as it is."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, tirx.PrimFunc):
                mod[name] = without_noalias(function)
        return mod
