"""Programs after public reports, each with the result that NumPy computes.

`CASES` is what `run_isolated` takes. Some of them kill the process where TVM's own planner plans.
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

CASES = {}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


@tvm.register_global_func("cases.reports.same", override=True)
def _same(tensor):
    return tensor


TABLE = np.arange(24, dtype="float32").reshape(3, 8)
FLAT = TABLE.reshape(24)
ROW = np.arange(1, 7, dtype="float32")


@_case(
    "branch_reshape_first",
    (np.asarray(True), TABLE),
    TABLE.reshape(2, 12),
    "apache/tvm#20191, where the first branch runs: it allocates, and all is well",
)
@_case(
    "branch_reshape_second",
    (np.asarray(False), TABLE),
    TABLE.reshape(2, 12),
    "apache/tvm#20191: a planner that walks one branch after the other reuses in the second what "
    "only the first allocates; the process dies",
)
@I.ir_module
class BranchReshape:
    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((3, 8), "float32")) -> R.Tensor(
        (2, 12), "float32"
    ):
        if first:
            flat = R.reshape(x, (24,))
            y = R.reshape(flat, (2, 12))
        else:
            thin = R.reshape(x, (12, 2))
            y = R.reshape(thin, (2, 12))
        return y


@_case(
    "extern_identity",
    (TABLE,),
    TABLE * 2 - (TABLE + 5),
    "after apache/tvm#17145: an extern function returns its argument; where its result is taken "
    "for fresh, the next value overwrites it",
)
@I.ir_module
class ExternIdentity:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        doubled = R.multiply(x, R.const(2.0, "float32"))
        same = R.call_pure_packed(
            "cases.reports.same", doubled, ty_args=R.Tensor((3, 8), "float32")
        )
        moved = R.add(x, R.const(5.0, "float32"))
        return R.subtract(same, moved)


@_case(
    "match_cast_alias",
    (FLAT,),
    (FLAT - 7) * (FLAT + 3),
    "apache/tvm#20190: match_cast names the same bytes; where it is taken for another value, the "
    "next one overwrites it",
)
@I.ir_module
class MatchCastAlias:
    @R.function
    def main(x: R.Tensor((24,), "float32")):
        lower = R.subtract(x, R.const(7.0, "float32"))
        cast = R.match_cast(lower, R.Tensor((24,), "float32"))
        higher = R.add(x, R.const(3.0, "float32"))
        return R.multiply(cast, higher)


@_case(
    "overwritten_view_in_a_concat",
    (ROW,),
    np.stack([ROW, ROW + ROW]),
    "apache/tvm#19577: of two views of one value the first is overwritten in place, and the "
    "second, which the concat still reads, with it",
)
@I.ir_module
class OverwrittenView:
    @R.function
    def main(x: R.Tensor((6,), "float32")):
        with R.dataflow():
            upper = R.expand_dims(x, axis=[0])
            lower = R.expand_dims(x, axis=[0])
            total = R.add(upper, lower)
            both = R.concat([lower, total], axis=0)
            R.output(both)
        return both


@_case(
    "one_value_three_ways",
    (TABLE,),
    ((TABLE * 3).reshape(24), TABLE * 3, TABLE * 3),
    "after apache/tvm#3039: a value is returned reshaped and twice as it is; where an output is "
    "counted once, its storage is given away or an output is missing",
)
@I.ir_module
class OneValueThreeWays:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        with R.dataflow():
            tripled = R.multiply(x, R.const(3.0, "float32"))
            flat = R.reshape(tripled, (24,))
            R.output(flat, tripled)
        return (flat, tripled, tripled)


def _constant_is_kept(built):
    """Whether the constant outlives a caller who writes to the result."""
    right = np.array([[1, 2, 3], [4, 5, 6]], "float32")
    returned = built.call(tvm.runtime.tensor(ROW))
    if not np.array_equal(returned.numpy(), right):
        return False
    returned.copyfrom(np.zeros((2, 3), "float32"))
    return np.array_equal(built.run(ROW), right)


@_case(
    "constant_view",
    (ROW,),
    _constant_is_kept,
    "after apache/tvm#6435: a reshaped constant is returned; where it is a view, the caller gets "
    "the constant itself and the next call returns what was written to it",
)
@I.ir_module
class ConstantView:
    @R.function
    def main(x: R.Tensor((6,), "float32")):
        with R.dataflow():
            table = R.reshape(R.const([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "float32"), (2, 3))
            R.output(table)
        return table


@_case(
    "view_at_an_offset",
    (FLAT,),
    (FLAT * 3)[8:14] - 1,
    "apache/tvm#16955: a view at a byte offset reaches a kernel that demands offset zero",
)
@I.ir_module
class ViewAtAnOffset:
    @R.function
    def main(x: R.Tensor((24,), "float32")):
        tripled = R.multiply(x, R.const(3.0, "float32"))
        part = R.memory.view(tripled, R.shape([6]), R.dtype("float32"), R.prim_value(32))
        return R.subtract(part, R.const(1.0, "float32"))


@_case(
    "scalar_reshape",
    (np.asarray(4.0, "float32"),),
    np.array([[[7.0]]], "float32"),
    "a scalar gets axes: it has no index from which a reshape could be read off",
)
@I.ir_module
class ScalarReshape:
    @R.function
    def main(x: R.Tensor((), "float32")):
        with R.dataflow():
            doubled = R.multiply(x, R.const(2.0, "float32"))
            cube = R.reshape(doubled, (1, 1, 1))
            y = R.subtract(cube, R.const(1.0, "float32"))
            R.output(y)
        return y


BATCH = np.arange(120, dtype="float32").reshape(5, 4, 6)


@_case(
    "symbolic_reshape",
    (BATCH,),
    ((BATCH + 2) * 3)[None],
    "apache/tvm#16086: with a symbolic size a reshape is not recognised or its size is lost",
)
@I.ir_module
class SymbolicReshape:
    @R.function
    def main(x: R.Tensor(("n", 4, 6), "float32")) -> R.Tensor((1, "n", 4, 6), "float32"):
        n = T.int64()
        with R.dataflow():
            moved = R.add(x, R.const(2.0, "float32"))
            deeper = R.reshape(moved, (1, n, 4, 6))
            y = R.multiply(deeper, R.const(3.0, "float32"))
            R.output(y)
        return y


@_case(
    "slice_is_no_reshape",
    (BATCH,),
    (BATCH - 4)[:2] * 5,
    "apache/tvm#15112: a leading slice reads with a reshape's indices and has fewer elements",
)
@I.ir_module
class SliceIsNoReshape:
    @R.function
    def main(x: R.Tensor((5, 4, 6), "float32")):
        with R.dataflow():
            lower = R.subtract(x, R.const(4.0, "float32"))
            head = R.strided_slice(lower, axes=[0], begin=[0], end=[2])
            y = R.multiply(head, R.const(5.0, "float32"))
            R.output(y)
        return y
