"""Reshapes between elementwise operators."""

import numpy as np
from tvm.relax import op

from ._construct import module_of, normal, tensor_var
from ._registry import register

REPEATS = 4


@register(
    "reshape_chain",
    "Sixteen reshapes of 4 MiB, each followed by an elementwise operator: fusion takes them all,"
    " without it half of all kernels are copies.",
)
def reshape_chain():
    # Each pass through the chain narrows the spread: a wide input leaves enough of it at the end
    # for a misplaced element to be seen.
    x = normal(np.random.default_rng(0), 1024, 1024, scale=4.0)

    def body(bb, x):
        for _ in range(REPEATS):
            x = bb.emit(op.sigmoid(bb.emit(op.reshape(x, (1, 1024, 1024)))))
            x = bb.emit(op.tanh(bb.emit(op.reshape(x, (2048, 512)))))
            x = bb.emit(op.nn.relu(bb.emit(op.reshape(x, (64, 128, 128)))))
            x = bb.emit(op.negative(bb.emit(op.reshape(x, (1024, 1024)))))
        return x

    return module_of([tensor_var("x", x.shape)], {}, body), {}, (x,), _expected(x)


def _expected(x):
    x = x.astype(np.float64)
    for _ in range(REPEATS):
        x = -np.maximum(np.tanh(1 / (1 + np.exp(-x))), 0)
    return x.astype(np.float32)
