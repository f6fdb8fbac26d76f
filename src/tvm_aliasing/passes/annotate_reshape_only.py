"""K0: say of each PrimFunc that only reshapes that it does. Nothing else changes."""

import tvm
from tvm import tirx

from ..analysis.reshape_only import is_reshape_only
from ..attributes import RESHAPE_ONLY


@tvm.transform.module_pass(opt_level=0, name="AnnotateReshapeOnly")
class AnnotateReshapeOnly:
    """Mark each PrimFunc whose body proves that it only reshapes with attribute `reshape_only`.

    A property of the function, as in apache/tvm#7945: calls and graph are untouched, and nobody
    has to act on it. A mark that the body does not prove is taken away: a pass that changed a
    function may have left it there.
    """

    def transform_module(self, mod, _context):
        """Return the module with the attribute where it is proved, and nowhere else."""
        changed = {}
        for name, function in mod.functions_items():
            if not isinstance(function, tirx.PrimFunc):
                continue
            if is_reshape_only(function):
                changed[name] = function.with_attr(RESHAPE_ONLY, True)
            elif function.attrs and RESHAPE_ONLY in function.attrs:
                changed[name] = function.without_attr(RESHAPE_ONLY)
        if not changed:
            return mod
        mod = mod.clone()
        mod.update(changed)
        return mod
