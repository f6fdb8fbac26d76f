"""What a planner may give a place: the allocations of a function, with sizes and lifetimes."""

from typing import NamedTuple

from tvm import relax, tirx

from ..analysis.alias_classes import AliasClasses, Memory
from ..analysis.bindings import is_call
from ..analysis.liveness import Liveness
from ..analysis.offsets import demands_zero_offset
from ..analysis.places import roots_of
from ..analysis.size_bounds import SizeBounds


class Allocation(NamedTuple):
    """A tensor that a function allocates.

    Attributes
    ----------
    var : relax.Var
        What `builtin.alloc_tensor` is bound to.
    memory : Memory
    dtype : str
    size : int
        Bytes, at the largest value of each symbolic size.
    live : tuple of (int, int)
        Half-open ranges of points.
    path : tuple
        The branches that lead to it.
    takes_offset : bool
        Whether all that use it can do so at an offset.
    returned : bool
        Whether the function returns it, or a part of it.
    """

    var: relax.Var
    memory: Memory
    dtype: str
    size: int
    live: tuple[tuple[int, int], ...]
    path: tuple
    takes_offset: bool
    returned: bool


def allocations(mod, function):
    """The allocations of a function that may share storages, and its liveness.

    Left out, so that they keep storages of their own: tensors whose size has no bound, outputs of
    symbolic size, tensors outside flat memory, and those that nothing uses.

    Parameters
    ----------
    mod : tvm.IRModule
        After `CallTIRRewrite`.
    function : tvm.relax.Function

    Returns
    -------
    (list of Allocation, Liveness)
    """
    classes = AliasClasses(mod, function, elided=True)
    liveness = Liveness(mod, function, classes)
    returned = roots_of(classes.result)
    demanding = demands_zero_offset(mod, function, classes)
    bounds = SizeBounds(function)
    found = []
    for root, binding in classes.binding_of.items():
        value = binding.value
        if not is_call(value, "relax.builtin.alloc_tensor"):
            continue
        dtype, memory = str(value.args[1].value), classes.memory_of(root)
        size, live = bounds.size(value.args[0], dtype), liveness.live(root)
        if size is None or not live or memory.scope != "global":
            continue
        if root in returned and not all(isinstance(n, tirx.IntImm) for n in value.args[0].values):
            continue
        path = liveness.points[liveness.point_of[binding.var]].path
        found.append(
            Allocation(
                binding.var,
                memory,
                dtype,
                size,
                live,
                path,
                takes_offset=root not in demanding,
                returned=root in returned,
            )
        )
    return found, liveness
