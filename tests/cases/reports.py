"""Programs after public reports about Relax, each with the result that NumPy computes.

`CASES` is what `run_isolated` takes. Some of them kill the process where TVM's own planner plans.
`LEFT_OUT` says which report has no program here, and why.
"""

import numpy as np
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

CASES = {}

#: Report -> why it cannot be shown by a Relax program on a CPU; a test checks what is said.
LEFT_OUT = {
    "apache/tvm#16830": "it is about storages that RewriteCUDAGraph keeps from call to call: the"
    " pass does nothing unless `relax.backend.use_cuda_graph` is set, and what it then calls is"
    " part of the CUDA runtime; `results_of_two_calls` asks the same of what is kept on a CPU",
}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


@tvm.register_global_func("cases.reports.same", override=True)
def _same(tensor):
    return tensor


TABLE = np.arange(32, dtype="float32").reshape(4, 8)
FLAT = np.arange(8, dtype="float32")
ROW = np.arange(4, dtype="float32") + 1


@_case(
    "branch_reshape_first",
    (np.asarray(True), TABLE),
    TABLE,
    "apache/tvm#20191, where the first branch runs: it allocates, and all is well",
)
@_case(
    "branch_reshape_second",
    (np.asarray(False), TABLE),
    TABLE,
    "apache/tvm#20191: a planner that walks one branch after the other reuses in the second what "
    "only the first allocates; the process dies",
)
@I.ir_module
class BranchReshape:
    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")) -> R.Tensor(
        (4, 8), "float32"
    ):
        if first:
            flat = R.reshape(x, (32,))
            y = R.reshape(flat, (4, 8))
        else:
            other = R.reshape(x, (32,))
            y = R.reshape(other, (4, 8))
        return y


@_case(
    "extern_identity",
    (TABLE,),
    (TABLE + 1) * (TABLE + 2),
    "after apache/tvm#17145: an extern function returns its argument; where its result is taken "
    "for fresh, the next value overwrites it",
)
@I.ir_module
class ExternIdentity:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        lower = R.add(x, R.const(1.0, "float32"))
        same = R.call_pure_packed("cases.reports.same", lower, ty_args=R.Tensor((4, 8), "float32"))
        higher = R.add(x, R.const(2.0, "float32"))
        return R.multiply(same, higher)


@_case(
    "view_at_offset_zero",
    (TABLE,),
    (TABLE + 1)[1:3] * (TABLE + 2)[1:3] - (TABLE + 1)[:2],
    "apache/tvm#17145: a view of a range is brought to offset zero, by a copy or not; where either "
    "is taken for another value, the next one overwrites it",
)
@I.ir_module
class ViewAtOffsetZero:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        lower = R.add(x, R.const(1.0, "float32"))
        part = R.memory.view(lower, R.shape([2, 8]), R.dtype("float32"), R.prim_value(32))
        moved = R.memory.ensure_zero_offset(part)
        head = R.memory.view(lower, R.shape([2, 8]), R.dtype("float32"), R.prim_value(0))
        kept = R.memory.ensure_zero_offset(head)
        higher = R.add(x, R.const(2.0, "float32"))
        middle = R.strided_slice(higher, axes=[0], begin=[1], end=[3])
        product = R.multiply(moved, middle)
        return R.subtract(product, kept)


@_case(
    "match_cast_alias",
    (TABLE,),
    (TABLE + 0.25) + (TABLE + 0.125),
    "apache/tvm#20190, mended by #20220: match_cast names the same bytes; where it is taken for "
    "another value, the next one overwrites it",
)
@I.ir_module
class MatchCastAlias:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        source = R.add(x, R.const(0.25, "float32"))
        cast = R.match_cast(source, R.Tensor((4, 8), "float32"))
        other = R.add(x, R.const(0.125, "float32"))
        return R.add(cast, other)


@_case(
    "lowered_reshape",
    (TABLE,),
    (TABLE.reshape(32) + 1) * (TABLE.reshape(32) + 2),
    "apache/tvm#20134: a reshape that is lowered before storage is planned, as a dispatch pass "
    "writes it; where a planner knows the operator only, the next value overwrites what it is of",
)
@I.ir_module
class LoweredReshape:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        lower = R.add(x, R.const(1.0, "float32"))
        flat = R.call_pure_packed(
            "vm.builtin.reshape", lower, R.shape([32]), ty_args=R.Tensor((32,), "float32")
        )
        higher = R.add(x, R.const(2.0, "float32"))
        other = R.reshape(higher, (32,))
        return R.multiply(flat, other)


@_case(
    "overwritten_view_in_a_concat",
    (ROW,),
    np.stack([ROW * ROW, ROW], 1),
    "apache/tvm#19577, mended by #19644: of two views of one value the first is overwritten in "
    "place, and the second, which the concat still reads, with it",
)
@I.ir_module
class OverwrittenView:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            left = R.expand_dims(x, axis=[1])
            right = R.expand_dims(x, axis=[1])
            product = R.multiply(left, right)
            both = R.concat([product, right], axis=1)
            R.output(both)
        return both


@_case(
    "view_at_an_offset",
    (FLAT,),
    FLAT[4:] + 2,
    "apache/tvm#16955: a view at a byte offset reaches a kernel that demands offset zero",
)
@I.ir_module
class ViewAtAnOffset:
    @R.function
    def main(x: R.Tensor((8,), "float32")):
        moved = R.add(x, R.const(1.0, "float32"))
        part = R.memory.view(moved, R.shape([4]), R.dtype("float32"), R.prim_value(16))
        return R.add(part, R.const(1.0, "float32"))


@_case(
    "scalar_reshape",
    (np.asarray(3.0, "float32"),),
    np.array([[5.0]], "float32"),
    "a scalar gets axes: it has no index from which a reshape could be read off",
)
@I.ir_module
class ScalarReshape:
    @R.function
    def main(x: R.Tensor((), "float32")):
        with R.dataflow():
            moved = R.add(x, R.const(1.0, "float32"))
            square = R.reshape(moved, (1, 1))
            y = R.add(square, R.const(1.0, "float32"))
            R.output(y)
        return y


@_case(
    "symbolic_reshape",
    (np.ones((3, 16, 8), "float32"),),
    np.full((1, 3, 16, 8), 4, "float32"),
    "apache/tvm#16086: with a symbolic size a reshape is not recognised or its size is lost",
)
@I.ir_module
class SymbolicReshape:
    @R.function
    def main(x: R.Tensor(("n", 16, 8), "float32")) -> R.Tensor((1, "n", 16, 8), "float32"):
        n = T.int64()
        with R.dataflow():
            moved = R.add(x, R.const(1.0, "float32"))
            deeper = R.reshape(moved, (1, n, 16, 8))
            y = R.multiply(deeper, R.const(2.0, "float32"))
            R.output(y)
        return y


LONG = np.arange(96, dtype="float32").reshape(12, 8)


@_case(
    "lower_bound_only",
    (LONG,),
    (LONG + 1) * 2 - (LONG + 3),
    "apache/tvm#18663: a symbolic size has a lower bound and no upper one; a planner that takes "
    "some number for the largest allocates too little",
)
@I.ir_module
class LowerBoundOnly:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
        R.func_attr({"tir_var_lower_bound": {"n": 2}})
        moved = R.add(x, R.const(1.0, "float32"))
        doubled = R.multiply(moved, R.const(2.0, "float32"))
        other = R.add(x, R.const(3.0, "float32"))
        return R.subtract(doubled, other)


CUBE = np.arange(1000, dtype="float32").reshape(20, 10, 5)


@_case(
    "slice_is_no_reshape",
    (CUBE,),
    CUBE[:3] * 2 + 1,
    "apache/tvm#15112: a leading slice reads with a reshape's indices and has fewer elements",
)
@I.ir_module
class SliceIsNoReshape:
    @R.function
    def main(x: R.Tensor((20, 10, 5), "float32")):
        with R.dataflow():
            doubled = R.multiply(x, R.const(2.0, "float32"))
            head = R.strided_slice(doubled, axes=[0], begin=[0], end=[3])
            y = R.add(head, R.const(1.0, "float32"))
            R.output(y)
        return y


@_case(
    "reshape_of_nothing",
    (TABLE,),
    np.zeros((0, 4), "float32"),
    "apache/tvm#19922: a reshape of a tensor without elements; who divides by a size to find out "
    "whether it is one divides by zero",
)
@I.ir_module
class ReshapeOfNothing:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            nothing = R.strided_slice(x, axes=[0], begin=[0], end=[0])
            doubled = R.multiply(nothing, R.const(2.0, "float32"))
            narrow = R.reshape(doubled, (0, 4))
            y = R.add(narrow, R.const(1.0, "float32"))
            R.output(y)
        return y


def _both_results(built):
    """Whether the results of two calls are right and are two."""
    first = built.call(tvm.runtime.tensor(TABLE))
    second = built.call(tvm.runtime.tensor(TABLE + 10))
    right = [(table * 2 + 1).reshape(32) for table in (TABLE, TABLE + 10)]
    return all(np.array_equal(got.numpy(), want) for got, want in zip((first, second), right))


@_case(
    "results_of_two_calls",
    (TABLE,),
    _both_results,
    "after apache/tvm#16830: a result is kept while the next call runs; where the storage of an "
    "output is kept for the next call, that overwrites it",
)
@I.ir_module
class ResultsOfTwoCalls:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        with R.dataflow():
            doubled = R.multiply(x, R.const(2.0, "float32"))
            moved = R.add(doubled, R.const(1.0, "float32"))
            flat = R.reshape(moved, (32,))
            R.output(flat)
        return flat
