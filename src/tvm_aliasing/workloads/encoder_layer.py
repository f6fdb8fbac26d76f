"""A transformer encoder layer, normalised after each residual."""

import math

import numpy as np
from tvm.relax import op

from . import _layers, _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register

LENGTH, WIDTH, HEADS, HIDDEN = 128, 256, 8, 1024


@register(
    "encoder_layer",
    "A whole transformer encoder layer (attention, feed-forward, two residuals, two layer norms):"
    " a realistic mix of reshapes, transposes and in-place chances.",
)
def encoder_layer():
    rng = np.random.default_rng(0)
    params = {}
    for name, rows, columns in (
        ("q", WIDTH, WIDTH),
        ("k", WIDTH, WIDTH),
        ("v", WIDTH, WIDTH),
        ("out", WIDTH, WIDTH),
        ("up", WIDTH, HIDDEN),
        ("down", HIDDEN, WIDTH),
    ):
        params[f"{name}_weight"] = normal(rng, rows, columns, scale=math.sqrt(1 / rows))
        params[f"{name}_bias"] = normal(rng, columns, scale=0.1)
    for name in ("norm1", "norm2"):
        params[f"{name}_gamma"] = 1 + normal(rng, WIDTH, scale=0.1)
        params[f"{name}_beta"] = normal(rng, WIDTH, scale=0.1)
    x = normal(rng, 1, LENGTH, WIDTH)

    def body(bb, x, **weights):
        def dense(x, name):
            return _layers.dense(bb, x, weights[f"{name}_weight"], weights[f"{name}_bias"])

        def norm(x, name):
            return op.nn.layer_norm(x, weights[f"{name}_gamma"], weights[f"{name}_beta"], axes=[-1])

        q, k, v = (_layers.split_heads(bb, dense(x, name), HEADS) for name in ("q", "k", "v"))
        context = _layers.merge_heads(bb, _layers.attention(bb, q, k, v))
        attended = bb.emit(op.add(x, dense(context, "out")))
        x = bb.emit(norm(attended, "norm1"))
        hidden = bb.emit(op.nn.relu(dense(x, "up")))
        return norm(bb.emit(op.add(x, dense(hidden, "down"))), "norm2")

    mod = module_of([tensor_var("x", x.shape)], params, body)
    return mod, params, (x,), _expected(x, params)


def _expected(x, params):
    def dense(x, name):
        return x @ params[f"{name}_weight"] + params[f"{name}_bias"]

    def norm(x, name):
        return _reference.layer_norm(x, params[f"{name}_gamma"], params[f"{name}_beta"])

    x = x.astype(np.float64)
    q, k, v = (
        dense(x, name).reshape(1, LENGTH, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
        for name in ("q", "k", "v")
    )
    context = _reference.attention(q, k, v).transpose(0, 2, 1, 3).reshape(1, LENGTH, WIDTH)
    x = norm(x + dense(context, "out"), "norm1")
    x = norm(x + dense(_reference.relu(dense(x, "up")), "down"), "norm2")
    return x.astype(np.float32)
