"""Between NumPy arrays and what a compiled function takes and returns; what it takes is checked."""

from functools import cache
from math import prod
from numbers import Number

import numpy as np
import tvm
import tvm_ffi
from tvm import ir, relax, sym, tirx

from .errors import InputError


def check_arguments(params, arguments, bounds=None):
    """Check arguments against a function's parameters.

    Parameters
    ----------
    params : list of relax.Var
    arguments : sequence
        Arrays or tensors, with `shape` and `dtype`; sequences of integers for shapes; tuples nested
        as the parameters'.
    bounds : dict of str to int, optional
        Largest value by symbolic name.

    Returns
    -------
    dict of tirx.Var to int
        The symbolic sizes.

    Raises
    ------
    InputError
        The count, a shape or a dtype is wrong, or one symbolic size would have two values.
    """
    if len(arguments) != len(params):
        names = ", ".join(param.name for param in params)
        raise InputError(
            f"{len(arguments)} inputs given, {len(params)} expected"
            + (f" ({names})" if params else "")
        )
    shaped = []
    for param, argument in zip(params, arguments):
        shaped += _shaped(param.name, param.ty, argument)
    sizes = {}
    for name, declared, actual in shaped:
        _bind_sizes(name, declared, actual, sizes)
    for name, declared, actual in shaped:
        _check_shape(name, declared, actual, sizes)
    for size, value in sizes.items():
        bound = (bounds or {}).get(size.name)
        if bound is not None and value > bound:
            raise InputError(f"{size.name} is {value}, more than its bound {bound}")
    return sizes


def evaluate(size, sizes):
    """A size in numbers, or None where it holds a symbol that the inputs do not determine."""
    if isinstance(size, int):
        return size
    known = {size: tirx.const(value, size.ty.dtype) for size, value in sizes.items()}
    value = tvm_ffi.structural_map(size, (ir.Var, lambda var: known.get(var, var)))
    value = sym.Analyzer().simplify(value)
    return int(value) if isinstance(value, tirx.IntImm) else None


def element_count(extents):
    """Number of elements of a tensor or buffer of given extents, as an expression."""
    return prod(extents, start=tirx.const(1, "int64"))


@cache
def item_bytes(dtype):
    """Bytes that one element of a dtype takes, as TVM stores it."""
    item = tvm.DataType(dtype)
    return (item.bits * item.lanes + 7) // 8


def to_device(params, arguments, device):
    """Arguments as a compiled function takes them: tensors on a device, shapes, numbers.

    Parameters
    ----------
    params : list of relax.Var
    arguments : sequence
        Checked: NumPy arrays, tuples of integers for shapes, numbers, nested as the parameters.
    device : tvm.runtime.Device

    Returns
    -------
    list
    """
    return [_to_device(param.ty, value, device) for param, value in zip(params, arguments)]


def _to_device(ty, value, device):
    if isinstance(ty, relax.TupleType):
        fields = zip(ty.fields, value)
        return tvm_ffi.convert([_to_device(field, item, device) for field, item in fields])
    if isinstance(ty, relax.ShapeType):
        return tvm_ffi.Shape([int(size) for size in value])
    if isinstance(ty, relax.TensorType):
        return tvm.runtime.tensor(np.asarray(value), device)
    return value


def to_arrays(value):
    """What a compiled function returned as NumPy copies; tuples stay tuples."""
    if isinstance(value, tvm.runtime.Tensor):
        return value.numpy()
    if isinstance(value, tvm_ffi.Array):
        return tuple(to_arrays(item) for item in value)
    if isinstance(value, tvm_ffi.Shape):
        return tuple(int(size) for size in value)
    return value


def _shaped(name, ty, value):
    """(name, declared extents, actual extents) of each tensor and shape in an argument, checked."""
    if isinstance(ty, relax.TupleType):
        if not isinstance(value, tuple | list | tvm_ffi.Array) or len(value) != len(ty.fields):
            raise InputError(f"input {name} is a tuple of {len(ty.fields)}: give as many arrays")
        fields = enumerate(zip(ty.fields, value))
        return [found for i, pair in fields for found in _shaped(f"{name}[{i}]", *pair)]
    if isinstance(ty, relax.ShapeType):
        integers = isinstance(value, tuple | list) and all(
            isinstance(size, int | np.integer) for size in value
        )
        if not integers:
            raise InputError(f"input {name} is {value!r}: give a tuple of integers")
        actual, declared = value, ty.values or ()
    elif isinstance(ty, relax.TensorType):
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            raise InputError(f"input {name} is {type(value).__name__}: give an array")
        if ty.dtype and str(value.dtype) != str(ty.dtype):
            raise InputError(f"input {name} has dtype {value.dtype}, expected {ty.dtype}")
        declared = ty.shape.values if isinstance(ty.shape, relax.ShapeExpr) else ()
        actual = value.shape
    else:
        if isinstance(ty, ir.PrimType) and not isinstance(value, Number | np.generic):
            raise InputError(f"input {name} is {value!r}: give a number, its type is {ty.dtype}")
        return []
    if ty.ndim >= 0 and len(actual) != ty.ndim:
        raise InputError(f"input {name} has {len(actual)} dimensions, expected {ty.ndim}")
    return [(name, declared, [int(size) for size in actual])]


def _bind_sizes(name, declared, actual, sizes):
    for size, value in zip(declared, actual):
        if isinstance(size, ir.Var) and sizes.setdefault(size, value) != value:
            raise InputError(
                f"input {name}: symbolic size {size.name} is {value} here "
                f"and {sizes[size]} in another input"
            )


def _check_shape(name, declared, actual, sizes):
    expected = [evaluate(size, sizes) for size in declared]
    if any(want is not None and want != have for want, have in zip(expected, actual)):
        wanted = ", ".join(str(d) if w is None else str(w) for d, w in zip(declared, expected))
        raise InputError(f"input {name} has shape {tuple(actual)}, expected ({wanted})")
