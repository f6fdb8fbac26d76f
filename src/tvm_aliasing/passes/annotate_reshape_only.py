"""K0: say of each PrimFunc that only reshapes that it does. Nothing else changes."""

import tvm
from tvm import tirx

from ..analysis.reshape_only import is_reshape_only
from ..attributes import RESHAPE_ONLY


@tvm.transform.module_pass(opt_level=0, name="AnnotateReshapeOnly")
class AnnotateReshapeOnly:
    """Mark each PrimFunc whose body proves that it only reshapes with attribute `reshape_only`.

    A property of the function, as in apache/tvm#7945: calls and graph are untouched, and nobody
    has to act on it.
    """

    def transform_module(self, mod, _context):
        """Return the module with the attribute added where it is proved."""
        marked = {
            name: function.with_attr(RESHAPE_ONLY, True)
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc) and is_reshape_only(function)
        }
        if not marked:
            return mod
        mod = mod.clone()
        mod.update(marked)
        return mod
