"""Seeded inputs for the parameters of a Relax function, and the sizes of dynamic dimensions."""

import zlib

import numpy as np
from tvm import relax, tirx
from tvm.sym import Analyzer

from ..errors import UnsupportedError

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
