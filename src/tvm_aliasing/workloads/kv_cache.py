"""One step of decoding: a token is written into a cache of 8 MiB, then the cache is attended to.

The cache is a ring of the last 4096 tokens, one row of width 512 for each; the new token replaces
the oldest. As in multi-query attention over a latent, a row serves as key and as value, and all
heads share it. The order of rows does not matter to attention, so all of them are read.

Two workloads are the same but for the update, and a third is the update alone. All have value
semantics, so by themselves they make a second cache; the question is what is left of that when the
caller donates the first. In place, the row kernel's copy stores each element where it already is,
so it can be dropped (TVM's `RemoveNoOp` does so once both buffers are one); a select over the whole
cache cannot.
"""

import math

import numpy as np
from tvm import relax
from tvm.relax import op
from tvm.script import tirx as T

from . import _reference
from ._construct import module_of, normal, tensor_var
from ._registry import register

ROWS, WIDTH = 4096, 512
OLDEST = 1000  # the row to replace: neither at the beginning nor at the end of the cache
HEADS, TOKEN_WIDTH = 4, 256


@register(
    "kv_cache_row",
    "A KV-cache update by a kernel that copies the cache and writes one row: with the cache"
    " donated, only the row has to be written.",
)
def kv_cache_row():
    return _decode_step(_write_row)


@register(
    "kv_cache_update",
    "That update alone, of a projected token: what is left of it when the cache is donated is the"
    " projection.",
)
def kv_cache_update():
    rng = np.random.default_rng(0)
    params = {"row_weight": normal(rng, TOKEN_WIDTH, WIDTH, scale=math.sqrt(1 / TOKEN_WIDTH))}
    cache, token = normal(rng, ROWS, WIDTH), normal(rng, 1, TOKEN_WIDTH)

    def body(bb, cache, token, row_weight):
        return bb.emit(_write_row(bb, cache, bb.emit(op.matmul(token, row_weight))))

    inputs = [tensor_var("cache", cache.shape), tensor_var("token", token.shape)]
    updated = cache.copy()
    updated[OLDEST] = (token.astype(np.float64) @ params["row_weight"])[0]
    return module_of(inputs, params, body), params, (cache, token), updated


def _write_row(bb, cache, row):
    """Update a cache by a kernel that copies it and writes one row."""

    @T.prim_func(s_tir=True, private=True)
    def write_row(
        cache: T.Buffer((ROWS, WIDTH), "float32"),
        row: T.Buffer((1, WIDTH), "float32"),
        updated: T.Buffer((ROWS, WIDTH), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(ROWS, WIDTH):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                updated[vi, vj] = cache[vi, vj]
        for j in range(WIDTH):
            with T.sblock("write"):
                vj = T.axis.spatial(WIDTH, j)
                updated[OLDEST, vj] = row[0, vj]

    return op.call_tir(bb.add_func(write_row, "write_row"), [cache, row], cache.ty)


@register(
    "kv_cache_slice",
    "The same KV-cache update by slice_scatter: it becomes a select over every element, which"
    " touches the whole cache even in place.",
)
def kv_cache_slice():
    def update(bb, cache, row):
        return op.slice_scatter(cache, row, start=OLDEST, end=OLDEST + 1, step=1, axis=0)

    return _decode_step(update)


def _decode_step(update):
    """Build the workload around ``update(bb, cache, row)``, which returns the new cache."""
    rng = np.random.default_rng(0)
    row_weight = normal(rng, TOKEN_WIDTH, WIDTH, scale=math.sqrt(1 / TOKEN_WIDTH))
    q_weight = normal(rng, TOKEN_WIDTH, HEADS * WIDTH, scale=math.sqrt(1 / TOKEN_WIDTH))
    # The queries lean towards the new row, so that it gets a good share of the attention and a
    # read of the old cache cannot pass for right.
    q_weight += np.float32(0.4) * np.tile(row_weight, HEADS)
    params = {
        "row_weight": row_weight,
        "q_weight": q_weight,
        "out_weight": normal(rng, HEADS * WIDTH, TOKEN_WIDTH, scale=math.sqrt(1 / (HEADS * WIDTH))),
    }
    cache = normal(rng, ROWS, WIDTH)
    token = normal(rng, 1, TOKEN_WIDTH)

    def body(bb, cache, token, row_weight, q_weight, out_weight):
        row = bb.emit(op.matmul(token, row_weight))
        cache = bb.emit(update(bb, cache, row))
        # Scores are (ROWS, HEADS), so that it is the small operand that is transposed.
        q = bb.emit(op.reshape(bb.emit(op.matmul(token, q_weight)), (HEADS, WIDTH)))
        scores = bb.emit(op.matmul(cache, bb.emit(op.permute_dims(q))))
        scale = relax.const(1 / math.sqrt(WIDTH), "float32")
        shares = bb.emit(op.nn.softmax(bb.emit(op.multiply(scores, scale)), axis=0))
        context = bb.emit(op.matmul(bb.emit(op.permute_dims(shares)), cache))
        context = bb.emit(op.reshape(context, (1, HEADS * WIDTH)))
        return cache, bb.emit(op.matmul(context, out_weight))

    inputs = [tensor_var("cache", cache.shape), tensor_var("token", token.shape)]
    mod = module_of(inputs, params, body)
    return mod, params, (cache, token), _expected(cache, token, **params)


def _expected(cache, token, row_weight, q_weight, out_weight):
    cache, token = cache.astype(np.float64), token.astype(np.float64)
    cache[OLDEST] = (token @ row_weight)[0]
    q = (token @ q_weight).reshape(HEADS, WIDTH)
    context = _reference.attention(q, cache, cache)  # (HEADS, WIDTH)
    read = context.reshape(1, HEADS * WIDTH) @ out_weight
    return cache.astype(np.float32), read.astype(np.float32)
