"""Record which outputs the source program itself makes share storage."""

import tvm
from tvm import relax

from ..analysis.alias_classes import AliasClasses
from ..analysis.outputs import Outputs
from ..attributes import SOURCE_ALIAS


@tvm.transform.module_pass(opt_level=0, name="RecordSourceAliases")
class RecordSourceAliases:
    """Set `ta.source_alias` on each Relax function: which outputs alias as it was written.

    What a program says itself, by returning a parameter, one variable twice, or a view that the
    user wrote, is its meaning and is kept. What only one branch of an `If` says does not count: it
    is not said on the other path. A constant is never the caller's to overwrite. Where there is
    nothing to record the attribute is empty: it also says that the front has seen the function.
    """

    def transform_module(self, mod, _context):
        """Return the module with the attribute set."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                classes = AliasClasses(mod, function, elided=False, on_every_path=True)
                sharing = Outputs(classes).sharing
                pairs = [str(found) for found in sharing if found.kind != "constant"]
                mod[name] = function.with_attr(SOURCE_ALIAS, pairs)
        return mod
