"""Multi-head self-attention with three projections."""

import math

import numpy as np
from tvm.relax import op

from . import _layers, _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register

LENGTH, WIDTH, HEADS = 512, 512, 8


@register(
    "mha",
    "Self-attention with 8 heads on 512 positions of width 512: reshapes into and out of the"
    " heads next to transposes, and scores that set the peak.",
)
def mha():
    rng = np.random.default_rng(0)
    params = {}
    for name in ("q", "k", "v", "out"):
        params[f"{name}_weight"] = normal(rng, WIDTH, WIDTH, scale=math.sqrt(1 / WIDTH))
        params[f"{name}_bias"] = normal(rng, WIDTH, scale=0.1)
    x = normal(rng, 1, LENGTH, WIDTH)

    def body(bb, x, **weights):
        q, k, v = (
            _layers.split_heads(
                bb, _layers.dense(bb, x, weights[f"{name}_weight"], weights[f"{name}_bias"]), HEADS
            )
            for name in ("q", "k", "v")
        )
        context = _layers.merge_heads(bb, _layers.attention(bb, q, k, v))
        out = _layers.dense(bb, context, weights["out_weight"], weights["out_bias"])
        return op.add(out, x)

    mod = module_of([tensor_var("x", x.shape)], params, body)
    return mod, params, (x,), _expected(x, params)


def _expected(x, params):
    x = x.astype(np.float64)
    q, k, v = (
        (x @ params[f"{name}_weight"] + params[f"{name}_bias"])
        .reshape(1, LENGTH, HEADS, WIDTH // HEADS)
        .transpose(0, 2, 1, 3)
        for name in ("q", "k", "v")
    )
    context = _reference.attention(q, k, v).transpose(0, 2, 1, 3).reshape(1, LENGTH, WIDTH)
    return (context @ params["out_weight"] + params["out_bias"] + x).astype(np.float32)
