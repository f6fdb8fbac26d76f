"""Pairs of convolutions with a skip connection."""

import math

import numpy as np
from tvm.relax import op

from . import _layers, _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register

BLOCKS, CHANNELS, SIZE = 3, 64, 96


@register(
    "residual",
    "Three residual blocks of two convolutions on 64 x 96 x 96: no reshape at all, the peak falls"
    " only when results are written in place.",
)
def residual():
    rng = np.random.default_rng(0)
    params = {}
    for layer in range(2 * BLOCKS):
        params[f"weight{layer}"] = normal(
            rng, CHANNELS, CHANNELS, 3, 3, scale=math.sqrt(1 / (9 * CHANNELS))
        )
        params[f"bias{layer}"] = normal(rng, CHANNELS, scale=0.1)
    x = normal(rng, 1, CHANNELS, SIZE, SIZE)

    def body(bb, x, **weights):
        for first in range(0, 2 * BLOCKS, 2):
            h = _layers.conv3x3(bb, x, weights[f"weight{first}"], weights[f"bias{first}"])
            h = bb.emit(op.nn.relu(h))
            h = _layers.conv3x3(bb, h, weights[f"weight{first + 1}"], weights[f"bias{first + 1}"])
            x = bb.emit(op.nn.relu(bb.emit(op.add(h, x))))
        return x

    mod = module_of([tensor_var("x", x.shape)], params, body)
    return mod, params, (x,), _expected(x, params)


def _expected(x, params):
    x = x.astype(np.float64)
    for first in range(0, 2 * BLOCKS, 2):
        h = _reference.conv3x3(x, params[f"weight{first}"], params[f"bias{first}"])
        h = _reference.relu(h)
        h = _reference.conv3x3(h, params[f"weight{first + 1}"], params[f"bias{first + 1}"])
        x = _reference.relu(h + x)
    return x.astype(np.float32)
