"""Outputs that share storage though nobody said so: kind `undeclared-output-alias`."""

from tvm import relax

from ...attributes import SOURCE_ALIAS
from ...output_policies import undeclared
from ..alias_classes import AliasClasses
from ..bindings import operator_of
from ..operators import AT_ZERO, ELIDED, IN_PLACE, VIEWS
from ..outputs import Outputs
from ..places import fill
from .hazard import Found, Hazard


def undeclared_output_aliases(facts):
    """Find outputs that share storage against the output policy and what the source says.

    The attribute `ta.source_alias` is what the source says. Without it, and before planning, when a
    variable still means a value, what the outputs are by renaming alone counts too: a parameter, or
    one variable twice.

    A function that only others of the module call is left out: they know what it returns.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the end of the function.
    """
    if facts.inner:
        return []
    attrs = facts.function.attrs or {}
    declared = set(attrs.get(SOURCE_ALIAS, ()))
    if not facts.planned or SOURCE_ALIAS not in attrs:
        declared |= _renamed(facts, values=facts.is_source)
    outputs = Outputs(facts.classes)
    names = _names(facts.function.body.body)
    found = {}
    for sharing in undeclared(outputs, facts.policy, declared, facts.is_donated):
        if sharing.kind != "part":  # costs bytes, and nobody sees another's write
            found.setdefault(sharing.output, sharing)
    return [
        Found(None, ("undeclared-output-alias", i), _hazard(facts, sharing, names))
        for i, sharing in found.items()
    ]


def _renamed(facts, values):
    """How outputs share storage by renaming, as `ta.source_alias` has it.

    Parameters
    ----------
    facts : Facts
    values : bool
        Whether the result of a packed function, and a constant, are still values, which are copied
        where the output policy demands it.
    """
    kind = _Renamings if values else _WithoutExterns
    found = Outputs(kind(facts.mod, facts.function, elided=False)).sharing
    return {str(sharing) for sharing in found if values or sharing.kind != "constant"}


class _Renamings(AliasClasses):
    """Alias classes in which a view, and a result that is written in place, is something new."""

    def _of_call(self, call):
        if operator_of(call) in (*VIEWS, *ELIDED, *AT_ZERO, *IN_PLACE):
            return self._made_by(call)
        return super()._of_call(call)

    def _made_by(self, call):
        site = next(self._sites)
        return fill(call.ty, lambda path: self._root("fresh", (site, *path)))


class _WithoutExterns(_Renamings):
    """The same in which the result of a packed function is something new, too."""

    def _of_extern_call(self, call):
        return self._made_by(call)


def _names(result):
    """The variables in a function's result, by position among its tensors as far as they show."""
    if isinstance(result, relax.Tuple):
        return [name for field in result.fields for name in _names(field)]
    if isinstance(result.ty, relax.TupleType):
        return [name for ty in result.ty.fields for name in _fields(result, ty)]
    return [result]


def _fields(result, ty):
    if isinstance(ty, relax.TupleType):
        return [name for field in ty.fields for name in _fields(result, field)]
    return [result]


def _hazard(facts, sharing, names):
    def label(i):
        named = i < len(names) and isinstance(names[i], relax.Var)
        return [facts.label(names[i])] if named else []

    own = label(sharing.output)
    output = f"output {sharing.output} of {facts.name}" + (f" ({own[0]})" if own else "")
    if sharing.kind == "param":
        param = facts.function.params[sharing.other.site[0]]
        other = f"parameter {facts.label(param)}"
        bindings = [*own, facts.label(param)]
        remedy = f"return a copy, donate {param.name}, or build with outputs='alias_params'"
    elif sharing.kind == "constant":
        other, bindings = "a constant, which the caller could then overwrite", own
        remedy = "return a copy"
    else:
        its = label(sharing.other)
        other = f"output {sharing.other}" + (f" ({its[0]})" if its else "")
        bindings = [*own, *its]
        remedy = "return a copy, or build with outputs='share'"
    message = f"{output} may share storage with {other}, and nothing says so: {remedy}"
    bindings = tuple(dict.fromkeys(bindings)) or (facts.name,)
    return Hazard("undeclared-output-alias", bindings, message)
