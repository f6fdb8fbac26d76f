"""K0: say of each PrimFunc that only reshapes that it does. Nothing else changes."""

import tvm
from tvm import tirx

from ..analysis.reshape_only import is_reshape_only
from ..attributes import RESHAPE_ONLY
from .annotate_properties import with_annotations


@tvm.transform.module_pass(opt_level=0, name="AnnotateReshapeOnly")
class AnnotateReshapeOnly:
    """Mark each PrimFunc whose body proves that it only reshapes with attribute `reshape_only`.

    A property of the function, as in apache/tvm#7945: calls and graph are untouched, and nobody
    has to act on it. A mark that the body does not prove is taken away: a pass that changed a
    function may have left it there.
    """

    def transform_module(self, mod, _context):
        """Return the module with the attribute where it is proved, and nowhere else."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, tirx.PrimFunc):
                said = is_reshape_only(function) or None
                mod[name] = with_annotations(function, {RESHAPE_ONLY: said})
        return mod
