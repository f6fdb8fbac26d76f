"""A reshape between two products outside dataflow blocks: `stock` runs it, `k0` elides it."""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(24, dtype="float32").reshape(4, 6) / 24
W = np.arange(36, dtype="float32").reshape(6, 6) / 36
V = np.arange(48, dtype="float32").reshape(12, 4) / 48


@I.ir_module
class OutsideDataflow:
    @R.function
    def main(
        x: R.Tensor((4, 6), "float32"),
        w: R.Tensor((6, 6), "float32"),
        v: R.Tensor((12, 4), "float32"),
    ):
        y = R.matmul(x, w)
        pairs = R.reshape(y, (2, 12))
        return R.matmul(pairs, v)


inputs = X, W, V
expected = (X @ W).reshape(2, 12) @ V
