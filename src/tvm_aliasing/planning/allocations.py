"""What a planner may give a place: the allocations of a function, with sizes and lifetimes."""

from typing import NamedTuple

from tvm import ir, relax, sym, tirx

from ..analysis.alias_classes import AliasClasses, Memory
from ..analysis.bindings import is_call
from ..analysis.liveness import Liveness
from ..analysis.offsets import demands_zero_offset
from ..analysis.places import roots_of
from ..attributes import UPPER_BOUNDS
from ..values import item_bytes


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
    bounds = _Bounds(function)
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


class _Bounds:
    """Largest sizes, from TVM's own attribute for the symbols of a function's signature."""

    def __init__(self, function):
        self._analyzer = sym.Analyzer()
        named = function.attrs.get(UPPER_BOUNDS, {}) if function.attrs else {}
        signature = {
            var: named[var.name]
            for param in function.params
            for var in relax.analysis.tir_vars_in_type(param.ty)
            if var.name in named
        }
        for var, most in signature.items():
            self._analyzer.bind(var, ir.Range(0, int(most) + 1))

    def size(self, shape, dtype):
        """Most bytes of a tensor, or None where a size has no bound."""
        size = item_bytes(dtype)
        for extent in shape.values:
            if isinstance(extent, tirx.IntImm):
                size *= int(extent)
                continue
            most = self._analyzer.const_int_bound(extent).max_value
            if most == sym.analyzer.ConstIntBound.POS_INF:
                return None
            size *= most
        return size
