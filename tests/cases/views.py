"""Views that the program itself makes, and dtypes whose slices begin at any byte.

A view that the user wrote is the program's meaning and is kept. `CASES` is what `run_isolated`
takes; each note says what goes wrong where the case is mishandled.
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


Rows = R.Tensor((4, 16), "float32")
X = np.arange(64, dtype="float32").reshape(4, 16)
F = X.reshape(64)


# Views that the user wrote


@_case(
    "view_of_a_value",
    (X,),
    (X + 1)[1:3] * (X + 2)[2:],
    "the view keeps no storage, or the kernel after it demands offset zero",
)
@I.ir_module
class ViewOfAValue:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([2, 16]), R.dtype("float32"), R.prim_value(64))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.memory.view(b, R.shape([2, 16]), R.dtype("float32"), R.prim_value(128))
        return R.multiply(v, w)


@_case(
    "view_at_four_bytes",
    (X,),
    (F + 1)[1:6] * (F + 2)[7:12],
    "the offset is no multiple of a storage's alignment, and the kernel assumes that it is",
)
@I.ir_module
class ViewAtFourBytes:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([5]), R.dtype("float32"), R.prim_value(4))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.memory.view(b, R.shape([5]), R.dtype("float32"), R.prim_value(28))
        return R.multiply(v, w)


@_case(
    "view_of_a_view",
    (X,),
    (X + 1)[1:2] * (X + 2)[:1],
    "the offset of the second view is taken from the storage, not from the first",
)
@I.ir_module
class ViewOfAView:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([3, 16]), R.dtype("float32"), R.prim_value(64))
        w = R.memory.view(v, R.shape([1, 16]), R.dtype("float32"), R.prim_value(0))
        b = R.add(x, R.const(2.0, "float32"))
        u = R.memory.view(b, R.shape([1, 16]), R.dtype("float32"), R.prim_value(0))
        return R.multiply(w, u)


@_case(
    "view_of_a_slice_of_a_view",
    (X,),
    (X + 1)[2:3] * (X + 2)[:1],
    "three offsets in a row, the last of them zero, add up",
)
@I.ir_module
class ViewOfASliceOfAView:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([3, 16]), R.dtype("float32"), R.prim_value(64))
        s = R.strided_slice(v, axes=[0], begin=[1], end=[3])
        w = R.memory.view(s, R.shape([1, 16]), R.dtype("float32"), R.prim_value(0))
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[1])
        return R.multiply(w, t)


@_case(
    "view_of_a_reshape",
    (X,),
    (F + 1)[32:] * (F + 2)[:32],
    "the view is followed to the reshape and not on to the value",
)
@I.ir_module
class ViewOfAReshape:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        v = R.memory.view(f, R.shape([32]), R.dtype("float32"), R.prim_value(128))
        b = R.add(x, R.const(2.0, "float32"))
        g = R.reshape(b, (64,))
        s = R.strided_slice(g, axes=[0], begin=[0], end=[32])
        return R.multiply(v, s)


@_case(
    "view_of_all",
    (X,),
    (F + 1) * (F + 2) - (F + 3),
    "a view at offset zero is taken for fresh",
)
@I.ir_module
class ViewOfAll:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([64]), R.dtype("float32"), R.prim_value(0))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.memory.view(b, R.shape([64]), R.dtype("float32"), R.prim_value(0))
        d = R.add(x, R.const(3.0, "float32"))
        u = R.memory.view(d, R.shape([64]), R.dtype("float32"), R.prim_value(0))
        m = R.multiply(v, w)
        return R.subtract(m, u)


@_case(
    "view_brought_to_offset_zero",
    (X,),
    (X + 1)[2:] * (X + 2)[:2] - (X + 1)[:2],
    "what lies at offset zero may be a copy or the value itself: both must be kept",
)
@I.ir_module
class ViewBroughtToOffsetZero:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([2, 16]), R.dtype("float32"), R.prim_value(128))
        w = R.memory.ensure_zero_offset(v)
        u = R.memory.view(a, R.shape([2, 16]), R.dtype("float32"), R.prim_value(0))
        s = R.memory.ensure_zero_offset(u)
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        m = R.multiply(w, t)
        return R.subtract(m, s)


@_case(
    "view_in_a_concat",
    (X,),
    np.concatenate([X + 2, (X + 1)[2:], X + 1]) * 2,
    "a view lies where it lies and cannot be written into the concat; its value could",
)
@I.ir_module
class ViewInAConcat:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([2, 16]), R.dtype("float32"), R.prim_value(128))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([b, v, a], axis=0)
        return R.multiply(d, R.const(2.0, "float32"))


@_case(
    "view_as_integers",
    (X,),
    ((F + 1).view("int32") + (F * 0 + 3).astype("int32")) ^ (F + 2).view("int32"),
    "the same bytes with another dtype are taken for fresh, or converted",
)
@I.ir_module
class ViewAsIntegers:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([64]), R.dtype("int32"), R.prim_value(0))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.memory.view(b, R.shape([64]), R.dtype("int32"), R.prim_value(0))
        d = R.add(v, R.const(3, "int32"))
        return R.bitwise_xor(d, w)


@_case(
    "view_as_bytes",
    (X,),
    (F + 1).view("uint8")[64:128] ^ (F + 2).view("uint8")[:64],
    "with a smaller dtype the count of elements grows: sizes are of bytes, not of elements",
)
@I.ir_module
class ViewAsBytes:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        v = R.memory.view(a, R.shape([64]), R.dtype("uint8"), R.prim_value(64))
        b = R.add(x, R.const(2.0, "float32"))
        w = R.memory.view(b, R.shape([64]), R.dtype("uint8"), R.prim_value(0))
        return R.bitwise_xor(v, w)


@_case(
    "cast_is_no_view",
    (X,),
    (F + 1).astype("int32") * (F + 2).astype("int32") - 7,
    "a conversion to a dtype of the same size is taken for a reshape: its bits are read",
)
@I.ir_module
class CastIsNoView:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        v = R.astype(f, "int32")
        b = R.add(x, R.const(2.0, "float32"))
        g = R.astype(b, "int32")
        w = R.reshape(g, (64,))
        m = R.multiply(v, w)
        return R.subtract(m, R.const(7, "int32"))


def _view_of_the_parameter(built):
    """Whether the result lies in the caller's tensor, as the program says."""
    x = tvm.runtime.tensor(X)
    result = built.call(x)
    if not np.array_equal(result.numpy(), F):
        return False
    result.copyfrom(F + 5)
    return np.array_equal(x.numpy(), X + 5)


@_case(
    "view_of_a_parameter_is_returned",
    (X,),
    _view_of_the_parameter,
    "the program says that the result lies in the caller's tensor, and it is copied",
)
@I.ir_module
class ViewOfAParameterIsReturned:
    @R.function
    def main(x: Rows):
        v = R.memory.view(x, R.shape([64]), R.dtype("float32"), R.prim_value(0))
        return v


@_case(
    "view_of_a_parameter_is_read",
    (X,),
    X[1:3] * X[2:] - X[1:3],
    "the caller's tensor is not known as what the view lies in",
)
@I.ir_module
class ViewOfAParameterIsRead:
    @R.function
    def main(x: Rows):
        v = R.memory.view(x, R.shape([2, 16]), R.dtype("float32"), R.prim_value(64))
        w = R.memory.view(x, R.shape([2, 16]), R.dtype("float32"), R.prim_value(128))
        m = R.multiply(v, w)
        return R.subtract(m, v)


# Slices of narrow dtypes


BYTES = np.arange(-40, 41, dtype="int8")


@_case(
    "bytes_from_the_second",
    (BYTES,),
    ((BYTES + 1)[1:] ^ (BYTES + 2)[:-1]).astype("int8"),
    "the slice begins at byte 1, where no kernel expects a tensor",
)
@I.ir_module
class BytesFromTheSecond:
    @R.function
    def main(x: R.Tensor((81,), "int8")):
        a = R.add(x, R.const(1, "int8"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[81])
        b = R.add(x, R.const(2, "int8"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[80])
        return R.bitwise_xor(s, t)


@_case(
    "bytes_in_odd_pieces",
    (BYTES,),
    np.concatenate([BYTES[:3] + 1, (BYTES + 2)[5:], BYTES[3:10] * 2]).astype("int8") * np.int8(3),
    "a piece of the concat begins at an odd byte, where its kernel cannot write",
)
@I.ir_module
class BytesInOddPieces:
    @R.function
    def main(x: R.Tensor((81,), "int8")):
        t = R.split(x, [3, 10], axis=0)
        a = R.add(t[0], R.const(1, "int8"))
        b = R.add(x, R.const(2, "int8"))
        s = R.strided_slice(b, axes=[0], begin=[5], end=[81])
        d = R.multiply(t[1], R.const(2, "int8"))
        e = R.concat([a, s, d], axis=0)
        return R.multiply(e, R.const(3, "int8"))


@_case(
    "floats_from_the_fourth",
    (F,),
    (F + 1)[3:] * (F + 2)[:-3],
    "the slice begins at byte 12, which is no multiple of a vector",
)
@I.ir_module
class FloatsFromTheFourth:
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[3], end=[64])
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[61])
        return R.multiply(s, t)


H = np.arange(33, dtype="float16")


@_case(
    "halves_from_the_second",
    (H,),
    np.concatenate([(H + 1)[1:] * (H + 2)[:-1], H[:1] + 5]),
    "two bytes an element: the offset is counted in elements of another dtype",
)
@I.ir_module
class HalvesFromTheSecond:
    @R.function
    def main(x: R.Tensor((33,), "float16")):
        a = R.add(x, R.const(1.0, "float16"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[33])
        b = R.add(x, R.const(2.0, "float16"))
        t = R.split(b, [32], axis=0)
        m = R.multiply(s, t[0])
        u = R.strided_slice(x, axes=[0], begin=[0], end=[1])
        v = R.add(u, R.const(5.0, "float16"))
        return R.concat([m, v], axis=0)


L = np.arange(1 << 40, (1 << 40) + 24, dtype="int64").reshape(3, 8)


@_case(
    "longs",
    (L,),
    np.concatenate([(L + 1)[1:] - (L * 2)[:2], L + 7]) ^ 5,
    "eight bytes an element: the offset is counted in elements of another dtype",
)
@I.ir_module
class Longs:
    @R.function
    def main(x: R.Tensor((3, 8), "int64")):
        a = R.add(x, R.const(1, "int64"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        b = R.multiply(x, R.const(2, "int64"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        d = R.subtract(s, t)
        e = R.add(x, R.const(7, "int64"))
        f = R.concat([d, e], axis=0)
        return R.bitwise_xor(f, R.const(5, "int64"))


@_case(
    "booleans",
    (F,),
    np.concatenate([((F > 20) & (F < 40))[7:], (F > 20)[:7]]) ^ (F < 50),
    "a boolean is stored in a byte: the slice begins at an odd one",
)
@I.ir_module
class Booleans:
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        a = R.greater(x, R.const(20.0, "float32"))
        b = R.less(x, R.const(40.0, "float32"))
        d = R.logical_and(a, b)
        s = R.strided_slice(d, axes=[0], begin=[7], end=[64])
        t = R.strided_slice(a, axes=[0], begin=[0], end=[7])
        e = R.concat([s, t], axis=0)
        f = R.less(x, R.const(50.0, "float32"))
        return R.logical_xor(e, f)


@_case(
    "storage_of_another_dtype",
    (F,),
    ((F + 1).astype("int32") * 3 - (F + 2).astype("int32")).astype("float32") * F,
    "a dead value's storage holds another dtype of the same size: fine, if the value is dead",
)
@I.ir_module
class StorageOfAnotherDtype:
    @R.function
    def main(x: R.Tensor((64,), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (8, 8))
        b = R.astype(f, "int32")
        d = R.multiply(b, R.const(3, "int32"))
        e = R.add(x, R.const(2.0, "float32"))
        g = R.astype(e, "int32")
        h = R.reshape(g, (8, 8))
        k = R.subtract(d, h)
        m = R.astype(k, "float32")
        n = R.reshape(m, (64,))
        return R.multiply(n, x)
