"""K0+: say of each PrimFunc what can be said about aliasing. Nothing else changes."""

import tvm
from tvm import tirx

from ..analysis.properties import annotations


@tvm.transform.module_pass(opt_level=0, name="AnnotateProperties")
class AnnotateProperties:
    """Set `reshape_only`, `ta.view_of` and `ta.may_overwrite` on PrimFuncs whose bodies prove them.

    As with K0 these are properties of functions: calls and graph are untouched, every value keeps
    its own bytes until execution is generated, and nobody has to act on them. What the body does
    not prove is taken away.
    """

    def transform_module(self, mod, _context):
        """Return the module with the attributes where they are proved, and nowhere else."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, tirx.PrimFunc):
                mod[name] = with_annotations(function, annotations(function))
        return mod


def with_annotations(function, said):
    """A function with attributes set, and those taken away of which the value is None."""
    for key, value in said.items():
        if value is not None:
            function = function.with_attr(key, value)
        elif function.attrs and key in function.attrs:
            function = function.without_attr(key)
    return function
