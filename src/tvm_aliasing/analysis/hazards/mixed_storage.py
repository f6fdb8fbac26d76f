"""Storages that hold tensors of two memories: kind `mixed-storage`."""

from tvm import relax

from ..alias_classes import memory_of_type
from ..bindings import operator_of
from ..operators import IN_STORAGE
from .hazard import Found, Hazard


def mixed_storages(facts):
    """Find tensors that lie on another device, or in another scope, than their storage.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the first such tensor of each storage.
    """
    found = {}
    for binding in facts.bindings:
        if operator_of(binding.value) not in IN_STORAGE:
            continue
        for root in facts.classes.of(binding.value.args[0]):
            made = facts.classes.binding_of.get(root)
            if made is None or root in found:
                continue
            its, where = _of_tensor(facts, binding), _of_storage(made.value)
            if any(own not in (None, other) for own, other in zip(its, where)):
                found[root] = binding.var, _hazard(facts, binding.var, made.var, its, where)
    return [Found(var, ("mixed-storage", root), hazard) for root, (var, hazard) in found.items()]


def _of_storage(call):
    """Device and scope of an `alloc_storage`: the virtual machine's names the dtype third."""
    lowered = operator_of(call).startswith("relax.vm.")
    return int(call.args[1]), call.args[3 if lowered else 2].value


def _of_tensor(facts, binding):
    """The device and scope that a tensor says it lies in; None for a scope that it does not say."""
    ty, device = binding.var.ty, int(binding.value.args[4])
    if not isinstance(ty, relax.TensorType) or ty.vdevice is None:
        return device, None
    declared = memory_of_type(facts.mod, ty)
    return declared.device, declared.scope


def _hazard(facts, tensor, storage, its, where):
    tensor, storage = facts.label(tensor), facts.label(storage)
    memory = f"device {its[0]}" + (f" in memory {its[1]}" if its[1] else "")
    message = (
        f"{tensor} lies on {memory}, and {storage}, which holds it, on device {where[0]} in memory "
        f"{where[1]}: allocate a storage for each device and memory scope"
    )
    return Hazard("mixed-storage", (tensor, storage), message)
