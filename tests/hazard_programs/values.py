"""Variables with the arrays that they are to hold."""

from math import prod
from typing import Any, NamedTuple

import numpy as np
from tvm import relax, tirx


class Value(NamedTuple):
    """A variable, and what it is to hold: an array, or a tuple of them."""

    var: relax.Expr
    array: Any = None

    @property
    def shape(self):
        return tuple(
            int(extent) if isinstance(extent, tirx.IntImm) else extent.name
            for extent in self.var.ty.shape.values
        )

    @property
    def dtype(self):
        return str(self.var.ty.dtype)

    @property
    def bytes(self):
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def arrays_of(value):
    """The arrays of a value, or of a tuple of them."""
    if isinstance(value, Value):
        return value.array
    return tuple(map(arrays_of, value))


def expression_of(value):
    """The variable of a value, or a tuple of them."""
    if isinstance(value, Value):
        return value.var
    return relax.Tuple(list(map(expression_of, value)))


def mapped(expression, change):
    """A variable, or each in a tuple of them, changed."""
    if isinstance(expression, relax.Tuple):
        return relax.Tuple([mapped(field, change) for field in expression.fields])
    return change(expression)
