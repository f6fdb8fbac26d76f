"""Hazards of aliasing in a module, at any stage from the source program to the lowered one."""

import tvm
from tvm import relax

from .analysis.externs import check_declared_aliases
from .analysis.hazards.extern_alias import with_externs
from .analysis.hazards.facts import Facts
from .analysis.hazards.hazard import KINDS, Hazard
from .analysis.hazards.mixed_storage import mixed_storages
from .analysis.hazards.noalias_overlap import noalias_overlaps
from .analysis.hazards.nonflat_elision import nonflat_elisions
from .analysis.hazards.offset_abi import offset_abi
from .analysis.hazards.overwritten import overwritten
from .analysis.hazards.undeclared_output_alias import undeclared_output_aliases
from .analysis.hazards.undominated_storage import undominated_storages
from .analysis.hazards.undonated_write import undonated_writes
from .analysis.offsets import known_offsets
from .backends import backend_of, resolve_target
from .errors import InputError
from .options import check_choice
from .output_policies import called_functions, policies

#: Where nothing says which target: the memory that is flat on each.
_FLAT = frozenset({"global"})


def verify(mod, *, target=None, entry="main", donate=(), outputs="copy"):
    """Find the hazards of a Relax module.

    Its stage is told by what is in it: calls of kernels with their outputs and storages are there
    once it is planned. Before reshapes are elided `relax.reshape` is a value; afterwards it is a
    view, which attribute `ta.source_alias`, set by the front of every approach, shows.

    Parameters
    ----------
    mod : tvm.IRModule
    target : str, dict or tvm.target.Target, optional
        Says which memory is flat; by default scope `global`.
    entry : str
        The function that `donate` is about.
    donate : sequence of str
        Parameters that it may overwrite, besides those of its attribute `ta.donated`.
    outputs : str
        The output policy.

    Returns
    -------
    list of Hazard
        In the order of the program; each fault once.

    Raises
    ------
    InputError
        An argument cannot be used.
    UnsupportedError
        The target is not there yet.
    """
    if not isinstance(mod, tvm.IRModule):
        raise InputError(f"mod is {type(mod).__name__}: give a Relax IRModule")
    check_choice("outputs", outputs)
    check_declared_aliases(mod)
    flat_scopes = _FLAT if target is None else backend_of(resolve_target(target)).flat_scopes
    facts = _facts(mod, entry, _donated(mod, entry, donate), outputs, flat_scopes)
    offsets = None
    if any(its.planned for its in facts.values()):
        offsets = known_offsets(mod, {name: its.trustful.classes for name, its in facts.items()})
    return [
        hazard
        for name, its in facts.items()
        for hazard in _hazards(its, offsets[name] if its.planned else None)
    ]


def _donated(mod, entry, donate):
    """The names of donated parameters, checked against the entry function."""
    functions = {
        name.name_hint: function
        for name, function in mod.functions_items()
        if isinstance(function, relax.Function)
    }
    if entry not in functions:
        found = ", ".join(functions) or "none"
        raise InputError(f"the module has no Relax function {entry!r} (it has: {found})")
    if not isinstance(donate, list | tuple):
        raise InputError(f"donate is {donate!r}: give a list of parameter names")
    known = [param.name for param in functions[entry].params]
    for name in donate:
        if name not in known:
            raise InputError(
                f"donate has {name!r}, and {entry} has no such parameter "
                f"(there are: {', '.join(known) or 'none'})"
            )
    return frozenset(donate)


def _facts(mod, entry, donated, outputs, flat_scopes):
    """The `Facts` of each Relax function."""
    found, called = {}, called_functions(mod)
    for name, policy in policies(mod, outputs).items():
        is_entry = name.name_hint == entry
        found[name] = Facts(
            mod,
            name.name_hint,
            mod[name],
            donated=donated if is_entry else frozenset(),
            policy=policy,
            flat_scopes=flat_scopes,
            inner=name in called and not is_entry,
            others=found,
        )
    return found


def _hazards(facts, offsets):
    """The hazards of one function, in its order."""
    found = [
        *undominated_storages(facts),
        *mixed_storages(facts),
        *nonflat_elisions(facts),
        *with_externs(facts, undonated_writes),
        *with_externs(facts, overwritten),
        *undeclared_output_aliases(facts),
    ]
    if facts.planned:
        found += [*noalias_overlaps(facts.trustful), *offset_abi(facts, offsets)]
    points = {b.var: i for i, b in enumerate(facts.bindings)}
    last = len(points)

    def order(one):
        return points.get(one.place, last), KINDS.index(one.hazard.kind)

    return [one.hazard for one in sorted(found, key=order)]


__all__ = ["Hazard", "verify"]
