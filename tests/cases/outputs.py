"""What a function hands out: one value in several places, constants, and its own parameters.

`CASES` is what `run_isolated` takes; each note says what goes wrong where the case is mishandled.
"""

import numpy as np
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R

CASES = {}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


def _leaves(value):
    """The tensors or arrays in nested tuples, from left to right."""
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return [leaf for field in value for leaf in _leaves(field)]
    return [value]


def _on_device(value):
    if isinstance(value, tuple):
        return tvm_ffi.convert([_on_device(field) for field in value])
    return tvm.runtime.tensor(value)


def _apart(inputs, expected):
    """A check that the outputs are right and the caller's own.

    Whoever writes to one of them changes no other, no input, and no later call.
    """

    def equal(tensors, arrays):
        return len(tensors) == len(arrays) and all(
            np.array_equal(tensor.numpy(), array) for tensor, array in zip(tensors, arrays)
        )

    def check(built):
        given = [_on_device(value) for value in inputs]
        results = _leaves(built.call(*given))
        right = _leaves(expected)
        if not equal(results, right):
            return False
        for i, result in enumerate(results):
            result.copyfrom(np.full(right[i].shape, 77, right[i].dtype))
            if not equal(results[i + 1 :], right[i + 1 :]):
                return False
        return equal(_leaves(given), _leaves(inputs)) and equal(_leaves(built.call(*given)), right)

    return check


Bool = R.Tensor((), "bool")
Rows = R.Tensor((4, 16), "float32")
Flat = R.Tensor((64,), "float32")
Half = R.Tensor((2, 16), "float32")
YES, NO = np.asarray(True), np.asarray(False)
X = np.arange(64, dtype="float32").reshape(4, 16)
F = X.reshape(64)
Y = X + 1000


# One value in several places


@_case(
    "twice_the_same",
    (X,),
    ((X + 1) * 2, (X + 1) * 2, (X + 1) * 2 - (X + 3)),
    "storage of an output that is returned twice is given away after the first",
)
@I.ir_module
class TwiceTheSame:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(a, R.const(2.0, "float32"))
        d = R.add(x, R.const(3.0, "float32"))
        e = R.subtract(b, d)
        return (b, b, e)


@_case(
    "value_and_its_reshape",
    (X,),
    _apart((X,), (X + 1, F + 1)),
    "one output is a view of the other: who writes to one changes both",
)
@I.ir_module
class ValueAndItsReshape:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        return (a, f)


@_case(
    "two_reshapes",
    (X,),
    _apart((X,), (F + 1, (X + 1).reshape(8, 8), F + 2)),
    "two outputs are views of one value that is none itself, and its storage is given away",
)
@I.ir_module
class TwoReshapes:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        g = R.reshape(a, (8, 8))
        b = R.add(x, R.const(2.0, "float32"))
        h = R.reshape(b, (64,))
        return (f, g, h)


@_case(
    "nested_tuple",
    (X,),
    ((X + 2, (X + 1, F + 1)), X + 1, (X + 1) * (X + 2)),
    "an output deep in a tuple is not seen, and its storage is given away",
)
@I.ir_module
class NestedTuple:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        b = R.add(x, R.const(2.0, "float32"))
        t = (b, (a, f))
        d = R.multiply(a, b)
        return (t, a, d)


@_case(
    "function_output_twice",
    (X,),
    ((X + 1) * 2, (X + 1) * 2, (X + 5) * 2 - (X + 1) * 2),
    "the callee's result is returned twice; the second call overwrites it",
)
@I.ir_module
class FunctionOutputTwice:
    @R.function(private=True)
    def doubled(a: Rows) -> Rows:
        b = R.multiply(a, R.const(2.0, "float32"))
        return b

    @R.function
    def main(x: Rows):
        cls = FunctionOutputTwice
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.doubled(a)
        b = R.add(x, R.const(5.0, "float32"))
        w = cls.doubled(b)
        d = R.subtract(w, v)
        return (v, v, d)


@_case(
    "branch_output_and_its_source_first",
    (YES, X),
    _apart((YES, X), (F + 1, X + 1)),
    "on this path the first output is a view of the second",
)
@_case(
    "branch_output_and_its_source_second",
    (NO, X),
    _apart((NO, X), (F * 3, X + 1)),
    "on this path it is not, and must not be lost",
)
@I.ir_module
class BranchOutputAndItsSource:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = R.reshape(a, (64,))
        else:
            b = R.multiply(x, R.const(3.0, "float32"))
            y = R.reshape(b, (64,))
        return (y, a)


@_case(
    "value_and_its_slice",
    (X,),
    _apart((X,), (X + 1, (X + 1)[2:])),
    "the slice is a view of the other output",
)
@I.ir_module
class ValueAndItsSlice:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        return (a, s)


@_case(
    "pieces_of_a_split",
    (X,),
    _apart((X,), ((X + 1)[2:], (X + 1)[:2])),
    "the pieces are views of one storage, one of them at an offset that the caller does not expect",
)
@I.ir_module
class PiecesOfASplit:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        t = R.split(a, 2, axis=0)
        return (t[1], t[0])


@_case(
    "concat_and_its_operand",
    (X,),
    _apart((X,), (np.concatenate([X + 1, X + 2]), X + 2)),
    "the operand is written into the concat and returned as a view of it",
)
@I.ir_module
class ConcatAndItsOperand:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        return (d, b)


@_case(
    "output_is_read_on",
    (X,),
    _apart((X,), (X + 1, ((X + 1) * 2 - (X + 3)) * 5)),
    "an output is read by what follows, which overwrites it",
)
@I.ir_module
class OutputIsReadOn:
    @R.function
    def main(x: Rows):
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            f = R.reshape(a, (64,))
            g = R.multiply(f, R.const(2.0, "float32"))
            h = R.reshape(g, (4, 16))
            b = R.add(x, R.const(3.0, "float32"))
            d = R.subtract(h, b)
            e = R.multiply(d, R.const(5.0, "float32"))
            R.output(a, e)
        return (a, e)


# Constants


ONES = np.ones((2, 2), "float32")
COUNT = np.array([[1, 2], [3, 4]], "float32")
Pair = R.Tensor((2, 2), "float32")
Four = R.Tensor((4,), "float32")
COUNT_NODE = R.const(COUNT, "float32")


@_case(
    "constant_as_it_is",
    (ONES,),
    _apart((ONES,), COUNT),
    "the caller gets the constant itself, and overwrites it for every later call",
)
@I.ir_module
class ConstantAsItIs:
    @R.function
    def main(x: Pair):
        return COUNT_NODE


@_case(
    "constant_reshaped",
    (ONES,),
    _apart((ONES,), COUNT.reshape(4)),
    "the reshape is folded or elided: the caller gets the constant",
)
@I.ir_module
class ConstantReshaped:
    @R.function
    def main(x: Pair):
        f = R.reshape(COUNT_NODE, (4,))
        return f


@_case(
    "constant_in_a_tuple",
    (ONES,),
    _apart((ONES,), (COUNT, COUNT + 1, COUNT.reshape(4))),
    "the constant is handed out in two places of a tuple and read besides",
)
@I.ir_module
class ConstantInATuple:
    @R.function
    def main(x: Pair):
        k = COUNT_NODE
        f = R.reshape(k, (4,))
        a = R.add(x, k)
        return (k, a, f)


@_case(
    "constant_from_a_branch_first",
    (YES, ONES),
    _apart((YES, ONES), COUNT.reshape(4)),
    "one path returns a view of the constant",
)
@_case(
    "constant_from_a_branch_second",
    (NO, ONES),
    _apart((NO, ONES), ONES.reshape(4) * 6),
    "the other path does not",
)
@I.ir_module
class ConstantFromABranch:
    @R.function
    def main(c: Bool, x: Pair):
        if c:
            y = R.reshape(COUNT_NODE, (4,))
        else:
            b = R.multiply(x, R.const(6.0, "float32"))
            y = R.reshape(b, (4,))
        return y


@_case(
    "constant_from_a_function",
    (ONES,),
    _apart((ONES,), (COUNT.reshape(4), COUNT + 1)),
    "the callee returns its constant, which the next call returns again",
)
@I.ir_module
class ConstantFromAFunction:
    @R.function(private=True)
    def count() -> Pair:
        return COUNT_NODE

    @R.function
    def main(x: Pair):
        cls = ConstantFromAFunction
        k = cls.count()
        f = R.reshape(k, (4,))
        a = cls.count()
        b = R.add(x, a)
        return (f, b)


@_case(
    "constant_is_computed_with",
    (ONES,),
    _apart((ONES,), (COUNT.reshape(4) * 2 + 1) * COUNT.reshape(4)),
    "what is computed from the constant is written over it",
)
@I.ir_module
class ConstantIsComputedWith:
    @R.function
    def main(x: Pair):
        f = R.reshape(COUNT_NODE, (4,))
        a = R.multiply(f, R.const(2.0, "float32"))
        g = R.reshape(x, (4,))
        b = R.add(a, g)
        return R.multiply(b, f)


@_case(
    "constant_sliced",
    (ONES,),
    _apart((ONES,), (COUNT[1:], COUNT[:1] + COUNT[1:])),
    "the slice is a view of the constant",
)
@I.ir_module
class ConstantSliced:
    @R.function
    def main(x: Pair):
        k = COUNT_NODE
        s = R.strided_slice(k, axes=[0], begin=[1], end=[2])
        t = R.strided_slice(k, axes=[0], begin=[0], end=[1])
        return (s, R.add(s, t))


@_case(
    "constant_in_a_concat",
    (ONES,),
    _apart((ONES,), np.concatenate([ONES + 4, COUNT, COUNT])),
    "a constant cannot be written into the concat by who makes it; its piece stays empty",
)
@I.ir_module
class ConstantInAConcat:
    @R.function
    def main(x: Pair):
        k = COUNT_NODE
        a = R.add(x, R.const(4.0, "float32"))
        d = R.concat([a, k, k], axis=0)
        return d


# Parameters


@_case(
    "parameter_reshaped",
    (X,),
    _apart((X,), F),
    "the caller gets a view of its own input",
)
@I.ir_module
class ParameterReshaped:
    @R.function
    def main(x: Rows):
        f = R.reshape(x, (64,))
        return f


@_case(
    "parameter_reshaped_to_its_shape",
    (X,),
    _apart((X,), X),
    "a reshape that changes nothing is dropped, and the input itself is returned",
)
@I.ir_module
class ParameterReshapedToItsShape:
    @R.function
    def main(x: Rows):
        with R.dataflow():
            f = R.reshape(x, (4, 16))
            R.output(f)
        return f


@_case(
    "parameter_reshaped_by_a_function",
    (X,),
    _apart((X,), (F, X + 1)),
    "the callee's result is a view of the caller's caller's input",
)
@I.ir_module
class ParameterReshapedByAFunction:
    @R.function(private=True)
    def flat(a: Rows) -> Flat:
        f = R.reshape(a, (64,))
        return f

    @R.function
    def main(x: Rows):
        cls = ParameterReshapedByAFunction
        f = cls.flat(x)
        a = R.add(x, R.const(1.0, "float32"))
        return (f, a)


@_case(
    "parameter_sliced",
    (X,),
    _apart((X,), (X[2:], X[:2] * 2)),
    "the slice is a view of the input, at an offset",
)
@I.ir_module
class ParameterSliced:
    @R.function
    def main(x: Rows):
        s = R.strided_slice(x, axes=[0], begin=[2], end=[4])
        t = R.strided_slice(x, axes=[0], begin=[0], end=[2])
        u = R.multiply(t, R.const(2.0, "float32"))
        return (s, u)


@_case(
    "parameter_split",
    (X,),
    _apart((X,), (X[:1], X[1:])),
    "the pieces are views of the input",
)
@I.ir_module
class ParameterSplit:
    @R.function
    def main(x: Rows):
        t = R.split(x, [1], axis=0)
        return (t[0], t[1])


@_case(
    "parameter_in_a_tuple",
    ((X, Y),),
    _apart(((X, Y),), (Y.reshape(64), (X + Y) * 2)),
    "a field of a tuple parameter is not known as the caller's",
)
@I.ir_module
class ParameterInATuple:
    @R.function
    def main(p: R.Tuple(Rows, Rows)):
        x = p[0]
        y = p[1]
        f = R.reshape(y, (64,))
        a = R.add(x, y)
        b = R.multiply(a, R.const(2.0, "float32"))
        return (f, b)


@_case(
    "parameters_in_a_concat",
    (X, Y),
    _apart((X, Y), (np.concatenate([Y, X, X + 1]), X + 2)),
    "a parameter has a place of its own and cannot be written into the concat by who makes it",
)
@I.ir_module
class ParametersInAConcat:
    @R.function
    def main(x: Rows, y: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        d = R.concat([y, x, a], axis=0)
        b = R.add(x, R.const(2.0, "float32"))
        return (d, b)


@_case(
    "parameter_is_kept",
    (X,),
    _apart((X,), (F * 2 + 1) * F),
    "what is computed from a view of the input overwrites it",
)
@I.ir_module
class ParameterIsKept:
    @R.function
    def main(x: Rows):
        with R.dataflow():
            f = R.reshape(x, (64,))
            a = R.multiply(f, R.const(2.0, "float32"))
            b = R.add(a, R.const(1.0, "float32"))
            g = R.reshape(x, (64,))
            d = R.multiply(b, g)
            R.output(d)
        return d


def _one_tensor_twice(built):
    """Whether a call with one tensor for both parameters is right, and leaves it as it was."""
    x = tvm.runtime.tensor(X)
    return np.array_equal(built.call(x, x).numpy(), X * 2) and np.array_equal(x.numpy(), X)


@_case(
    "one_tensor_for_two_parameters",
    (X, X),
    _one_tensor_twice,
    "the caller passes one tensor twice, which no plan may assume it does not",
)
@I.ir_module
class OneTensorForTwoParameters:
    @R.function
    def main(x: Rows, y: Rows):
        f = R.reshape(x, (64,))
        g = R.reshape(y, (64,))
        a = R.multiply(f, R.const(3.0, "float32"))
        b = R.subtract(a, g)
        return R.reshape(b, (4, 16))
