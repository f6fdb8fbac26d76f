"""Which bytes of which storage each tensor holds, and when: address over time."""

import itertools
from math import prod
from typing import NamedTuple

from tvm import ir, relax, tirx

from ..analysis.expressions import variables
from ..analysis.storage_roots import StorageRoots, leaves
from ..values import check_arguments, evaluate, item_bytes
from .sizes import bindings_of, with_match_casts


class Lifetime(NamedTuple):
    """The time that a storage or a tensor holds its bytes, views of it included.

    Attributes
    ----------
    name : str
        The variable in the planned function; `_1` and so on tell variables of one name apart, as
        in the printed function.
    storage : str or None
        The storage that a tensor lies in; None for a storage.
    address, size : int
        Bytes; storages lie one above the other in the order of their allocation.
    begin, end : int
        The first and the last kernel, counted from 0, during which the bytes are held.
    """

    name: str
    storage: str | None
    address: int
    size: int
    begin: int
    end: int


def memory_map(built, arrays):
    """The storages and tensors of the entry function of a build, over the kernels that it calls.

    Branches of an `If` stand one after the other; what a called Relax function allocates is not
    shown.

    Parameters
    ----------
    built : Built
    arrays : sequence of ndarray
        The arguments; only their shapes matter.

    Returns
    -------
    list of Lifetime
        Storages first.
    """
    mod = built.stages["planned"]
    function = mod[built.entry]
    sizes = with_match_casts(function, check_arguments(function.params, arrays))
    roots = StorageRoots(mod, function, elided=True)
    used, kernels = _kernels_by_root(mod, function, roots)
    storages, tensors, top, names = {}, [], 0, set()
    for binding in bindings_of(function.body):
        value = binding.value
        if _is_call(value, "relax.memory.alloc_storage"):
            name = _unused_name(binding.var.name, names)
            storages[binding.var] = (name, top, _count(value.args[0], sizes))
            top += storages[binding.var][2]
        elif _is_call(value, "relax.memory.alloc_tensor"):
            (root,) = roots.places[binding.var]
            if root not in used:
                continue
            storage, base, _size = storages[value.args[0]]
            size = _count(value.args[2], sizes) * item_bytes(value.args[3].value)
            address = base + evaluate(value.args[1], sizes)
            returned = any(root in leaf for leaf in leaves(roots.result))
            begin, end = used[root][0], kernels - 1 if returned else used[root][-1]
            name = _unused_name(binding.var.name, names)
            tensors.append(Lifetime(name, storage, address, size, begin, end))
    return [*_storage_lifetimes(storages.values(), tensors), *tensors]


def _unused_name(name, names):
    """The name, or the name and a number where it is taken; it is taken from then on."""
    numbered = (f"{name}_{i}" for i in itertools.count(1))
    unused = next(tried for tried in itertools.chain([name], numbered) if tried not in names)
    names.add(unused)
    return unused


def _storage_lifetimes(storages, tensors):
    for name, address, size in storages:
        inside = [tensor for tensor in tensors if tensor.storage == name]
        if inside:
            begin, end = min(t.begin for t in inside), max(t.end for t in inside)
            yield Lifetime(name, None, address, size, begin, end)


def _kernels_by_root(mod, function, roots):
    """(root -> numbers of the kernels during which it is used, number of kernels)."""
    used, kernel = {}, -1
    for binding in bindings_of(function.body):
        value = binding.value
        if isinstance(value, relax.If) or _is_call(value, "relax.memory.alloc_tensor"):
            continue
        kernel += _runs_kernel(value, mod)
        for var in variables(value):
            for leaf in leaves(roots.places.get(var, frozenset())):
                for root in leaf:
                    used.setdefault(root, []).append(max(kernel, 0))
    return used, kernel + 1


def _is_call(value, name):
    return isinstance(value, relax.Call) and value.op.same_as(ir.Op.get(name))


def _runs_kernel(value, mod):
    return (
        isinstance(value, relax.Call)
        and isinstance(value.op, ir.GlobalVar)
        and isinstance(mod.functions.get(value.op), tirx.PrimFunc)
    )


def _count(shape, sizes):
    return evaluate(prod(shape.values, start=tirx.const(1, "int64")), sizes)
