"""One case for each way in which an isolated run can end."""

import os
import sys
import time

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(4, dtype="float32")
Y = X.reshape(2, 2)


@I.ir_module
class AddOne:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.add(x, R.const(1.0, "float32"))


@I.ir_module
class MissingFunction:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.call_dps_packed("no.such.function", x, out_ty=R.Tensor((4,), "float32"))


@I.ir_module
class BranchReshape:
    """Kills the process under `stock`: see branch_reshape.py."""

    @R.function
    def main(first: R.Tensor((), "bool"), y: R.Tensor((2, 2), "float32")) -> R.Tensor(
        (2, 2), "float32"
    ):
        if first:
            flat = R.reshape(y, (4,))
            z = R.reshape(flat, (2, 2))
        else:
            row = R.reshape(y, (4,))
            z = R.reshape(row, (2, 2))
        return z


def _keeps_its_input(built):
    given = tvm.runtime.tensor(X)
    return np.array_equal(built.call(given).numpy(), X + 1) and np.array_equal(given.numpy(), X)


def _noisy(built):
    print("noise of the program")
    sys.stdout.flush()
    os.write(1, b'{"result": "not an answer"}\n')
    return True


CASES = {
    "right": (AddOne, (X,), X + 1, ""),
    "nested": (AddOne, (X,), (X + 1,), "one array is not a tuple of one"),
    "wrong": (AddOne, (X,), X + 2, ""),
    "asked": (AddOne, (X,), _keeps_its_input, ""),
    "denied": (AddOne, (X,), lambda built: False, ""),
    "raising": (MissingFunction, (X,), X, ""),
    "refused": (AddOne, (X[:3],), X, "an input of the wrong shape"),
    "noisy": (AddOne, (X,), _noisy, ""),
    "leaving": (AddOne, (X,), lambda built: os._exit(0), ""),
    "failing": (AddOne, (X,), lambda built: os._exit(7), ""),
    "exiting": (AddOne, (X,), lambda built: sys.exit("bye"), ""),
    "sleeping": (AddOne, (X,), lambda built: time.sleep(600), ""),
    "branch": (BranchReshape, (np.asarray(False), Y), Y, ""),
}
