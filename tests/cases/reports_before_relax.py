"""Programs after public reports about what came before Relax, told in Relax.

The graph executor, the ahead-of-time executor and the first virtual machine had their own ways to
skip a reshape. What went wrong there can go wrong again. `CASES` is what `run_isolated` takes.
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

CASES = {}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


TABLE = np.arange(32, dtype="float32").reshape(4, 8)
OTHER = TABLE * 3 - 7
FOUR = np.zeros(4, "float32")


def _equal(got, right):
    """Whether a tensor, or each of several, is what it must be."""
    if isinstance(right, tuple):
        return len(got) == len(right) and all(map(_equal, got, right))
    return np.array_equal(got.numpy(), right)


def _follows_its_input(function):
    """A check with the caller's own tensors, as with inputs that are set without a copy.

    Each call computes with the tensor that it is given, the results of one outlive the next, and
    no input is changed.
    """

    def check(built):
        tables = (TABLE, OTHER, TABLE)
        given = [tvm.runtime.tensor(table) for table in tables]
        results = [built.call(tensor) for tensor in given]
        right = all(_equal(*pair) for pair in zip(results, map(function, tables)))
        return right and all(map(_equal, given, tables))

    return check


@_case(
    "reshape_of_the_input",
    (TABLE,),
    _follows_its_input(lambda x: x.reshape(32)),
    "apache/tvm#9448: the input is reshaped and returned; a skipped reshape stays with the tensor "
    "of the first call",
)
@I.ir_module
class ReshapeOfTheInput:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            flat = R.reshape(x, (32,))
            R.output(flat)
        return flat


@_case(
    "reshape_first_and_last",
    (TABLE,),
    _follows_its_input(lambda x: (x.reshape(8, 4) * 2 + 1).reshape(32)),
    "apache/tvm#17152: the first and the last operator are reshapes; a skipped one points to where "
    "input or output were before",
)
@I.ir_module
class ReshapeFirstAndLast:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            turned = R.reshape(x, (8, 4))
            doubled = R.multiply(turned, R.const(2.0, "float32"))
            moved = R.add(doubled, R.const(1.0, "float32"))
            flat = R.reshape(moved, (32,))
            R.output(flat)
        return flat


@_case(
    "input_is_an_output",
    (TABLE,),
    _follows_its_input(lambda x: (x, x + 1)),
    "apache/tvm#14978: the input is an output too; the output stays with the tensor of the first "
    "call",
)
@I.ir_module
class InputIsAnOutput:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            moved = R.add(x, R.const(1.0, "float32"))
            R.output(moved)
        return (x, moved)


@_case(
    "reshape_between_kernels",
    (TABLE,),
    ((TABLE.reshape(8, 4) + 1).reshape(2, 16) * 3).reshape(4, 8) - TABLE,
    "after apache/tvm#12215: reshapes before, between and after kernels are taken out; what reads "
    "one has to read what it was of",
)
@I.ir_module
class ReshapeBetweenKernels:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            turned = R.reshape(x, (8, 4))
            moved = R.add(turned, R.const(1.0, "float32"))
            wide = R.reshape(moved, (2, 16))
            tripled = R.multiply(wide, R.const(3.0, "float32"))
            back = R.reshape(tripled, (4, 8))
            y = R.subtract(back, x)
            R.output(y)
        return y


@_case(
    "one_value_three_ways",
    (TABLE,),
    (TABLE + 1, TABLE + 1, (TABLE + 1).reshape(32)),
    "after apache/tvm#3039: a value is returned twice as it is and once reshaped; where an output "
    "is counted once, its storage is given away or an output is missing",
)
@I.ir_module
class OneValueThreeWays:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            moved = R.add(x, R.const(1.0, "float32"))
            flat = R.reshape(moved, (32,))
            R.output(moved, flat)
        return (moved, moved, flat)


def _constant_is_kept(built):
    """Whether the constant outlives a caller who writes to the result."""
    right = np.array([[0, 1], [2, 3]], "float32")
    returned = built.call(tvm.runtime.tensor(FOUR))
    if not np.array_equal(returned.numpy(), right):
        return False
    returned.copyfrom(np.full((2, 2), 9, "float32"))
    return np.array_equal(built.run(FOUR), right)


@_case(
    "constant_view",
    (FOUR,),
    _constant_is_kept,
    "after apache/tvm#6435: a reshaped constant is returned; where it is a view, the caller gets "
    "the constant itself and the next call returns what was written to it",
)
@I.ir_module
class ConstantView:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            table = R.reshape(R.const([0.0, 1.0, 2.0, 3.0], "float32"), (2, 2))
            R.output(table)
        return table
