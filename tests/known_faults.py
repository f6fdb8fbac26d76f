"""What TVM 0.27 gets wrong under approaches that use its planner or its kernels as they are.

`CASES` maps a name to `(module, inputs, expected, note)`, as `run_isolated` takes it. `FAULTS` says
how each ends under planner `tvm`, with which approaches, and why. An approach that is not named
gets it right. Under `token` and `arena` all but `stock` and its variants get everything right.
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(32, dtype="float32").reshape(4, 8)
V = np.arange(8, dtype="float32")

CASES = {}
FAULTS = {}


def _fault(name, inputs, expected, **ends):
    def add(module):
        CASES[name] = (module, inputs, expected, "")
        FAULTS[name] = ends
        return module

    return add


@tvm.register_global_func("known_faults.identity", override=True)
def _identity(tensor):
    return tensor


@_fault(
    "branches",
    (np.asarray(False), X),
    X + 3,
    died=["copy", "shipped", "stock", "stock+inplace", "k0-run"],
    why="apache/tvm#20191: the planner reuses in one branch a storage that the other allocates; "
    "k0 and alias have no kernel left in the branches that could use it",
)
@I.ir_module
class Branches:
    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        a = R.add(x, R.const(3.0, "float32"))
        if first:
            f = R.reshape(a, (32,))
            y = R.reshape(f, (4, 8))
        else:
            g = R.reshape(a, (32,))
            y = R.reshape(g, (4, 8))
        return y


@_fault(
    "extern result",
    (X,),
    (X + 1) * (X + 2),
    wrong=[
        "copy",
        "shipped",
        "stock",
        "stock+inplace",
        "k0",
        "k0-run",
        "alias:reshape",
    ],
    why="the planner takes the result of an extern function for fresh, and reuses the storage of "
    "its argument while the result, which is the argument, is still read; written over `b`, the "
    "product makes an output of it, which that planner leaves alone",
)
@I.ir_module
class ExternResult:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("known_faults.identity", a, ty_args=R.Tensor((4, 8), "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        return R.multiply(v, b)


def _constant_survives(built):
    """Whether a caller that writes to the result leaves the next call's result alone."""
    x = np.zeros(4, "float32")
    right = np.array([[0, 1], [2, 3]], "float32")
    first = built.call(tvm.runtime.tensor(x))
    if not np.array_equal(first.numpy(), right):
        return False
    first.copyfrom(np.full((2, 2), 9, "float32"))
    return np.array_equal(built.run(x), right)


@_fault(
    "constant returned",
    (np.zeros(4, "float32"),),
    _constant_survives,
    wrong=["shipped", "stock", "stock+inplace"],
    why="FoldConstant folds the reshape, and the caller gets the constant itself to write to; the "
    "output policy of the other approaches copies it",
)
@I.ir_module
class ConstantReturned:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            c = R.reshape(R.const([0.0, 1.0, 2.0, 3.0], "float32"), (2, 2))
            R.output(c)
        return c


@_fault(
    "view at an offset",
    (V,),
    V[4:] + 2,
    raised=["shipped", "stock", "stock+inplace"],
    why="apache/tvm#16955: the kernel that reads the view demands that its argument begins at "
    "byte 0 of its storage; the other approaches let it take an offset",
)
@I.ir_module
class ViewAtAnOffset:
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([4]), R.dtype("float32"), R.prim_value(16))
        return R.add(v, R.const(1.0, "float32"))


@_fault(
    "in place of a constant",
    (V,),
    2 * (V + 1),
    raised=["stock+inplace"],
    why="DataflowUseInplaceCalls counts arguments before legalisation, which puts a scalar "
    "constant into the kernel: argument 1 is then argument 0",
)
@I.ir_module
class InPlaceOfAConstant:
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            b = R.multiply(R.const(2.0, "float32"), a)
            R.output(b)
        return b
