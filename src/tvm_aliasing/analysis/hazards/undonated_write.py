"""Parameters and constants that are overwritten: kind `undonated-write`."""

from ..bindings import operands
from .effects import uses_of, written_leaves
from .hazard import Found, Hazard, call_name


def undonated_writes(facts):
    """Find writes to what belongs to the caller, or to the module's constants.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the binding that writes first.
    """
    found = {}
    for binding in facts.bindings:
        for use in uses_of(binding, facts):
            if use.writes is None:
                continue
            for leaf in written_leaves(facts.classes.of(use.argument), use.writes):
                for root in leaf:
                    if not facts.may_write_to(root):
                        found.setdefault(root, (binding, use))
    return [
        Found(
            binding.var,
            ("undonated-write", binding.var, root.kind),
            _hazard(facts, root, binding, use),
            frozenset([root]),
        )
        for root, (binding, use) in found.items()
    ]


def _hazard(facts, root, binding, use):
    written = [facts.label(var) for var in operands(use.argument)]
    call = call_name(binding.value)
    if root.kind == "constant":
        through = written or [facts.label(binding.var)]
        message = (
            f"{call} in {facts.name} overwrites a constant through {through[0]}, which every later "
            "call reads: let it write to a tensor that the function allocates"
        )
        return Hazard("undonated-write", tuple(through), message)
    param = facts.function.params[root.site[0]]
    own = facts.label(param)
    through = "" if own in written or not written else f" through {written[0]}"
    message = (
        f"{call} overwrites parameter {own}{through}, which the caller has not given up: donate "
        f"{param.name}, or write to a copy"
    )
    return Hazard("undonated-write", tuple(dict.fromkeys([own, *written])), message)
