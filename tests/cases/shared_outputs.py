"""Outputs that may share storage, because the caller says so.

`CASES` is what `run_isolated` takes, `OPTIONS` says which policy. Under each of them the values are
the same; what shares bytes with what is not checked here.
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

CASES = {}
OPTIONS = {}


def _case(name, inputs, expected, note, outputs):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        OPTIONS[name] = {"outputs": outputs}
        return module

    return add


Rows = R.Tensor((4, 16), "float32")
X = np.arange(64, dtype="float32").reshape(4, 16)
Y = X + 1000


@_case(
    "shared_value_and_its_views",
    (X,),
    (((X + 1) * 2).reshape(64), (X + 1) * 2, ((X + 1) * 2)[2:], (X + 1) * (X + 3)),
    "outputs lie in one storage, which is given away after the first of them",
    outputs="share",
)
@I.ir_module
class SharedValueAndItsViews:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(a, R.const(2.0, "float32"))
        f = R.reshape(b, (64,))
        s = R.strided_slice(b, axes=[0], begin=[2], end=[4])
        d = R.add(x, R.const(3.0, "float32"))
        e = R.multiply(a, d)
        return (f, b, s, e)


@_case(
    "output_is_a_piece",
    (X,),
    ((X + 1)[1:3], (X + 2)[:1] * 3, ((X + 1)[3:] - (X + 2)[3:])),
    "an output is a range of a larger buffer, the rest of which is used again",
    outputs="view",
)
@I.ir_module
class OutputIsAPiece:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        t = R.split(a, [1, 3], axis=0)
        b = R.add(x, R.const(2.0, "float32"))
        u = R.split(b, [1, 3], axis=0)
        d = R.multiply(u[0], R.const(3.0, "float32"))
        e = R.subtract(t[2], u[2])
        return (t[1], d, e)


@_case(
    "concat_and_its_operands",
    (X, Y),
    (np.concatenate([X + 1, Y * 2]), Y * 2, (X + 1) - Y),
    "an output is written into the concat that is an output too, and then written over",
    outputs="view",
)
@I.ir_module
class ConcatAndItsOperands:
    @R.function
    def main(x: Rows, y: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(y, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        e = R.subtract(a, y)
        return (d, b, e)


def _inputs_are_kept(built):
    """Whether the results are right and neither input is written to."""
    x, y = map(tvm.runtime.tensor, (X, Y))
    got = [tensor.numpy() for tensor in built.call(x, y)]
    right = [X.reshape(64), Y[2:], X + Y, X, Y]
    return all(map(np.array_equal, [*got, x.numpy(), y.numpy()], right))


@_case(
    "outputs_in_parameters",
    (X, Y),
    _inputs_are_kept,
    "outputs lie in the caller's tensors, and another one is written over them",
    outputs="alias_params",
)
@I.ir_module
class OutputsInParameters:
    @R.function
    def main(x: Rows, y: Rows):
        f = R.reshape(x, (64,))
        s = R.strided_slice(y, axes=[0], begin=[2], end=[4])
        a = R.add(x, y)
        return (f, s, a)


def _is_mine(built):
    """Whether a caller may write to the first result without changing that of the next call."""
    first = built.call(tvm.runtime.tensor(X))[0]
    first.copyfrom(np.full(6, 9, "float32"))
    again, doubled = built.run(X)
    return np.array_equal(again, np.arange(6, dtype="float32")) and np.array_equal(doubled, X * 2)


@_case(
    "constant_is_never_shared",
    (X,),
    _is_mine,
    "a constant is handed out under the widest policy, and the caller writes to it",
    outputs="alias_params",
)
@I.ir_module
class ConstantIsNeverShared:
    @R.function
    def main(x: Rows):
        k = R.const(np.arange(6, dtype="float32").reshape(2, 3))
        f = R.reshape(k, (6,))
        a = R.multiply(x, R.const(2.0, "float32"))
        return (f, a)
