"""A product whose reshape is the output of its dataflow block: `stock` runs it, `k0` elides it."""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(24, dtype="float32").reshape(4, 6) / 24
W = np.arange(36, dtype="float32").reshape(6, 6) / 36


@I.ir_module
class BlockOutput:
    @R.function
    def main(x: R.Tensor((4, 6), "float32"), w: R.Tensor((6, 6), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            flat = R.reshape(y, (24,))
            R.output(flat)
        return flat


inputs = X, W
expected = (X @ W).reshape(24)
