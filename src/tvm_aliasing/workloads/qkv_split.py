"""Self-attention whose queries, keys and values come from one projection."""

import math

import numpy as np
from tvm.relax import op

from . import _layers, _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register

LENGTH, WIDTH, HEADS = 256, 256, 8
DEPTH = WIDTH // HEADS


@register(
    "qkv_split",
    "One projection makes queries, keys and values, head by head, and a split hands them to the"
    " attention: each third is a contiguous range that can be a view.",
)
def qkv_split():
    rng = np.random.default_rng(0)
    params = {
        # The projection's first axis is (query, key, value) x head, so that the split cuts the
        # outermost axis and its results are contiguous.
        "qkv_weight": normal(rng, 3 * HEADS, WIDTH, DEPTH, scale=math.sqrt(1 / WIDTH)),
        "qkv_bias": normal(rng, 3 * HEADS, 1, DEPTH, scale=0.1),
        "out_weight": normal(rng, WIDTH, WIDTH, scale=math.sqrt(1 / WIDTH)),
    }
    x = normal(rng, 1, LENGTH, WIDTH)

    def body(bb, x, qkv_weight, qkv_bias, out_weight):
        qkv = _layers.dense(bb, x, qkv_weight, qkv_bias)
        parts = bb.emit(op.split(qkv, 3, axis=0))
        q, k, v = (
            bb.emit(op.reshape(bb.emit(parts[i]), (1, HEADS, LENGTH, DEPTH))) for i in range(3)
        )
        context = _layers.merge_heads(bb, _layers.attention(bb, q, k, v))
        return op.matmul(context, out_weight)

    mod = module_of([tensor_var("x", x.shape)], params, body)
    return mod, params, (x,), _expected(x, **params)


def _expected(x, qkv_weight, qkv_bias, out_weight):
    q, k, v = np.split(x.astype(np.float64) @ qkv_weight + qkv_bias, 3)
    context = _reference.attention(q, k, v)  # (HEADS, LENGTH, DEPTH)
    merged = context.transpose(1, 0, 2).reshape(1, LENGTH, WIDTH)
    return (merged @ out_weight).astype(np.float32)
