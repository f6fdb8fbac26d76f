"""The fusion setting `moves-apart`: keep kernels that only move data out of fusion groups."""

import tvm
from tvm import tirx

from ..analysis.moves import is_copy_kernel

#: TVM's OpPatternKind::kOpaque, which FuseOps leaves alone.
OPAQUE = 8


@tvm.transform.module_pass(opt_level=0, name="KeepMovesApart")
class KeepMovesApart:
    """Mark each PrimFunc that only moves contiguous data as opaque to `FuseOps`.

    Runs after `AnnotateTIROpPattern`. A concat, split or slice that was fused into its neighbour
    can no longer be replaced by writing straight into place.
    """

    def transform_module(self, mod, _context):
        """Return the module with the pattern of copy kernels set to opaque."""
        moves = {
            name: function.with_attr("op_pattern", OPAQUE)
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc) and is_copy_kernel(function)
        }
        if not moves:
            return mod
        mod = mod.clone()
        mod.update(moves)
        return mod
