"""Results of extern functions, which may be their arguments, and match_cast, which always is.

`CASES` is what `run_isolated` takes; each note says what goes wrong where the case is mishandled.
"""

import ctypes

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.measure.kernel_calls import byte_offset

CASES = {}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


@tvm.register_global_func("cases.same", override=True)
def _same(tensor):
    return tensor


@tvm.register_global_func("cases.second", override=True)
def _second(_first, second):
    return second


@tvm.register_global_func("cases.both", override=True)
def _both(first, second):
    return [second, first]


@tvm.register_global_func("cases.hundred_more", override=True)
def _hundred_more(tensor):
    return tvm.runtime.tensor(tensor.numpy() + 100)


@tvm.register_global_func("cases.flat", override=True)
def _flat(tensor):
    return tensor._create_view((64,))


@tvm.register_global_func("cases.tail", override=True)
def _tail(tensor):
    return tensor._create_view((2, 16), "float32", 128)


def _from_the_first_byte(tensor):
    """A tensor's floats, without its byte offset, which many an extern function does not heed."""
    first = tensor.data_ptr() - byte_offset(tensor)
    floats = ctypes.cast(first, ctypes.POINTER(ctypes.c_float))
    return np.ctypeslib.as_array(floats, shape=tuple(tensor.shape))


@tvm.register_global_func("cases.first_bytes", override=True)
def _first_bytes(tensor):
    return tvm.runtime.tensor(_from_the_first_byte(tensor).copy())


@tvm.register_global_func("cases.ten_more_into", override=True)
def _ten_more_into(tensor, result):
    _from_the_first_byte(result)[:] = _from_the_first_byte(tensor) + 10


Bool = R.Tensor((), "bool")
Rows = R.Tensor((4, 16), "float32")
Flat = R.Tensor((64,), "float32")
Half = R.Tensor((2, 16), "float32")
YES, NO = np.asarray(True), np.asarray(False)
X = np.arange(64, dtype="float32").reshape(4, 16)
F = X.reshape(64)


# Extern functions


@_case(
    "extern_same",
    (X,),
    (X + 1) * (X + 2) - (X + 3),
    "the result is taken for fresh: the argument's storage goes to the next value",
)
@I.ir_module
class ExternSame:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.same", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(v, b)
        d = R.add(x, R.const(3.0, "float32"))
        return R.subtract(m, d)


@_case(
    "extern_second",
    (X,),
    (X + 2) * (X + 3) - (X + 4),
    "the result is followed to the first argument only",
)
@I.ir_module
class ExternSecond:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        v = R.call_pure_packed("cases.second", a, b, ty_args=Rows)
        d = R.add(x, R.const(3.0, "float32"))
        e = R.add(x, R.const(4.0, "float32"))
        m = R.multiply(v, d)
        return R.subtract(m, e)


@_case(
    "extern_returns_a_tuple",
    (X,),
    (X + 2) * (X + 3) - (X + 1) * (X + 4),
    "the results in a tuple are taken for fresh",
)
@I.ir_module
class ExternReturnsATuple:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        t = R.call_pure_packed("cases.both", a, b, ty_args=R.Tuple(Rows, Rows))
        d = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(t[0], d)
        e = R.add(x, R.const(4.0, "float32"))
        n = R.multiply(t[1], e)
        return R.subtract(m, n)


@_case(
    "extern_fresh",
    (X,),
    (X + 101) * (X + 2) - (X + 1),
    "the result is taken for its argument and overwritten in place of it",
)
@I.ir_module
class ExternFresh:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.hundred_more", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(v, b)
        return R.subtract(m, a)


@_case(
    "extern_declared_fresh",
    (X,),
    ((X + 101) * (X + 2) - (X + 3)) * 2,
    "the argument's storage may be used again, and the result lies in none that the plan knows",
)
@I.ir_module
class ExternDeclaredFresh:
    @R.function
    def main(x: Rows):
        R.func_attr({"ta.extern_alias": {"cases.hundred_more": "fresh"}})
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.hundred_more", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(v, b)
        d = R.add(x, R.const(3.0, "float32"))
        n = R.subtract(m, d)
        return R.multiply(n, R.const(2.0, "float32"))


@_case(
    "extern_declared_arg0",
    (X,),
    (X + 1) * (X + 2) - (X + 1),
    "the declaration is not read, or read and not followed: the argument is overwritten",
)
@I.ir_module
class ExternDeclaredArg0:
    @R.function
    def main(x: Rows):
        R.func_attr({"ta.extern_alias": {"cases.same": "arg0"}})
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.same", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(v, b)
        return R.subtract(m, v)


@_case(
    "extern_declared_arg1",
    (X,),
    (X + 2) * (X + 3) - (X + 4),
    "the declaration is read as the first argument; the second one's storage is given away",
)
@I.ir_module
class ExternDeclaredArg1:
    @R.function
    def main(x: Rows):
        R.func_attr({"ta.extern_alias": {"cases.second": "arg1"}})
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        v = R.call_pure_packed("cases.second", a, b, ty_args=Rows)
        d = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(v, d)
        e = R.add(x, R.const(4.0, "float32"))
        return R.subtract(m, e)


@_case(
    "extern_declared_may",
    (X,),
    (X + 1) * (X + 2) - (X + 3),
    "`may` is read as no: what the function returns is its argument",
)
@I.ir_module
class ExternDeclaredMay:
    @R.function
    def main(x: Rows):
        R.func_attr({"ta.extern_alias": {"cases.same": "may", "cases.hundred_more": "fresh"}})
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.same", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(v, b)
        d = R.add(x, R.const(3.0, "float32"))
        return R.subtract(m, d)


@_case(
    "extern_lives_long",
    (X,),
    ((X + 1) + (X + 2)) * (X + 3) - (X + 4) - (X + 1),
    "the result is kept over the next value only",
)
@I.ir_module
class ExternLivesLong:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.same", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        s = R.add(v, b)
        d = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(s, d)
        e = R.add(x, R.const(4.0, "float32"))
        n = R.subtract(m, e)
        return R.subtract(n, v)


@_case(
    "extern_returns_a_view",
    (X,),
    (F + 1) * (F + 2),
    "the result has another shape than the argument and is taken for fresh",
)
@I.ir_module
class ExternReturnsAView:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.flat", a, ty_args=Flat)
        b = R.add(x, R.const(2.0, "float32"))
        w = R.reshape(b, (64,))
        return R.multiply(v, w)


@_case(
    "extern_returns_a_tail",
    (X,),
    ((X + 1)[2:] + 110) * (X + 2)[:2],
    "the result is smaller than the argument and lies inside it; the next value overwrites it",
)
@I.ir_module
class ExternReturnsATail:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.tail", a, ty_args=Half)
        b = R.add(x, R.const(2.0, "float32"))
        w = R.call_pure_packed("cases.hundred_more", v, ty_args=Half)
        u = R.call_dps_packed("cases.ten_more_into", (w,), out_ty=Half)
        s = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        return R.multiply(u, s)


@_case(
    "extern_in_a_branch_first",
    (YES, X),
    (X + 1) * (X + 2),
    "the result leaves the branch and is its argument, which was made before the If",
)
@_case(
    "extern_in_a_branch_second",
    (NO, X),
    (X + 1) * 3 * (X + 2),
    "the same with an argument that was made in the branch",
)
@I.ir_module
class ExternInABranch:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        if c:
            y = R.call_pure_packed("cases.same", a, ty_args=Rows)
        else:
            b = R.multiply(a, R.const(3.0, "float32"))
            y = R.call_pure_packed("cases.same", b, ty_args=Rows)
        d = R.add(x, R.const(2.0, "float32"))
        return R.multiply(y, d)


@_case(
    "extern_of_a_reshape",
    (X,),
    (F + 1) * (F + 2),
    "the result is followed to the reshape and not on to the value",
)
@I.ir_module
class ExternOfAReshape:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        v = R.call_pure_packed("cases.same", f, ty_args=Flat)
        b = R.add(x, R.const(2.0, "float32"))
        w = R.reshape(b, (64,))
        return R.multiply(v, w)


@_case(
    "extern_of_a_slice",
    (X,),
    (X + 1)[2:] * (X + 2)[:2],
    "the result is a view at an offset, which the kernel after it does not expect",
)
@I.ir_module
class ExternOfASlice:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        v = R.call_pure_packed("cases.same", s, ty_args=Half)
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        return R.multiply(v, t)


@_case(
    "extern_twice",
    (X,),
    (X + 1) * (X + 2) - (X + 1) * (X + 3),
    "two results of two calls are one value; each may outlive the other",
)
@I.ir_module
class ExternTwice:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        u = R.call_pure_packed("cases.same", a, ty_args=Rows)
        v = R.call_pure_packed("cases.same", u, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(u, b)
        d = R.add(x, R.const(3.0, "float32"))
        n = R.multiply(v, d)
        return R.subtract(m, n)


@_case(
    "extern_writes_into_its_result",
    (X,),
    ((X + 1)[1:3] + 10) * (X + 2)[:2] - (X + 1)[1:3],
    "a destination-passing extern function is given a slice, and reads from the first byte of what "
    "the slice lies in",
)
@I.ir_module
class ExternWritesIntoItsResult:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        v = R.call_dps_packed("cases.ten_more_into", (s,), out_ty=Half)
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        m = R.multiply(v, t)
        return R.subtract(m, s)


@_case(
    "extern_result_in_a_concat",
    (X,),
    np.concatenate([X + 2, X + 1, X + 1]) * 2,
    "the extern function's result cannot be given a place; its argument has only one",
)
@I.ir_module
class ExternResultInAConcat:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_pure_packed("cases.same", a, ty_args=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([b, v, a], axis=0)
        return R.multiply(d, R.const(2.0, "float32"))


@_case(
    "extern_fills_a_piece_of_a_concat",
    (X,),
    np.concatenate([X + 2, X + 11]) * 3,
    "an extern function writes into the concat, from its first byte on",
)
@I.ir_module
class ExternFillsAPiece:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.call_dps_packed("cases.ten_more_into", (a,), out_ty=Rows)
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([b, v], axis=0)
        return R.multiply(d, R.const(3.0, "float32"))


@_case(
    "extern_reads_from_the_first_byte",
    (X,),
    (X + 1)[2:] * (X + 2)[1:3],
    "a slice and a view that the user wrote lie at offsets, and the function reads what is before",
)
@I.ir_module
class ExternReadsFromTheFirstByte:
    @R.function
    def main(x: Rows):
        R.func_attr({"ta.extern_alias": {"cases.first_bytes": "fresh"}})
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        u = R.call_pure_packed("cases.first_bytes", s, ty_args=Half)
        b = R.add(x, R.const(2.0, "float32"))
        t = R.memory.view(b, R.shape([2, 16]), R.dtype("float32"), R.prim_value(64))
        v = R.call_pure_packed("cases.first_bytes", t, ty_args=Half)
        return R.multiply(u, v)


# match_cast


@_case(
    "cast_lives_on",
    (X,),
    (X + 1) * (X + 2) - (X + 3),
    "the cast is taken for another value: its source's storage goes to the next one",
)
@I.ir_module
class CastLivesOn:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.match_cast(a, Rows)
        b = R.add(x, R.const(2.0, "float32"))
        d = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(v, b)
        return R.subtract(m, d)


@_case(
    "cast_to_symbolic",
    (X,),
    (X + 1) * (X + 2) - (X + 1),
    "with its new symbolic size the cast is taken for another value",
)
@I.ir_module
class CastToSymbolic:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32")):
        m = T.int64()
        a = R.add(x, R.const(1.0, "float32"))
        v = R.match_cast(a, R.Tensor((m, 16), "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.match_cast(b, R.Tensor((m, 16), "float32"))
        p = R.multiply(v, w)
        return R.subtract(p, v)


@_case(
    "cast_of_a_view",
    (X,),
    (F + 1) * (F + 2),
    "the chain from the cast over the view to the value is cut",
)
@I.ir_module
class CastOfAView:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (8, 8))
        v = R.match_cast(f, R.Tensor((8, 8), "float32"))
        g = R.reshape(v, (64,))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.reshape(b, (64,))
        return R.multiply(g, w)


@_case(
    "cast_of_an_extern_result",
    (X,),
    (X + 1) * (X + 2),
    "what an extern function returns without a shape is cast; the cast is its argument still",
)
@I.ir_module
class CastOfAnExternResult:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        u = R.call_pure_packed("cases.same", a, ty_args=R.Tensor(ndim=2, dtype="float32"))
        v = R.match_cast(u, Rows)
        b = R.add(x, R.const(2.0, "float32"))
        return R.multiply(v, b)


@_case(
    "cast_twice",
    (X,),
    (X + 1) * (X + 2) - (X + 1) * (X + 3),
    "of two casts of one value the one that is read last keeps it",
)
@I.ir_module
class CastTwice:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        u = R.match_cast(a, Rows)
        v = R.match_cast(a, Rows)
        b = R.add(x, R.const(2.0, "float32"))
        m = R.multiply(u, b)
        d = R.add(x, R.const(3.0, "float32"))
        n = R.multiply(v, d)
        return R.subtract(m, n)


@_case(
    "cast_in_a_branch_first",
    (YES, X),
    (X + 1) * (X + 2),
    "the cast leaves the branch, and its source is not followed",
)
@_case(
    "cast_in_a_branch_second",
    (NO, X),
    (X + 3) * (X + 2),
    "the same with the other source",
)
@I.ir_module
class CastInABranch:
    @R.function
    def main(c: Bool, x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(3.0, "float32"))
        if c:
            y = R.match_cast(a, Rows)
        else:
            y = R.match_cast(b, Rows)
        d = R.add(x, R.const(2.0, "float32"))
        return R.multiply(y, d)


@_case(
    "cast_of_a_tuple",
    (X,),
    (X + 2) * (X + 3) - (X + 4) - (X + 1),
    "a tuple is cast as a whole, and its fields are taken for fresh, or for each other",
)
@I.ir_module
class CastOfATuple:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        t = (b, a)
        u = R.match_cast(t, R.Tuple(Rows, Rows))
        d = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(u[0], d)
        e = R.add(x, R.const(4.0, "float32"))
        n = R.subtract(m, e)
        return R.subtract(n, u[1])
