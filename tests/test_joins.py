"""Which kernels lay their inputs one after the other, as they are legalised and scheduled."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op
from tvm.script import tirx as T

from tvm_aliasing.analysis.joins import pieces_joined
from tvm_aliasing.schedules import ScheduleForCPU


def scheduled(func):
    mod = ScheduleForCPU(tvm.target.Target("llvm"))(tvm.IRModule({"main": func}))
    return mod["main"]


def kernel(build, *shapes):
    """The one PrimFunc that TVM makes of a Relax expression."""
    params = [
        relax.Var(f"x{i}", relax.TensorType(shape, "float32")) for i, shape in enumerate(shapes)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(bb.normalize(build(bb, *params)))
        bb.emit_func_output(result)
    passes = (
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    )
    mod = tvm.transform.Sequential(passes)(bb.get())
    (func,) = (f for _, f in mod.functions_items() if isinstance(f, tirx.PrimFunc))
    return func


def joined(func):
    found = pieces_joined(func)
    return found and [(position, int(begin)) for position, begin in found]


# The inputs by position, each with the element of the output where it begins.
JOINS = {
    "concat": (lambda bb, x, y: op.concat((x, y), 0), [(2, 4), (3, 4)], [(0, 0), (1, 8)]),
    "concat of three": (
        lambda bb, x, y, z: op.concat((x, y, z), 0),
        [(1, 4), (2, 4), (3, 4)],
        [(0, 0), (1, 4), (2, 12)],
    ),
    "concat of one row": (
        lambda bb, x, y: op.concat((x, y), 1),
        [(1, 4), (1, 3)],
        [(0, 0), (1, 4)],
    ),
    "concat of one block of one row": (
        lambda bb, x, y: op.concat((x, y), 2),
        [(1, 1, 4, 5), (1, 1, 3, 5)],
        [(0, 0), (1, 20)],
    ),
    "stack": (lambda bb, x, y: op.stack([x, y], 0), [(2, 4), (2, 4)], [(0, 0), (1, 8)]),
    "stack of three": (
        lambda bb, x, y, z: op.stack([x, y, z], 0),
        [(4,), (4,), (4,)],
        [(0, 0), (1, 4), (2, 8)],
    ),
    "stack of scalars": (lambda bb, x, y: op.stack([x, y], 0), [(), ()], [(0, 0), (1, 1)]),
    "one operand twice": (lambda bb, x: op.concat((x, x), 0), [(2, 4)], [(0, 0), (1, 8)]),
}


@pytest.mark.parametrize("case", JOINS)
def test_joins(case):
    build, shapes, expected = JOINS[case]
    func = kernel(build, *shapes)
    assert joined(func) == joined(scheduled(func)) == expected


NO_JOINS = {
    "concat, inner axis": (lambda bb, x, y: op.concat((x, y), 1), [(2, 4), (2, 3)]),
    "stack, inner axis": (lambda bb, x, y: op.stack([x, y], 1), [(4,), (4,)]),
    "concat of one": (lambda bb, x: op.concat((x,), 0), [(2, 4)]),
    "reshape": (lambda bb, x: op.reshape(x, (8,)), [(2, 4)]),
    "split": (lambda bb, x: op.split(x, 2, 0), [(4, 4)]),
    "slice": (lambda bb, x: op.strided_slice(x, [0], [2], [5]), [(8, 4)]),
    "repeat": (lambda bb, x: op.repeat(x, 2, 0), [(4,)]),
    "add": (lambda bb, x, y: op.add(x, y), [(4,), (4,)]),
    "computed after": (
        lambda bb, x, y: op.nn.relu(bb.emit(op.concat((x, y), 0))),
        [(2, 4), (3, 4)],
    ),
    "computed before": (
        lambda bb, x, y: op.concat((bb.emit(op.exp(x)), y), 0),
        [(2, 4), (3, 4)],
    ),
    "joined along the inner axis before": (
        lambda bb, x, y, z: op.concat((bb.emit(op.concat((x, y), 1)), z), 0),
        [(2, 4), (2, 3), (3, 7)],
    ),
    "slice of an operand": (
        lambda bb, x, y: op.concat((bb.emit(op.strided_slice(x, [0], [1], [2])), y), 0),
        [(2, 4), (3, 4)],
    ),
}


@pytest.mark.parametrize("case", NO_JOINS)
def test_no_joins(case):
    build, shapes = NO_JOINS[case]
    func = kernel(build, *shapes)
    assert joined(func) is None
    assert joined(scheduled(func)) is None


def test_a_join_of_joins_once_it_is_scheduled():
    """As it is fused, the inner one has a buffer of its own."""
    func = kernel(lambda bb, x, y: op.concat((bb.emit(op.concat((x, y), 0)), x), 0), (2, 4), (3, 4))
    assert joined(func) is None
    assert joined(scheduled(func)) == [(0, 0), (1, 8), (0, 20)]


@T.prim_func(s_tir=True)
def symbolic_concat(a: T.handle, b: T.handle, c: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (m, 4), "float32")
    C = T.match_buffer(c, (n + m, 4), "float32")
    for i, j in T.grid(n + m, 4):
        with T.sblock("concat"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(n <= vi, B[vi - n, vj], A[vi, vj])


@pytest.mark.parametrize("func", [symbolic_concat, scheduled(symbolic_concat)])
def test_symbolic_sizes(func):
    n = func.params[0].ty.shape[0]
    (first, begin), (second, middle) = pieces_joined(func)
    assert (first, second) == (0, 1)
    equal = tvm.sym.Analyzer().can_prove_equal
    assert equal(begin, 0) and equal(middle, n * 4)


@T.prim_func(s_tir=True)
def written_backwards(
    A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((12,), "float32")
):
    for i in range(4):
        C[i + 8] = B[i]
    for i in range(8):
        C[i] = A[i]


@T.prim_func(s_tir=True)
def second_input_first(
    A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((12,), "float32")
):
    for i in range(8):
        C[i + 4] = A[i]
    for i in range(4):
        C[i] = B[i]


@T.prim_func(s_tir=True)
def after_a_size(
    n: T.int64,
    A: T.Buffer((8,), "float32"),
    B: T.Buffer((4,), "float32"),
    C: T.Buffer((12,), "float32"),
):
    for i in range(8):
        C[i] = A[i]
    for i in range(4):
        C[i + 8] = B[i]


WRITTEN = {
    written_backwards: [(0, 0), (1, 8)],
    second_input_first: [(1, 0), (0, 4)],
    after_a_size: [(1, 0), (2, 8)],
}


@pytest.mark.parametrize("func", WRITTEN, ids=lambda func: func.attrs["global_symbol"])
def test_in_the_order_of_the_output(func):
    assert joined(func) == WRITTEN[func]


# Kernels of moves that are no joins.


@T.prim_func(s_tir=True)
def gap_between(
    A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((16,), "float32")
):
    for i in range(8):
        C[i] = A[i]
    for i in range(4):
        C[i + 12] = B[i]


@T.prim_func(s_tir=True)
def gap_at_the_end(
    A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((16,), "float32")
):
    for i in range(8):
        C[i] = A[i]
    for i in range(4):
        C[i + 8] = B[i]


@T.prim_func(s_tir=True)
def overlap(
    A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((12,), "float32")
):
    for i in range(8):
        C[i] = A[i]
    for i in range(8):
        C[i + 4] = B[i]


@T.prim_func(s_tir=True)
def head_of_an_input(
    A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")
):
    for i in range(4):
        C[i] = A[i]
    for i in range(4):
        C[i + 4] = B[i]


@T.prim_func(s_tir=True)
def tail_of_an_input(
    A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")
):
    for i in range(4):
        C[i] = A[i + 4]
    for i in range(4):
        C[i + 4] = B[i]


@T.prim_func(s_tir=True)
def two_outputs(
    A: T.Buffer((4,), "float32"),
    B: T.Buffer((4,), "float32"),
    C: T.Buffer((4,), "float32"),
    D: T.Buffer((8,), "float32"),
):
    for i in range(4):
        D[i] = A[i]
    for i in range(4):
        D[i + 4] = B[i]
    for i in range(4):
        C[i] = B[i]


@T.prim_func(s_tir=True)
def writes_an_input(
    A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((8,), "float32")
):
    for i in range(4):
        B[i] = A[i]
    for i in range(4):
        C[i + 4] = B[i]


@pytest.mark.parametrize(
    "func",
    [
        gap_between,
        gap_at_the_end,
        overlap,
        head_of_an_input,
        tail_of_an_input,
        two_outputs,
        writes_an_input,
    ],
    ids=lambda func: func.attrs["global_symbol"],
)
def test_looks_like_a_join(func):
    assert pieces_joined(func) is None
