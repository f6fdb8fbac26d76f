"""Seeded inputs for the parameters of a Relax function, and the sizes of dynamic dimensions."""

import zlib

import numpy as np
from tvm import relax, tirx
from tvm.sym import Analyzer

from ..errors import InputError, UnsupportedError

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def seeded_array(name, shape, dtype, seed=0):
    """Return a random array that depends on nothing but the arguments.

    Parameters
    ----------
    name : str
        The parameter's name, a part of the seed: an input keeps its values when another is added.
    shape : tuple of int
    dtype : str
        Floats are drawn from N(0, 1). Integers are 0 or 1, because an integer input is most often
        an index, and 0 or 1 is in range for all but tables of one row. Booleans are either.
    seed : int

    Returns
    -------
    numpy.ndarray
    """
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if dtype in FLOATS:
        # TVM depends on ml_dtypes, which teaches NumPy the name bfloat16.
        return np.asarray(rng.standard_normal(shape, dtype=np.float32)).astype(np.dtype(dtype))
    if dtype in INTEGERS or dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(np.dtype(dtype))
    raise UnsupportedError(f"parameter {name} has dtype {dtype}: no inputs can be made for it")


def check_dims(source, needed, dims):
    """Raise InputError unless `dims` names known dimensions only, with sizes of at least 1.

    Parameters
    ----------
    source : str
        The file, for the message.
    needed : dict of str to str
        The dynamic dimensions by name; the value says where each occurs.
    dims : dict of str to int
    """
    for name, size in dims.items():
        if name not in needed:
            known = ", ".join(needed) or "none, all its shapes are fixed"
            raise InputError(f"{source} has no dimension {name!r}; its dynamic dimensions: {known}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise InputError(f"dimension {name} must be an integer of at least 1, not {size!r}")


def require_dims(source, needed, dims):
    """Raise InputError if a dimension of `needed` has no size in `dims`."""
    missing = {name: where for name, where in needed.items() if name not in dims}
    if missing:
        places = ", ".join(f"{name} ({where})" for name, where in missing.items())
        flags = " ".join(f"--dim {name}=4" for name in missing)
        raise InputError(
            f"{source} has dynamic dimensions without a size: {places}; give each one, for"
            f" example {flags}"
        )


def symbolic_dims(func):
    """Return the symbolic dimensions of a function's parameters and where each occurs first."""
    found = {}
    for param in func.params:
        for var in relax.analysis.tir_vars_in_type(param.ty):
            found.setdefault(var.name, f"in {param.name}")
    return found


def seeded_inputs(func, params, dims):
    """Return a seeded input for each parameter of `func` that `params` does not name.

    Parameters
    ----------
    func : tvm.relax.Function
    params : collection of str
        Names of the parameters that are weights.
    dims : dict of str to int
        A size for each symbolic dimension.

    Returns
    -------
    tuple of numpy.ndarray
        Nested for parameters that are tuples.

    Raises
    ------
    UnsupportedError
        A parameter is neither a tensor of known shape and dtype nor a tuple of such.
    """
    sizes = Analyzer()
    for param in func.params:
        for var in relax.analysis.tir_vars_in_type(param.ty):
            sizes.bind(var, tirx.IntImm("int64", dims[var.name]), allow_override=True)
    return tuple(
        _seeded(param.name, param.ty, sizes) for param in func.params if param.name not in params
    )


def _seeded(name, ty, sizes):
    if isinstance(ty, relax.TupleType):
        return tuple(_seeded(f"{name}.{i}", part, sizes) for i, part in enumerate(ty.fields))
    if not isinstance(ty, relax.TensorType):
        kind = type(ty).__name__
        raise UnsupportedError(f"parameter {name} is a {kind}, not a tensor or a tuple of tensors")
    if ty.dtype is None or not isinstance(ty.shape, relax.ShapeExpr):
        raise UnsupportedError(f"parameter {name} needs a shape and a dtype, but is {ty}")
    shape = tuple(int(sizes.simplify(extent)) for extent in ty.shape.values)
    return seeded_array(name, shape, str(ty.dtype))
