"""Storages that are used where they may not be there: kind `undominated-storage`."""

from tvm import relax

from ..bindings import operator_of
from ..operators import IN_STORAGE
from .hazard import Found, Hazard


def undominated_storages(facts):
    """Find uses of a storage on a path on which it was not allocated before.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the first binding that uses it in a branch.
    """
    found = {}
    _visit(facts.function.body, set(facts.function.params), found, ())
    return [
        Found(var, ("undominated-storage", storage, path), _hazard(facts, storage, var))
        for (storage, path), var in found.items()
    ]


def _visit(body, there, found, path):
    """Walk a body at whose begin some variables are `there`."""
    for block in body.blocks:
        for binding in block.bindings[:]:
            value = binding.value
            if isinstance(value, relax.If):
                branches = value.true_branch, value.false_branch
                for taken, branch in enumerate(branches):
                    _visit(branch, set(there), found, (*path, binding.var, taken))
            elif operator_of(value) in IN_STORAGE and value.args[0] not in there:
                found.setdefault((value.args[0], path), binding.var)
            if not isinstance(binding.var.ty, relax.TensorType):  # no storage is one
                there.add(binding.var)


def _hazard(facts, storage, var):
    storage, used = facts.label(storage), facts.label(var)
    message = (
        f"{used} is given a place in {storage}, which is not allocated on every path that leads "
        f"there: allocate {storage} before the paths part, or a storage of its own for each"
    )
    return Hazard("undominated-storage", (storage, used), message)
