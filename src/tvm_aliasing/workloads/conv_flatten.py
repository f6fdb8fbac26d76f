"""A convolution, flattened, with dense layers behind it."""

import math

import numpy as np
from tvm.relax import op

from . import _layers, _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register


@register(
    "conv_flatten",
    "A convolution and three dense layers with flatten, reshape, unsqueeze and squeeze between"
    " them: most of them disappear in fusion.",
)
def conv_flatten():
    rng = np.random.default_rng(0)
    params = {
        "conv_weight": normal(rng, 64, 3, 3, 3, scale=math.sqrt(2 / 27)),
        "conv_bias": normal(rng, 64, scale=0.1),
        "dense1_weight": normal(rng, 256, 256, scale=math.sqrt(2 / 256)),
        "dense1_bias": normal(rng, 256, scale=0.1),
        "dense2_weight": normal(rng, 256, 256, scale=math.sqrt(2 / 256)),
        "dense3_weight": normal(rng, 4096, 16, scale=math.sqrt(1 / 4096)),
    }
    x = normal(rng, 1, 3, 128, 128)

    def body(
        bb, x, conv_weight, conv_bias, dense1_weight, dense1_bias, dense2_weight, dense3_weight
    ):
        h = bb.emit(op.nn.relu(_layers.conv3x3(bb, x, conv_weight, conv_bias)))
        h = bb.emit(op.reshape(h, (1, 64 * 128 * 128)))
        h = bb.emit(op.reshape(h, (4096, 256)))
        h = bb.emit(op.nn.relu(_layers.dense(bb, h, dense1_weight, dense1_bias)))
        h = bb.emit(op.expand_dims(h, 0))
        h = bb.emit(op.squeeze(h, 0))
        h = bb.emit(op.nn.relu(bb.emit(op.matmul(h, dense2_weight))))
        h = bb.emit(op.reshape(h, (256, 4096)))
        return op.matmul(h, dense3_weight)

    mod = module_of([tensor_var("x", x.shape)], params, body)
    return mod, params, (x,), _expected(x, **params)


def _expected(x, conv_weight, conv_bias, dense1_weight, dense1_bias, dense2_weight, dense3_weight):
    h = _reference.relu(_reference.conv3x3(x.astype(np.float64), conv_weight, conv_bias))
    h = _reference.relu(h.reshape(4096, 256) @ dense1_weight + dense1_bias)
    h = _reference.relu(h @ dense2_weight)
    return (h.reshape(256, 4096) @ dense3_weight).astype(np.float32)
