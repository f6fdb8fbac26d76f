"""Views in memory in which a reshape moves data: kind `nonflat-elision`."""

from tvm import relax

from ..bindings import operator_of
from ..flat_memory import memory_scope
from ..operators import ELIDED, IN_STORAGE, STORAGES, VIEWS
from .hazard import Found, Hazard


def nonflat_elisions(facts):
    """Find reshapes and views of tensors whose memory is not flat.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the view.
    """
    found = []
    for binding in facts.bindings:
        value, operator = binding.value, operator_of(binding.value)
        viewed = operator in VIEWS or (
            operator in ELIDED and (facts.elided or isinstance(value.op, relax.ExternFunc))
        )
        if not viewed:
            continue
        for scope in _scopes(facts, value.args[0], binding.var):
            if scope not in facts.flat_scopes:
                key = "nonflat-elision", binding.var
                found.append(Found(binding.var, key, _hazard(facts, binding, scope)))
                break
    return found


def _scopes(facts, source, view):
    """The memory scopes that source and view may lie in: by their types, and by their storages."""
    yield memory_scope(source.ty)
    yield memory_scope(view.ty)
    for root in facts.classes.of(source):
        made = facts.classes.binding_of.get(root)
        if root.kind == "param":
            yield memory_scope(facts.classes.type_of(root))
        if made is None or operator_of(made.value) not in IN_STORAGE:
            continue
        for base in facts.classes.of(made.value.args[0]):
            storage = facts.classes.binding_of.get(base)
            if storage is not None and operator_of(storage.value) in STORAGES:
                lowered = operator_of(storage.value).startswith("relax.vm.")
                yield storage.value.args[3 if lowered else 2].value


def _hazard(facts, binding, scope):
    view = facts.label(binding.var)
    source = binding.value.args[0]
    named = facts.label(source) if isinstance(source, relax.Var) else "a constant"
    bindings = (view, named) if isinstance(source, relax.Var) else (view,)
    message = (
        f"{view} is a view of {named} in memory {scope}, which is not flat, so that a reshape "
        "moves data there: run the kernel"
    )
    return Hazard("nonflat-elision", bindings, message)
