"""Largest sizes of tensors whose shapes are symbolic."""

from tvm import ir, relax, sym, tirx

from ..attributes import UPPER_BOUNDS
from ..values import item_bytes


class SizeBounds:
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
