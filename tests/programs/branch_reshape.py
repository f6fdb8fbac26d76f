"""Reshapes in both branches of an `If`: a build that TVM plans kills the process.

Reported as apache/tvm#20191: the planner takes storage in one branch that the other allocates.
"""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(32, dtype="float32").reshape(4, 8)


@I.ir_module
class BranchReshape:
    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")) -> R.Tensor(
        (4, 8), "float32"
    ):
        if first:
            flat = R.reshape(x, (32,))
            y = R.reshape(flat, (4, 8))
        else:
            row = R.reshape(x, (32,))
            y = R.reshape(row, (4, 8))
        return y


inputs = np.asarray(False), X
expected = X
