"""Convolutions that each see all earlier results."""

import math

import numpy as np
from tvm.relax import op

from . import _layers, _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register

LAYERS, GROWTH, SIZE = 4, 32, 96


@register(
    "densenet",
    "Four convolutions whose results are concatenated to their inputs, then a split and an add:"
    " the concats can be written in place, the split can be two views.",
)
def densenet():
    rng = np.random.default_rng(0)
    params = {}
    for layer in range(LAYERS):
        channels = GROWTH * (layer + 1)
        params[f"weight{layer}"] = normal(
            rng, GROWTH, channels, 3, 3, scale=math.sqrt(2 / (9 * channels))
        )
        params[f"bias{layer}"] = normal(rng, GROWTH, scale=0.1)
    x = normal(rng, 1, GROWTH, SIZE, SIZE)

    def body(bb, x, **weights):
        for layer in range(LAYERS):
            new = _layers.conv3x3(bb, x, weights[f"weight{layer}"], weights[f"bias{layer}"])
            x = bb.emit(op.concat([x, bb.emit(op.nn.relu(new))], axis=1))
        halves = bb.emit(op.split(x, 2, axis=1))
        first, second = bb.emit(halves[0]), bb.emit(halves[1])
        return op.add(bb.emit(op.nn.relu(first)), second)

    mod = module_of([tensor_var("x", x.shape)], params, body)
    return mod, params, (x,), _expected(x, params)


def _expected(x, params):
    x = x.astype(np.float64)
    for layer in range(LAYERS):
        new = _reference.conv3x3(x, params[f"weight{layer}"], params[f"bias{layer}"])
        x = np.concatenate([x, _reference.relu(new)], axis=1)
    first, second = np.split(x, 2, axis=1)
    return (_reference.relu(first) + second).astype(np.float32)
