"""Reshapes between matrix products, where fusion cannot take them."""

import math

import numpy as np
from tvm import tirx
from tvm.relax import op

from ._construct import module_of, normal, tensor_var
from ._registry import register

BATCH = 4


@register(
    "matmul_reshape_chain",
    "Four matrix products with reshapes between them and at the end: fusion leaves the reshapes,"
    " and those of the widest results are copies at the peak.",
)
def matmul_reshape_chain():
    return _chain(BATCH)


@register(
    "matmul_reshape_symbolic",
    "The chain of matrix products and reshapes with a symbolic batch: sizes are known only when"
    " it runs, or through an upper bound.",
    dims={"n": 8},
)
def matmul_reshape_symbolic():
    return _chain(tirx.Var("n", "int64"))


def _chain(n):
    """Build the chain for a batch `n`, a number or a symbolic dimension."""
    rng = np.random.default_rng(0)
    params = {
        "weight0": normal(rng, 64, 1024, scale=math.sqrt(1 / 64)),
        "weight1": normal(rng, 256, 64, scale=math.sqrt(1 / 256)),
        "weight2": normal(rng, 256, 1024, scale=math.sqrt(1 / 256)),
        "weight3": normal(rng, 512, 64, scale=math.sqrt(1 / 512)),
    }
    x = normal(rng, BATCH, 64, 64)

    def body(bb, x, weight0, weight1, weight2, weight3):
        h = bb.emit(op.matmul(x, weight0))  # (n, 64, 1024)
        h = bb.emit(op.reshape(h, (n * 256, 256)))
        h = bb.emit(op.matmul(h, weight1))  # (n * 256, 64)
        # Two in a row: with a static batch, fusion makes one kernel of two blocks of them.
        h = bb.emit(op.reshape(h, (n, 64, 256)))
        h = bb.emit(op.reshape(h, (n * 64, 256)))
        h = bb.emit(op.matmul(h, weight2))  # (n * 64, 1024)
        h = bb.emit(op.reshape(h, (n * 128, 512)))
        h = bb.emit(op.matmul(h, weight3))  # (n * 128, 64)
        return op.reshape(h, (n, 64, 128))

    mod = module_of([tensor_var("x", (n, 64, 64))], params, body)
    return mod, params, (x,), _expected(x, **params)


def _expected(x, weight0, weight1, weight2, weight3):
    h = x.astype(np.float64) @ weight0
    h = h.reshape(-1, 256) @ weight1
    h = h.reshape(-1, 256) @ weight2
    h = h.reshape(-1, 512) @ weight3
    return h.reshape(-1, 64, 128).astype(np.float32)
