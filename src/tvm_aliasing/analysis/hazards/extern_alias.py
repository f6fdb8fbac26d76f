"""Hazards that are there because a packed function may return an argument: kind `extern-alias`."""

from ..places import roots_of
from .hazard import Hazard


def with_externs(facts, check):
    """What a check finds, those hazards told apart that are there only because of externs.

    A packed function may return any of its arguments unless `ta.extern_alias` says otherwise. What
    is no hazard where its result is memory of its own, is one that a declaration would settle.

    Parameters
    ----------
    facts : Facts
    check : callable
        From `Facts` to a list of `Found`.

    Returns
    -------
    list of Found
    """
    found = check(facts)
    if not found or facts.trustful is facts:
        return found
    left = {one.key for one in check(facts.trustful)}
    return [one if one.key in left else _as_extern_alias(facts, one) for one in found]


def _as_extern_alias(facts, found):
    """The same hazard, by the call whose result it is about."""
    own, (name, var) = _call_of(facts, found)
    result, hazard = own.label(var), found.hazard
    happens = hazard.message.rpartition(": ")[0]
    message = (
        f"{result}, the result of {name}, may be an argument of that call, and is taken for memory "
        f"of its own: {happens}; declare {name} in attribute ta.extern_alias of {own.name} "
        "(fresh, or arg0, arg1, ...), or keep its arguments as long as its result"
    )
    bindings = tuple(dict.fromkeys([result, *hazard.bindings]))
    return found._replace(hazard=Hazard("extern-alias", bindings, message))


def _call_of(facts, found):
    """The call that a hazard is about, with the facts of the function that it is in."""
    for name, var in facts.undeclared_calls:
        if not found.roots.isdisjoint(roots_of(facts.classes.places[var])):
            return facts, (name, var)
    its = next(its for its in (facts, *facts.others.values()) if its.undeclared_calls)
    return its, its.undeclared_calls[0]
