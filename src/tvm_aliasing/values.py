"""Between NumPy arrays and what a compiled function takes and returns; what it takes is checked."""

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
        Arrays or tensors, with `shape` and `dtype`; tuples nested as the parameters'.
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
    tensors = []
    for param, argument in zip(params, arguments):
        tensors += _tensors(param.name, param.ty, argument)
    sizes = {}
    for name, ty, value in tensors:
        _check_tensor(name, ty, value)
        _bind_sizes(name, ty, value, sizes)
    for name, ty, value in tensors:
        _check_shape(name, ty, value, sizes)
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


def to_tensors(value, device):
    """NumPy arrays, nested in tuples or not, as TVM tensors on a device."""
    if isinstance(value, tuple | list):
        return tvm_ffi.convert([to_tensors(item, device) for item in value])
    return tvm.runtime.tensor(np.asarray(value), device)


def to_arrays(value):
    """What a compiled function returned as NumPy copies; tuples stay tuples."""
    if isinstance(value, tvm.runtime.Tensor):
        return value.numpy()
    if isinstance(value, tvm_ffi.Array):
        return tuple(to_arrays(item) for item in value)
    if isinstance(value, tvm_ffi.Shape):
        return tuple(int(size) for size in value)
    return value


def _tensors(name, ty, value):
    """(name, type, value) of each tensor in an argument."""
    if isinstance(ty, relax.TupleType):
        if not isinstance(value, tuple | list | tvm_ffi.Array) or len(value) != len(ty.fields):
            raise InputError(f"input {name} is a tuple of {len(ty.fields)}: give as many arrays")
        fields = enumerate(zip(ty.fields, value))
        return [found for i, pair in fields for found in _tensors(f"{name}[{i}]", *pair)]
    return [(name, ty, value)] if isinstance(ty, relax.TensorType) else []


def _check_tensor(name, ty, value):
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise InputError(f"input {name} is {type(value).__name__}: give an array")
    if ty.dtype and str(value.dtype) != str(ty.dtype):
        raise InputError(f"input {name} has dtype {value.dtype}, expected {ty.dtype}")
    if ty.ndim >= 0 and len(value.shape) != ty.ndim:
        raise InputError(f"input {name} has {len(value.shape)} dimensions, expected {ty.ndim}")


def _bind_sizes(name, ty, value, sizes):
    for declared, actual in zip(_declared(ty), value.shape):
        if isinstance(declared, ir.Var) and sizes.setdefault(declared, int(actual)) != actual:
            raise InputError(
                f"input {name}: symbolic size {declared.name} is {actual} here "
                f"and {sizes[declared]} in another input"
            )


def _check_shape(name, ty, value, sizes):
    expected = [evaluate(declared, sizes) for declared in _declared(ty)]
    actual = [int(size) for size in value.shape]
    if any(want is not None and want != have for want, have in zip(expected, actual)):
        wanted = ", ".join(str(d) if w is None else str(w) for d, w in zip(_declared(ty), expected))
        raise InputError(f"input {name} has shape {tuple(actual)}, expected ({wanted})")


def _declared(ty):
    return ty.shape.values if isinstance(ty.shape, relax.ShapeExpr) else ()
