"""Aliases through branches and through calls between Relax functions.

`CASES` is what `run_isolated` takes; each note says what goes wrong where the case is mishandled.
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


Bool = R.Tensor((), "bool")
Rows = R.Tensor((4, 16), "float32")
Flat = R.Tensor((64,), "float32")
Half = R.Tensor((2, 16), "float32")
YES, NO = np.asarray(True), np.asarray(False)
X = np.arange(64, dtype="float32").reshape(4, 16)
F = X.reshape(64)


# Branches


@_case(
    "chains_differ_first",
    (YES, X),
    (X + 1).reshape(8, 8) * (X + 2).reshape(8, 8),
    "the value's storage is reused after the If, though what the branch returns is a view of it",
)
@_case(
    "chains_differ_second",
    (NO, X),
    (X + 1).reshape(8, 8) * (X + 2).reshape(8, 8),
    "the storage of the second branch's steps is one that only the first branch allocates",
)
@I.ir_module
class ChainsDiffer:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            f = R.reshape(a, (64,))
            y = R.reshape(f, (8, 8))
        else:
            g = R.reshape(a, (16, 4))
            h = R.reshape(g, (2, 32))
            y = R.reshape(h, (8, 8))
        b = R.add(x, R.const(2.0, "float32"))
        s = R.reshape(b, (8, 8))
        return R.multiply(y, s)


@_case(
    "nested_first",
    (YES, YES, X),
    (X + 1) * (X + 5),
    "a view that comes out of two Ifs is followed through one; its value is overwritten after them",
)
@_case(
    "nested_second",
    (YES, NO, X),
    (X + 1) * 2 * (X + 5),
    "the inner second branch lies in storage that the inner first branch allocates",
)
@_case(
    "nested_third",
    (NO, NO, X),
    (X + 1) * 3 * (X + 5),
    "the outer second branch lies in storage that the outer first branch allocates",
)
@I.ir_module
class Nested:
    @R.function
    def main(c: Bool, d: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            if d:
                f = R.reshape(a, (64,))
                z = R.reshape(f, (4, 16))
            else:
                b = R.multiply(a, R.const(2.0, "float32"))
                g = R.reshape(b, (64,))
                z = R.reshape(g, (4, 16))
            h = R.reshape(z, (64,))
            y = R.reshape(h, (4, 16))
        else:
            e = R.multiply(a, R.const(3.0, "float32"))
            k = R.reshape(e, (64,))
            y = R.reshape(k, (4, 16))
        m = R.add(x, R.const(5.0, "float32"))
        return R.multiply(y, m)


@_case(
    "read_in_and_after_first",
    (YES, X),
    ((X + 1) * 2 + 3) - (X + 1),
    "the branch takes the storage of a value that is read again after the If",
)
@_case(
    "read_in_and_after_second",
    (NO, X),
    ((X + 1) * 3 - 7) - (X + 1),
    "the same in the second branch",
)
@I.ir_module
class ReadInAndAfter:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.reshape(a, (64,))
        if c:
            b = R.multiply(a, R.const(2.0, "float32"))
            y = R.add(b, R.const(3.0, "float32"))
        else:
            d = R.multiply(a, R.const(3.0, "float32"))
            y = R.subtract(d, R.const(7.0, "float32"))
        w = R.reshape(v, (4, 16))
        return R.subtract(y, w)


@_case(
    "tuple_out_first",
    (YES, X),
    (F + 1) * (F + 9) - (F + 4) - (F + 1) * 3,
    "what a branch returns in a tuple is not followed: the view's value is overwritten",
)
@_case(
    "tuple_out_second",
    (NO, X),
    (F + 1) * 2 * (F + 9) - (F + 4) - (F + 1),
    "the fields hold a view in the other place than in the first branch",
)
@I.ir_module
class TupleOut:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            f = R.reshape(a, (64,))
            b = R.multiply(f, R.const(3.0, "float32"))
            p = (f, b)
        else:
            g = R.reshape(a, (64,))
            d = R.multiply(g, R.const(2.0, "float32"))
            p = (d, g)
        e = R.add(x, R.const(9.0, "float32"))
        h = R.reshape(e, (64,))
        m = R.multiply(p[0], h)
        k = R.add(x, R.const(4.0, "float32"))
        n = R.reshape(k, (64,))
        s = R.subtract(m, n)
        return R.subtract(s, p[1])


@_case(
    "two_views_of_one_value",
    (NO, X),
    (F + 1) * (F + 4),
    "the value is not read after the If by its own name, and its storage is given away",
)
@I.ir_module
class TwoViewsOfOneValue:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = R.reshape(a, (64,))
        else:
            g = R.reshape(a, (2, 32))
            y = R.reshape(g, (64,))
        b = R.add(x, R.const(4.0, "float32"))
        h = R.reshape(b, (64,))
        return R.multiply(y, h)


@_case(
    "read_in_one_branch_first",
    (YES, X),
    X * 2 + 2 - (X + 1),
    "the value is not read on the other path, and here its storage is given away too",
)
@_case(
    "read_in_one_branch_second",
    (NO, X),
    X * 5 + 1 - (X + 9),
    "the same with the other value, in the second branch",
)
@I.ir_module
class ReadInOneBranch:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.reshape(a, (64,))
        g = R.add(x, R.const(9.0, "float32"))
        h = R.reshape(g, (64,))
        if c:
            b = R.multiply(x, R.const(2.0, "float32"))
            d = R.add(b, R.const(2.0, "float32"))
            w = R.reshape(v, (4, 16))
            y = R.subtract(d, w)
        else:
            e = R.multiply(x, R.const(5.0, "float32"))
            f = R.add(e, R.const(1.0, "float32"))
            k = R.reshape(h, (4, 16))
            y = R.subtract(f, k)
        return y


@_case(
    "one_after_another",
    (YES, NO, X),
    ((F + 1) + (F + 3)) * (F + 3),
    "a view out of one If goes through the next: its value is overwritten in between",
)
@I.ir_module
class OneAfterAnother:
    @R.function
    def main(c: Bool, d: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = R.reshape(a, (64,))
        else:
            b = R.multiply(a, R.const(2.0, "float32"))
            y = R.reshape(b, (64,))
        e = R.add(x, R.const(3.0, "float32"))
        f = R.reshape(e, (64,))
        if d:
            z = R.subtract(y, f)
        else:
            z = R.add(y, f)
        return R.multiply(z, f)


@_case(
    "value_itself_or_another_first",
    (YES, X),
    (X + 1) * (X + 4) - (X + 1),
    "the branch returns the value itself: overwriting the result overwrites what is read after",
)
@_case(
    "value_itself_or_another_second",
    (NO, X),
    (X + 1) * 2 * (X + 4) - (X + 1),
    "the result is a new value here and an old one on the other path",
)
@I.ir_module
class ValueItselfOrAnother:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = a
        else:
            y = R.multiply(a, R.const(2.0, "float32"))
        b = R.add(x, R.const(4.0, "float32"))
        m = R.multiply(y, b)
        return R.subtract(m, a)


@_case(
    "slices_at_two_places_first",
    (YES, X),
    (X + 1)[:2] * (X + 6)[:2] - (X + 1)[1:3],
    "the result lies at one offset or at another: code made for one of them reads the wrong rows",
)
@_case(
    "slices_at_two_places_second",
    (NO, X),
    (X + 1)[2:] * (X + 6)[:2] - (X + 1)[1:3],
    "the same on the other path",
)
@I.ir_module
class SlicesAtTwoPlaces:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = R.strided_slice(a, axes=[0], begin=[0], end=[2])
        else:
            y = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        b = R.add(x, R.const(6.0, "float32"))
        s = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        m = R.multiply(y, s)
        t = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        return R.subtract(m, t)


@_case(
    "concat_of_a_branch_result_first",
    (YES, X),
    np.concatenate([X + 1, X + 3, X + 1]),
    "the branch returns an older value, which has a place already; written into the concat only on "
    "one path, it is missing on the other",
)
@_case(
    "concat_of_a_branch_result_second",
    (NO, X),
    np.concatenate([X * 2, X + 3, X + 1]),
    "the new value of this branch is written over the one that the concat takes too",
)
@I.ir_module
class ConcatOfABranchResult:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = a
        else:
            y = R.multiply(x, R.const(2.0, "float32"))
        b = R.add(x, R.const(3.0, "float32"))
        return R.concat([y, b, a], axis=0)


@_case(
    "concat_in_a_branch_first",
    (YES, X),
    np.concatenate([X + 1, X + 2]) * 3,
    "what was computed before the If is written into a concat that only this branch makes",
)
@_case(
    "concat_in_a_branch_second",
    (NO, X),
    np.concatenate([X + 2, X + 1]) * 3,
    "the operands stand in the other order on this path: one place cannot serve both",
)
@I.ir_module
class ConcatInABranch:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        if c:
            y = R.concat([a, b], axis=0)
        else:
            y = R.concat([b, a], axis=0)
        return R.multiply(y, R.const(3.0, "float32"))


def _parameter_is_kept(built):
    """Whether the caller's tensor is as it was after a call whose branch returns it."""
    x = tvm.runtime.tensor(X)
    result = built.call(tvm.runtime.tensor(YES), x)
    return np.array_equal(result.numpy(), X * 3 + 1) and np.array_equal(x.numpy(), X)


@_case(
    "parameter_or_value",
    (YES, X),
    _parameter_is_kept,
    "the branch returns the caller's tensor, and what follows overwrites it",
)
@I.ir_module
class ParameterOrValue:
    @R.function
    def main(c: Bool, x: Rows):
        if c:
            y = x
        else:
            y = R.add(x, R.const(8.0, "float32"))
        f = R.reshape(y, (64,))
        m = R.multiply(f, R.const(3.0, "float32"))
        n = R.add(m, R.const(1.0, "float32"))
        return R.reshape(n, (4, 16))


@_case(
    "condition_is_a_piece_first",
    (np.array([False, True, False]), X),
    X + 1,
    "the condition is a view at an offset, and the virtual machine reads the byte before",
)
@_case(
    "condition_is_a_piece_second",
    (np.array([True, False, True]), X),
    X + 2,
    "the same where the byte before is true",
)
@I.ir_module
class ConditionIsAPiece:
    @R.function
    def main(c: R.Tensor((3,), "bool"), x: Rows):
        d = R.logical_not(c)
        s = R.strided_slice(d, axes=[0], begin=[1], end=[2])
        e = R.reshape(s, ())
        if e:
            y = R.add(x, R.const(2.0, "float32"))
        else:
            y = R.add(x, R.const(1.0, "float32"))
        return y


# Functions that call functions


@_case(
    "function_returns_its_argument",
    (X,),
    (X + 1) * (X + 2),
    "the result is taken for fresh: the argument's storage is given to the next value",
)
@I.ir_module
class ReturnsItsArgument:
    @R.function(private=True)
    def same(a: Rows) -> Rows:
        return a

    @R.function
    def main(x: Rows):
        cls = ReturnsItsArgument
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.same(a)
        b = R.add(x, R.const(2.0, "float32"))
        return R.multiply(v, b)


@_case(
    "function_returns_its_second_argument",
    (X,),
    (X + 2) * (X + 3) - (X + 4),
    "the result is taken for the first argument, and the second one's storage is given away",
)
@I.ir_module
class ReturnsItsSecondArgument:
    @R.function(private=True)
    def second(a: Rows, b: Rows) -> Rows:
        return b

    @R.function
    def main(x: Rows):
        cls = ReturnsItsSecondArgument
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        v = cls.second(a, b)
        d = R.add(x, R.const(3.0, "float32"))
        e = R.add(x, R.const(4.0, "float32"))
        m = R.multiply(v, d)
        return R.subtract(m, e)


@_case(
    "function_returns_a_reshape",
    (X,),
    (F + 1) * (F + 2),
    "once the reshape is a view, the result is the argument's storage",
)
@I.ir_module
class ReturnsAReshape:
    @R.function(private=True)
    def flat(a: Rows) -> Flat:
        f = R.reshape(a, (64,))
        return f

    @R.function
    def main(x: Rows):
        cls = ReturnsAReshape
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.flat(a)
        b = R.add(x, R.const(2.0, "float32"))
        w = R.reshape(b, (64,))
        return R.multiply(v, w)


@_case(
    "function_returns_both",
    (X,),
    (X + 2) * (X + 3) - (X + 4) - (X + 1),
    "the fields of the result are taken for fresh, or for each other",
)
@I.ir_module
class ReturnsBoth:
    @R.function(private=True)
    def swapped(a: Rows, b: Rows) -> R.Tuple(Rows, Rows):
        return (b, a)

    @R.function
    def main(x: Rows):
        cls = ReturnsBoth
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        t = cls.swapped(a, b)
        d = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(t[0], d)
        e = R.add(x, R.const(4.0, "float32"))
        n = R.subtract(m, e)
        return R.subtract(n, t[1])


@_case(
    "function_returns_a_fresh_tensor",
    (X,),
    ((X + 1) * 2 + 3) - (X + 1) * (X + 4),
    "the callee overwrites its argument, which the caller still reads",
)
@I.ir_module
class ReturnsAFreshTensor:
    @R.function(private=True)
    def fresh(a: Rows) -> Rows:
        b = R.multiply(a, R.const(2.0, "float32"))
        d = R.add(b, R.const(3.0, "float32"))
        return d

    @R.function
    def main(x: Rows):
        cls = ReturnsAFreshTensor
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.fresh(a)
        b = R.add(x, R.const(4.0, "float32"))
        m = R.multiply(a, b)
        return R.subtract(v, m)


@_case(
    "function_called_twice",
    (X,),
    ((F + 1) * 2) * ((F + 5) * 2) - (F + 7),
    "storage of the callee is kept from call to call: the second call overwrites the first result",
)
@I.ir_module
class CalledTwice:
    @R.function(private=True)
    def doubled(a: Rows) -> Flat:
        b = R.multiply(a, R.const(2.0, "float32"))
        f = R.reshape(b, (64,))
        return f

    @R.function
    def main(x: Rows):
        cls = CalledTwice
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.doubled(a)
        b = R.add(x, R.const(5.0, "float32"))
        w = cls.doubled(b)
        d = R.add(x, R.const(7.0, "float32"))
        e = R.reshape(d, (64,))
        m = R.multiply(v, w)
        return R.subtract(m, e)


@_case(
    "function_called_in_a_branch_first",
    (YES, X),
    (F + 1) * (F + 2),
    "a call in a branch returns a view of a value made before the If",
)
@_case(
    "function_called_in_a_branch_second",
    (NO, X),
    (F + 5) * (F + 2),
    "the same, of the other value",
)
@I.ir_module
class CalledInABranch:
    @R.function(private=True)
    def flat(a: Rows) -> Flat:
        f = R.reshape(a, (64,))
        return f

    @R.function
    def main(c: Bool, x: Rows):
        cls = CalledInABranch
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(5.0, "float32"))
        if c:
            y = cls.flat(a)
        else:
            y = cls.flat(b)
        d = R.add(x, R.const(2.0, "float32"))
        w = R.reshape(d, (64,))
        return R.multiply(y, w)


@_case(
    "recursion",
    (np.asarray(3), X),
    (X * 2 + 3) * (X + 10) - X * 2,
    "each level's value lives while the next runs; the last one returns its argument",
)
@_case(
    "recursion_of_no_step",
    (np.asarray(0), X),
    (X * 2) * (X + 10) - X * 2,
    "the result is the argument itself, and the argument is still read",
)
@I.ir_module
class Recursion:
    @R.function(private=True)
    def steps(n: R.Tensor((), "int64"), a: Rows) -> Rows:
        cls = Recursion
        done = R.less_equal(n, R.const(0, "int64"))
        if done:
            y = a
        else:
            m = R.subtract(n, R.const(1, "int64"))
            b = R.add(a, R.const(1.0, "float32"))
            y = cls.steps(m, b)
        return y

    @R.function
    def main(n: R.Tensor((), "int64"), x: Rows):
        cls = Recursion
        a = R.multiply(x, R.const(2.0, "float32"))
        v = cls.steps(n, a)
        b = R.add(x, R.const(10.0, "float32"))
        m = R.multiply(v, b)
        return R.subtract(m, a)


@_case(
    "recursion_with_arguments_swapped",
    (np.asarray(1), X),
    (X + 1) * (X + 3) - (X + 4),
    "only deeper calls return the first argument: the outermost one is followed to the second",
)
@I.ir_module
class RecursionSwapped:
    @R.function(private=True)
    def steps(n: R.Tensor((), "int64"), a: Rows, b: Rows) -> Rows:
        cls = RecursionSwapped
        done = R.less_equal(n, R.const(0, "int64"))
        if done:
            y = b
        else:
            m = R.subtract(n, R.const(1, "int64"))
            y = cls.steps(m, b, a)
        return y

    @R.function
    def main(n: R.Tensor((), "int64"), x: Rows):
        cls = RecursionSwapped
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        v = cls.steps(n, a, b)
        d = R.add(x, R.const(3.0, "float32"))
        e = R.add(x, R.const(4.0, "float32"))
        m = R.multiply(v, d)
        return R.subtract(m, e)


@_case(
    "function_in_a_function",
    (X,),
    (F + 1) * (F + 2),
    "the view is followed through one call and lost in the second",
)
@I.ir_module
class FunctionInAFunction:
    @R.function(private=True)
    def inner(a: Rows) -> R.Tensor((8, 8), "float32"):
        f = R.reshape(a, (8, 8))
        return f

    @R.function(private=True)
    def outer(a: Rows) -> Flat:
        cls = FunctionInAFunction
        b = cls.inner(a)
        f = R.reshape(b, (64,))
        return f

    @R.function
    def main(x: Rows):
        cls = FunctionInAFunction
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.outer(a)
        b = R.add(x, R.const(2.0, "float32"))
        w = R.reshape(b, (64,))
        return R.multiply(v, w)


@_case(
    "function_chooses_first",
    (YES, X),
    (X + 1) * (X + 3) - (X + 4),
    "the callee returns one argument or the other: both must be kept",
)
@_case(
    "function_chooses_second",
    (NO, X),
    (X + 2) * (X + 3) - (X + 4),
    "the same with the other argument",
)
@I.ir_module
class FunctionChooses:
    @R.function(private=True)
    def either(c: Bool, a: Rows, b: Rows) -> Rows:
        if c:
            y = a
        else:
            y = b
        return y

    @R.function
    def main(c: Bool, x: Rows):
        cls = FunctionChooses
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        v = cls.either(c, a, b)
        d = R.add(x, R.const(3.0, "float32"))
        e = R.add(x, R.const(4.0, "float32"))
        m = R.multiply(v, d)
        return R.subtract(m, e)


@_case(
    "function_returns_a_slice",
    (X,),
    (X + 1)[2:] * (X + 2)[:2],
    "the callee's result is a view at an offset into its argument: the caller reads at offset zero",
)
@I.ir_module
class ReturnsASlice:
    @R.function(private=True)
    def tail(a: Rows) -> Half:
        s = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        return s

    @R.function(private=True)
    def head(a: Rows) -> Half:
        s = R.strided_slice(a, axes=[0], begin=[0], end=[2])
        return s

    @R.function
    def main(x: Rows):
        cls = ReturnsASlice
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.tail(a)
        b = R.add(x, R.const(2.0, "float32"))
        w = cls.head(b)
        return R.multiply(v, w)


@_case(
    "function_is_given_a_slice",
    (X,),
    (X + 1)[2:] * 2 - (X + 5)[:2],
    "a view at an offset goes into a function whose kernels demand offset zero",
)
@I.ir_module
class IsGivenASlice:
    @R.function(private=True)
    def doubled(a: Half) -> Half:
        b = R.multiply(a, R.const(2.0, "float32"))
        return b

    @R.function
    def main(x: Rows):
        cls = IsGivenASlice
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        v = cls.doubled(s)
        b = R.add(x, R.const(5.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        return R.subtract(v, t)


@_case(
    "concat_of_function_results",
    (X,),
    np.concatenate([X + 1, X + 1, X * 2]) * np.concatenate([X + 4, X + 4, X + 4]),
    "a callee's result that is its argument cannot be written into the concat twice",
)
@I.ir_module
class ConcatOfFunctionResults:
    @R.function(private=True)
    def same(a: Rows) -> Rows:
        return a

    @R.function
    def main(x: Rows):
        cls = ConcatOfFunctionResults
        a = R.add(x, R.const(1.0, "float32"))
        v = cls.same(a)
        b = R.multiply(x, R.const(2.0, "float32"))
        w = cls.same(b)
        d = R.concat([v, a, w], axis=0)
        e = R.add(x, R.const(4.0, "float32"))
        g = R.concat([e, e, e], axis=0)
        return R.multiply(d, g)
