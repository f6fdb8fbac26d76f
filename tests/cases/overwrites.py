"""Results that are written over arguments, and parameters that the caller gives up.

`CASES` is what `run_isolated` takes, `OPTIONS` says which parameters are donated.
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

CASES = {}
OPTIONS = {}


def _case(name, inputs, expected, note, donate=()):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        if donate:
            OPTIONS[name] = {"donate": list(donate)}
        return module

    return add


Rows = R.Tensor((4, 16), "float32")
X = np.arange(64, dtype="float32").reshape(4, 16)
Y = X + 1000
V = np.arange(8, dtype="float32")


def _leaves(built, arrays, kept):
    """The result of a call as an array, or None where a parameter that is kept was written to."""
    given = [tvm.runtime.tensor(array) for array in arrays]
    result = built.call(*given).numpy()
    unchanged = all(np.array_equal(given[i].numpy(), arrays[i]) for i in kept)
    return result if unchanged else None


@_case(
    "in_place_of_a_constant",
    (V,),
    2 * (V + 1),
    "an in-place pass counts arguments before legalisation, which puts a scalar constant into the "
    "kernel: argument 1 is then argument 0",
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


@_case(
    "donated_and_read_again",
    (X,),
    (X + 1) * X - (X + 2),
    "the result is written over the donated parameter, which is read once more",
    donate=["x"],
)
@I.ir_module
class DonatedAndReadAgain:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(a, x)
        d = R.add(x, R.const(2.0, "float32"))
        return R.subtract(b, d)


@_case(
    "donated_and_viewed",
    (X,),
    (X.reshape(64) + 1) * X.reshape(64)[::-1],
    "the result is written over the donated parameter, of which a view is read from the other end",
    donate=["x"],
)
@I.ir_module
class DonatedAndViewed:
    @R.function
    def main(x: Rows):
        f = R.reshape(x, (64,))
        a = R.add(f, R.const(1.0, "float32"))
        b = R.flip(f, axis=0)
        return R.multiply(a, b)


@_case(
    "donated_and_returned",
    (X,),
    (X * 2 - 1, X, X[1:3]),
    "the donated parameter is an output too, and so is a range of it",
    donate=["x"],
)
@I.ir_module
class DonatedAndReturned:
    @R.function
    def main(x: Rows):
        a = R.multiply(x, R.const(2.0, "float32"))
        b = R.subtract(a, R.const(1.0, "float32"))
        s = R.strided_slice(x, axes=[0], begin=[1], end=[3])
        return (b, x, s)


def _other_is_kept(built):
    result = _leaves(built, (X, Y), kept=[1])
    return result is not None and np.array_equal(result, (X + Y) * 2 - Y)


@_case(
    "one_of_two_is_donated",
    (X, Y),
    _other_is_kept,
    "the result is written over the parameter that the caller keeps",
    donate=["x"],
)
@I.ir_module
class OneOfTwoIsDonated:
    @R.function
    def main(x: Rows, y: Rows):
        a = R.add(x, y)
        b = R.multiply(a, R.const(2.0, "float32"))
        return R.subtract(b, y)


@_case(
    "row_of_a_donated_cache",
    (X, Y[:1]),
    np.concatenate([X[:2], Y[:1] * 2, X[3:]]),
    "a row is written into the donated parameter; one row too early or too late is another's",
    donate=["x"],
)
@I.ir_module
class RowOfADonatedCache:
    @R.function
    def main(x: Rows, y: R.Tensor((1, 16), "float32")):
        before = R.strided_slice(x, axes=[0], begin=[0], end=[2])
        after = R.strided_slice(x, axes=[0], begin=[3], end=[4])
        row = R.multiply(y, R.const(2.0, "float32"))
        return R.concat([before, row, after], axis=0)
