"""The kernels of the programs: what each computes, as tensor expressions and with NumPy."""

import numpy as np
from tvm import te, tirx
from tvm.tirx import const


def _elementwise(value):
    def build(*tensors):
        return te.compute(tensors[0].shape, lambda *i: value(*(t(*i) for t in tensors)), "made")

    return build


def _moved(value):
    """Of elements of its first tensor at other places than it writes."""

    def build(tensor):
        rows = tensor.shape[0]
        return te.compute(tensor.shape, lambda i, *j: value(lambda k: tensor(k, *j), rows, i))

    return build


def _number(value, element):
    return const(value, element.ty.dtype)


#: Name -> (tensor expression, NumPy). Numbers stay small and whole: every dtype has them exactly.
KERNELS = {
    "copy": (_elementwise(lambda a: a), np.copy),
    "plus": (_elementwise(lambda a: a + _number(3, a)), lambda a: a + a.dtype.type(3)),
    "twice": (_elementwise(lambda a: a * _number(2, a)), lambda a: a * a.dtype.type(2)),
    "less": (_elementwise(lambda a: a - _number(5, a)), lambda a: a - a.dtype.type(5)),
    "sum": (_elementwise(lambda a, b: a + b), np.add),
    "difference": (_elementwise(lambda a, b: a - b), np.subtract),
    # These read an element after they may have written its bytes.
    "flip": (_moved(lambda row, n, i: row(n - 1 - i)), lambda a: a[::-1].copy()),
    "rotate": (
        _moved(lambda row, n, i: row(tirx.floormod(i + n - 1, n))),
        lambda a: np.roll(a, 1, axis=0),
    ),
    "smooth": (
        _moved(lambda row, n, i: row(i) + row(tirx.max(i - 1, 0))),
        lambda a: a + a[np.maximum(np.arange(len(a)) - 1, 0)],
    ),
}

UNARY = ("plus", "twice", "less")
BINARY = ("sum", "difference")
#: An output may not lie over the input.
UNSAFE_IN_PLACE = ("flip", "rotate", "smooth")


def kernel_of(build, *values):
    """The PrimFunc of a tensor expression on tensors like some values."""
    tensors = [te.placeholder(value.shape, value.dtype, "given") for value in values]
    return te.create_prim_func([*tensors, build(*tensors)]).without_attr("global_symbol")
