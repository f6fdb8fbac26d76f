"""Which bytes of which storage each tensor holds, and when: address over time."""

import itertools
from typing import NamedTuple

from tvm import tirx

from ..analysis.alias_classes import AliasClasses
from ..analysis.bindings import bindings_of, callee_of
from ..analysis.liveness import Liveness
from ..values import check_arguments, evaluate
from .sizes import storage_bytes, tensor_bytes, with_match_casts


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
    classes = AliasClasses(mod, function, elided=True)
    used = _kernels_by_root(mod, Liveness(mod, function, classes))
    storages, tensors, top, names = {}, [], 0, set()
    for binding in bindings_of(function.body):
        value = binding.value
        storage_size, tensor_size = storage_bytes(value), tensor_bytes(value)
        if storage_size is not None:
            name = _unused_name(binding.var.name, names)
            storages[binding.var] = (name, top, evaluate(storage_size, sizes))
            top += storages[binding.var][2]
        elif tensor_size is not None:
            (root,) = classes.places[binding.var]
            if root not in used:
                continue
            storage, base, _size = storages[value.args[0]]
            address = base + evaluate(value.args[1], sizes)
            begin, end = used[root][0], used[root][-1]
            name = _unused_name(binding.var.name, names)
            size = evaluate(tensor_size, sizes)
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


def _kernels_by_root(mod, liveness):
    """For each root the numbers of the kernels during which it is used, in order."""
    number, kernels = [], -1
    for point in liveness.points:
        calls = point.binding is not None and callee_of(point.binding.value, mod)
        kernels += isinstance(calls, tirx.PrimFunc)
        number.append(max(kernels, 0))
    return {root: [number[point] for point in uses] for root, uses in liveness.uses.items()}
