"""Layers in Relax that more than one workload uses.

Each emits its bindings into the block builder `bb` and returns the variable of its result.
"""

import math

from tvm import relax
from tvm.relax import op


def conv3x3(bb, x, weight, bias):
    """Convolve (N, C, H, W) with (O, C, 3, 3), stride 1, border of one zero; add bias (O,).

    The bias is added as the ONNX importer does: reshaped to (1, O, 1, 1), then broadcast.
    """
    product = bb.emit(op.nn.conv2d(x, weight, padding=1))
    bias_4d = bb.emit(op.reshape(bias, (1, bias.ty.shape[0], 1, 1)))
    return bb.emit(op.add(product, bias_4d))


def dense(bb, x, weight, bias):
    """Multiply (..., K) by (K, M) and add bias (M,)."""
    return bb.emit(op.add(bb.emit(op.matmul(x, weight)), bias))


def split_heads(bb, x, heads):
    """Turn (1, S, D) into (1, heads, S, D / heads)."""
    _, length, width = (int(extent) for extent in x.ty.shape)
    by_head = bb.emit(op.reshape(x, (1, length, heads, width // heads)))
    return bb.emit(op.permute_dims(by_head, (0, 2, 1, 3)))


def merge_heads(bb, x):
    """Turn (1, heads, S, D / heads) into (1, S, D)."""
    _, heads, length, width = (int(extent) for extent in x.ty.shape)
    by_position = bb.emit(op.permute_dims(x, (0, 2, 1, 3)))
    return bb.emit(op.reshape(by_position, (1, length, heads * width)))


def attention(bb, q, k, v):
    """Scaled dot-product attention over the last two axes, each of shape (1, heads, S, D)."""
    scale = relax.const(1 / math.sqrt(int(q.ty.shape[-1])), "float32")
    k_transposed = bb.emit(op.permute_dims(k, (0, 1, 3, 2)))
    scores = bb.emit(op.multiply(bb.emit(op.matmul(q, k_transposed)), scale))
    return bb.emit(op.matmul(bb.emit(op.nn.softmax(scores, axis=-1)), v))
