"""Record which outputs the source program itself makes share storage."""

import tvm
from tvm import relax

from ..analysis.alias_classes import AliasClasses
from ..analysis.places import leaves
from ..attributes import SOURCE_ALIAS


def output_aliases(mod, function, *, elided, on_every_path=False):
    """The pairs of an output and what it may share storage with.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
    elided, on_every_path : bool
        As for `AliasClasses`.

    Returns
    -------
    list of str
        `"i=param p"`, `"i=constant"` or `"i=j"`: tensor `i` of the result, counted from 0 through
        nested tuples, may share storage with parameter `p`, a constant, or output `j` < `i`.
    """
    outputs = leaves(AliasClasses(mod, function, elided=elided, on_every_path=on_every_path).result)
    pairs = []
    for i, roots in enumerate(outputs):
        params = [root.site for root in roots if root.kind == "param"]
        pairs += [f"{i}=param {'.'.join(map(str, site))}" for site in sorted(params)]
        pairs += [f"{i}=constant"] if any(root.kind == "constant" for root in roots) else []
        pairs += [f"{i}={j}" for j in range(i) if roots.keys() & outputs[j].keys()]
    return pairs


@tvm.transform.module_pass(opt_level=0, name="RecordSourceAliases")
class RecordSourceAliases:
    """Set `ta.source_alias` on each Relax function whose outputs alias as it was written.

    What a program says itself, by returning a parameter, one variable twice, or a view that the
    user wrote, is its meaning and is kept. What only one branch of an `If` says does not count: it
    is not said on the other path. A constant is never the caller's to overwrite.
    """

    def transform_module(self, mod, _context):
        """Return the module with the attribute set where there is something to record."""
        recorded = {}
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                pairs = output_aliases(mod, function, elided=False, on_every_path=True)
                pairs = [pair for pair in pairs if not pair.endswith("=constant")]
                if pairs:
                    recorded[name] = function.with_attr(SOURCE_ALIAS, pairs)
        if not recorded:
            return mod
        mod = mod.clone()
        mod.update(recorded)
        return mod
