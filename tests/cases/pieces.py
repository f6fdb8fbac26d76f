"""Slices, splits, concats and stacks: values that could be pieces of others' storage.

`CASES` is what `run_isolated` takes; each note says what goes wrong where the case is mishandled.
"""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

CASES = {}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


# A row is 64 bytes: the alignment of a storage.
Rows = R.Tensor((4, 16), "float32")
Flat = R.Tensor((64,), "float32")
Symbolic = R.Tensor(("n", 16), "float32")
X = np.arange(64, dtype="float32").reshape(4, 16)
F = X.reshape(64)


# Slices and splits


@_case(
    "slice_lives_on",
    (X,),
    (X + 1)[1:3] * (X + 2)[:2] - (X + 3)[2:],
    "the slice is a view of a value that nobody reads any more, and its storage is given away",
)
@I.ir_module
class SliceLivesOn:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        m = R.multiply(s, t)
        d = R.add(x, R.const(3.0, "float32"))
        u = R.strided_slice(d, axes=[0], begin=[2], end=[4])
        return R.subtract(m, u)


@_case(
    "slices_overlap",
    (X,),
    ((X + 1)[:3] * 2 - (X + 1)[1:]) * (X + 1)[1:],
    "one of two overlapping slices is overwritten by what is computed from the other",
)
@I.ir_module
class SlicesOverlap:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[0], end=[3])
        t = R.strided_slice(a, axes=[0], begin=[1], end=[4])
        m = R.multiply(s, R.const(2.0, "float32"))
        d = R.subtract(m, t)
        return R.multiply(d, t)


@_case(
    "slice_of_a_slice",
    (X,),
    (X + 1)[2:3] * (X + 2)[:1],
    "the offsets of the two slices are not added up, or only the inner one keeps the value",
)
@I.ir_module
class SliceOfASlice:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[4])
        t = R.strided_slice(s, axes=[0], begin=[1], end=[2])
        b = R.add(x, R.const(2.0, "float32"))
        u = R.strided_slice(b, axes=[0], begin=[0], end=[1])
        return R.multiply(t, u)


@_case(
    "reshape_of_a_slice_of_a_reshape",
    (X,),
    (X + 1).reshape(8, 8)[2:6].reshape(2, 16) * (X + 2)[1:3],
    "a reshape forgets the offset of the slice that it is of",
)
@I.ir_module
class ReshapeOfASliceOfAReshape:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (8, 8))
        s = R.strided_slice(f, axes=[0], begin=[2], end=[6])
        g = R.reshape(s, (2, 16))
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[1], end=[3])
        return R.multiply(g, t)


@_case(
    "columns_are_no_range",
    (X,),
    (X + 1)[:, 4:8] * (X + 2)[:, :4],
    "columns do not lie together: a view of as many bytes holds others",
)
@I.ir_module
class ColumnsAreNoRange:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[1], begin=[4], end=[8])
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[1], begin=[0], end=[4])
        return R.multiply(s, t)


@_case(
    "every_other_and_backwards",
    (X,),
    (F + 1)[::2] * (F + 1)[::-1][:32] - (F + 2)[63:31:-1],
    "a stride that is not one is no view, and a value read backwards is no reshape",
)
@I.ir_module
class EveryOtherAndBackwards:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        s = R.strided_slice(f, axes=[0], begin=[0], end=[64], strides=[2])
        g = R.flip(f, axis=0)
        t = R.strided_slice(g, axes=[0], begin=[0], end=[32])
        m = R.multiply(s, t)
        b = R.add(x, R.const(2.0, "float32"))
        h = R.reshape(b, (64,))
        u = R.strided_slice(h, axes=[0], begin=[63], end=[31], strides=[-1])
        return R.subtract(m, u)


@_case(
    "transposes",
    (X,),
    ((X + 1).reshape(8, 8).T.reshape(64) * (F + 2)) - (F + 1),
    "a square transpose has the shapes of a reshape; one that moves an axis of one element is one",
)
@I.ir_module
class Transposes:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (8, 8))
        g = R.permute_dims(f, axes=[1, 0])
        h = R.reshape(g, (64,))
        b = R.add(x, R.const(2.0, "float32"))
        k = R.reshape(b, (1, 64))
        m = R.permute_dims(k, axes=[1, 0])
        n = R.reshape(m, (64,))
        p = R.multiply(h, n)
        q = R.reshape(a, (64,))
        return R.subtract(p, q)


@_case(
    "slice_past_the_end",
    (X,),
    (X + 1)[2:] * (X + 2)[:2],
    "the end is cut off at the value's own, not taken as it is written",
)
@I.ir_module
class SlicePastTheEnd:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[-2], end=[100])
        b = R.add(x, R.const(2.0, "float32"))
        t = R.strided_slice(b, axes=[0], begin=[0], end=[2])
        return R.multiply(s, t)


@_case(
    "split_one_piece_lives_on",
    (X,),
    ((X + 1)[:1] - (X + 1)[3:]) * (X + 2)[:1] - (X + 1)[1:3][:1],
    "the last piece that is read keeps the value, not the first",
)
@I.ir_module
class SplitOnePieceLivesOn:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        t = R.split(a, [1, 3], axis=0)
        d = R.subtract(t[0], t[2])
        b = R.add(x, R.const(2.0, "float32"))
        s = R.strided_slice(b, axes=[0], begin=[0], end=[1])
        m = R.multiply(d, s)
        e = R.add(x, R.const(3.0, "float32"))
        f = R.strided_slice(e, axes=[0], begin=[0], end=[1])
        g = R.add(m, f)
        h = R.subtract(g, f)
        u = R.strided_slice(t[1], axes=[0], begin=[0], end=[1])
        return R.subtract(h, u)


@_case(
    "split_of_a_split",
    (X,),
    (X + 1)[2:3] * (X + 1)[3:] - (X + 1)[:1],
    "the pieces of the second piece lie at its offset and their own",
)
@I.ir_module
class SplitOfASplit:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        t = R.split(a, 2, axis=0)
        u = R.split(t[1], 2, axis=0)
        v = R.split(t[0], 2, axis=0)
        m = R.multiply(u[0], u[1])
        return R.subtract(m, v[0])


# Concats


@_case(
    "operand_lives_on",
    (X,),
    np.concatenate([X + 1, X + 2]) * np.concatenate([X + 1, X + 1]) - np.concatenate([X + 3] * 2),
    "an operand that is written into the concat is read after it, when its piece was overwritten",
)
@I.ir_module
class OperandLivesOn:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        e = R.concat([a, a], axis=0)
        m = R.multiply(d, e)
        f = R.add(x, R.const(3.0, "float32"))
        g = R.concat([f, f], axis=0)
        return R.subtract(m, g)


@_case(
    "one_value_is_two_operands",
    (X,),
    np.concatenate([X + 1, X + 2, X + 1]) * 2,
    "a value cannot be written into two pieces at once: one stays empty",
)
@I.ir_module
class OneValueIsTwoOperands:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b, a], axis=0)
        return R.multiply(d, R.const(2.0, "float32"))


@_case(
    "operand_of_two_concats",
    (X,),
    np.concatenate([X + 1, X + 2]) - np.concatenate([X + 2, X + 3]),
    "a value has a place in one concat and is copied into the other",
)
@I.ir_module
class OperandOfTwoConcats:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        e = R.add(x, R.const(3.0, "float32"))
        f = R.concat([b, e], axis=0)
        return R.subtract(d, f)


@_case(
    "operand_of_both_orders",
    (X,),
    np.concatenate([X + 1, X + 2]) * np.concatenate([X + 2, X + 1]),
    "two concats want the same values at opposite places",
)
@I.ir_module
class OperandOfBothOrders:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        e = R.concat([b, a], axis=0)
        return R.multiply(d, e)


@_case(
    "operand_reads_an_operand",
    (X,),
    np.concatenate([(X + 1) * 2, X + 1, ((X + 1) * 2 + 3)]) - 5,
    "operands are computed from each other, in places of one storage, by kernels that trust that "
    "nothing overlaps",
)
@I.ir_module
class OperandReadsAnOperand:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(a, R.const(2.0, "float32"))
        d = R.add(b, R.const(3.0, "float32"))
        e = R.concat([b, a, d], axis=0)
        return R.subtract(e, R.const(5.0, "float32"))


@_case(
    "concat_in_a_concat",
    (X,),
    np.concatenate([X + 3, X + 1, X + 2, X + 4]) * 2,
    "the inner concat's place and its operands' add up, or it is copied over what it holds",
)
@I.ir_module
class ConcatInAConcat:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        e = R.add(x, R.const(3.0, "float32"))
        f = R.add(x, R.const(4.0, "float32"))
        g = R.concat([e, d, f], axis=0)
        return R.multiply(g, R.const(2.0, "float32"))


def _grown():
    """What DenseGrowth computes."""
    grown = X + 1
    for term in (2, 3, 4):
        new = grown.sum(axis=0, keepdims=True) + term
        grown = np.concatenate([grown, new])
    return grown


@_case(
    "dense_growth",
    (X,),
    _grown(),
    "each layer reads the concat so far, which is a piece of the next: read late, it is the whole",
)
@I.ir_module
class DenseGrowth:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.sum(a, axis=[0], keepdims=True)
        d = R.add(b, R.const(2.0, "float32"))
        e = R.concat([a, d], axis=0)
        f = R.sum(e, axis=[0], keepdims=True)
        g = R.add(f, R.const(3.0, "float32"))
        h = R.concat([e, g], axis=0)
        k = R.sum(h, axis=[0], keepdims=True)
        m = R.add(k, R.const(4.0, "float32"))
        return R.concat([h, m], axis=0)


@_case(
    "dense_growth_forgets",
    (X,),
    np.concatenate([X + 2, X + 1, (X + 1) * (X + 2), X + 3]) - np.concatenate([X + 1, X + 2] * 2),
    "the first concat is read after the second, whose new pieces stand in front and behind",
)
@I.ir_module
class DenseGrowthForgets:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        e = R.multiply(a, b)
        f = R.concat([b, a, e], axis=0)
        g = R.add(x, R.const(3.0, "float32"))
        h = R.concat([f, g], axis=0)
        k = R.concat([d, d], axis=0)
        return R.subtract(h, k)


@_case(
    "split_of_a_concat",
    (X,),
    (X + 1) * (X + 2) - (X + 3),
    "the pieces are the operands again: each a view of what was written into the concat",
)
@I.ir_module
class SplitOfAConcat:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        t = R.split(d, 2, axis=0)
        e = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(t[0], t[1])
        return R.subtract(m, e)


@_case(
    "concat_of_a_split",
    (X,),
    np.concatenate([(X + 1)[3:], (X + 1)[:3]]) * (X + 1),
    "a rotation: written into place, the pieces overwrite each other or the value",
)
@I.ir_module
class ConcatOfASplit:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        t = R.split(a, [3], axis=0)
        d = R.concat([t[1], t[0]], axis=0)
        return R.multiply(d, a)


@_case(
    "concat_puts_a_split_together",
    (X,),
    (X + 1) * 3 - (X + 2),
    "the pieces of one value in their order are the value: read or overwritten as the same",
)
@I.ir_module
class ConcatPutsASplitTogether:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        t = R.split(a, 2, axis=0)
        d = R.concat([t[0], t[1]], axis=0)
        e = R.multiply(d, R.const(3.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        return R.subtract(e, b)


@_case(
    "concat_of_reshapes",
    (X,),
    np.concatenate([F + 1, F + 2, F + 1]) * 2,
    "what is written into the concat is seen through a reshape, and read by another shape besides",
)
@I.ir_module
class ConcatOfReshapes:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (64,))
        b = R.add(x, R.const(2.0, "float32"))
        g = R.reshape(b, (64,))
        h = R.reshape(a, (64,))
        d = R.concat([f, g, h], axis=0)
        return R.multiply(d, R.const(2.0, "float32"))


@_case(
    "concat_of_columns",
    (X,),
    np.concatenate([X + 1, X + 2], axis=1) * 2,
    "a piece along the second axis is no range: a kernel that writes one writes other rows",
)
@I.ir_module
class ConcatOfColumns:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=1)
        return R.multiply(d, R.const(2.0, "float32"))


@_case(
    "stacks",
    (X,),
    np.stack([X + 1, X + 2, X + 1]) - np.stack([X + 3, X + 4, X + 5], axis=1).reshape(3, 4, 16),
    "a stack along the first axis has places to write into, one along the second has not",
)
@I.ir_module
class Stacks:
    @R.function
    def main(x: Rows):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        s = R.stack([a, b, a], axis=0)
        d = R.add(x, R.const(3.0, "float32"))
        e = R.add(x, R.const(4.0, "float32"))
        f = R.add(x, R.const(5.0, "float32"))
        t = R.stack([d, e, f], axis=1)
        u = R.reshape(t, (3, 4, 16))
        return R.subtract(s, u)


@_case(
    "pieces_of_no_bytes",
    (X, X[:0]),
    np.concatenate([X + 1, (X + 2)[1:], (X + 2)[:1]]) * 2,
    "a piece without bytes begins where the next one does, or at the end; its storage has none",
)
@I.ir_module
class PiecesOfNoBytes:
    @R.function
    def main(x: Rows, z: R.Tensor((0, 16), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(z, R.const(1.0, "float32"))
        d = R.add(x, R.const(2.0, "float32"))
        t = R.split(d, [1, 4], axis=0)
        e = R.concat([b, a, t[2], t[1], t[0], b], axis=0)
        return R.multiply(e, R.const(2.0, "float32"))


@_case(
    "in_a_dataflow_block",
    (X,),
    np.concatenate([(X + 1)[2:], (X + 2)[:2], (X + 1)[:2]]) * np.concatenate([X + 3, (X + 3)[:2]]),
    "in a dataflow block, where calls may be moved and fused, a slice is read after its source",
)
@I.ir_module
class InADataflowBlock:
    @R.function
    def main(x: Rows):
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            t = R.split(a, 2, axis=0)
            u = t[0]
            v = t[1]
            b = R.add(x, R.const(2.0, "float32"))
            s = R.strided_slice(b, axes=[0], begin=[0], end=[2])
            d = R.concat([v, s, u], axis=0)
            e = R.add(x, R.const(3.0, "float32"))
            w = R.strided_slice(e, axes=[0], begin=[0], end=[2])
            f = R.concat([e, w], axis=0)
            g = R.multiply(d, f)
            R.output(g)
        return g


# Symbolic sizes


def _for_each_size(reference):
    """A check of one build with several sizes, in an order that grows and shrinks."""

    def check(built):
        for rows in (4, 7, 1, 6):
            x = np.arange(rows * 16, dtype="float32").reshape(rows, 16)
            if not np.array_equal(built.run(x), reference(x)):
                return False
        return True

    return check


@_case(
    "symbolic_slice",
    (X,),
    _for_each_size(lambda x: np.roll((x + 1) * (x + 2), -1, axis=0)),
    "the offset or the size of the slice is that of another call's",
)
@I.ir_module
class SymbolicSlice:
    @R.function
    def main(x: Symbolic):
        n = T.int64()
        a = R.add(x, R.const(1.0, "float32"))
        s = R.strided_slice(a, axes=[0], begin=[1], end=[n])
        t = R.strided_slice(a, axes=[0], begin=[0], end=[1])
        d = R.concat([s, t], axis=0)
        b = R.add(x, R.const(2.0, "float32"))
        u = R.strided_slice(b, axes=[0], begin=[1], end=[n])
        v = R.strided_slice(b, axes=[0], begin=[0], end=[1])
        e = R.concat([u, v], axis=0)
        return R.multiply(d, e)


@_case(
    "symbolic_split",
    (X,),
    _for_each_size(lambda x: (x + 1) * (x + 2) - (x + 3)),
    "the second piece begins where a symbolic size says: at offset zero it is the first",
)
@I.ir_module
class SymbolicSplit:
    @R.function
    def main(x: Symbolic):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(x, R.const(2.0, "float32"))
        d = R.concat([a, b], axis=0)
        t = R.split(d, 2, axis=0)
        e = R.add(x, R.const(3.0, "float32"))
        m = R.multiply(t[0], t[1])
        return R.subtract(m, e)


@_case(
    "symbolic_concat",
    (X, X[:3]),
    np.concatenate([X + 1, X[:3] + 2, X + 1]) * 2,
    "sizes of two symbols add up to a place that no single one gives",
)
@I.ir_module
class SymbolicConcat:
    @R.function
    def main(x: Symbolic, y: R.Tensor(("m", 16), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(y, R.const(2.0, "float32"))
        d = R.concat([a, b, a], axis=0)
        return R.multiply(d, R.const(2.0, "float32"))


@_case(
    "symbolic_reshape_lives_on",
    (X,),
    _for_each_size(lambda x: (x + 1).reshape(-1, 4) * (x + 2).reshape(-1, 4)),
    "sizes that are equal only as expressions share a storage that is too small, or live on",
)
@I.ir_module
class SymbolicReshapeLivesOn:
    @R.function
    def main(x: Symbolic):
        n = T.int64()
        a = R.add(x, R.const(1.0, "float32"))
        f = R.reshape(a, (n * 4, 4))
        b = R.add(x, R.const(2.0, "float32"))
        g = R.reshape(b, (n * 4, 4))
        return R.multiply(f, g)
