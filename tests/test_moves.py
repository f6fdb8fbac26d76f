"""Which kernels only move contiguous data, and what exactly they move."""

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op
from tvm.script import tirx as T

from tvm_aliasing.analysis.moves import is_copy_kernel, moves


def legalized(build, *shapes, fused=False):
    """The PrimFunc that TVM makes of a Relax expression."""
    params = [
        relax.Var(f"x{i}", relax.TensorType(shape, "float32")) for i, shape in enumerate(shapes)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            result = bb.emit_output(bb.normalize(build(bb, *params)))
        bb.emit_func_output(result)
    passes = [relax.transform.LegalizeOps()]
    if fused:
        passes += [
            relax.transform.AnnotateTIROpPattern(),
            relax.transform.FuseOps(),
            relax.transform.FuseTIR(),
        ]
    mod = tvm.transform.Sequential(passes)(bb.get())
    (func,) = (f for _, f in mod.functions_items() if isinstance(f, tirx.PrimFunc))
    return func


def moved(func):
    """(source, its begin, destination, its begin, count) of each move, in plain values."""

    def number(expression):
        return expression if expression is None else int(expression)

    found = moves(func)
    return found and [
        (m.source.name, number(m.source_begin), m.dest.name, number(m.dest_begin), number(m.count))
        for m in found
    ]


# Concat and stack choose among inputs from the last to the first.
MOVES = {
    "reshape": (lambda bb, x: op.reshape(x, (8,)), [(2, 4)], [(0, 0, 8)]),
    "flatten": (lambda bb, x: op.flatten(x), [(2, 4)], [(0, 0, 8)]),
    "squeeze": (lambda bb, x: op.squeeze(x, [0]), [(1, 4)], [(0, 0, 4)]),
    "expand_dims": (lambda bb, x: op.expand_dims(x, [0, 2]), [(2, 4)], [(0, 0, 8)]),
    "slice of rows": (lambda bb, x: op.strided_slice(x, [0], [2], [5]), [(8, 4)], [(8, 0, 12)]),
    "slice of a row": (
        lambda bb, x: op.strided_slice(x, [0, 1], [2, 1], [3, 3]),
        [(8, 4)],
        [(9, 0, 2)],
    ),
    "concat, outer axis": (
        lambda bb, x, y: op.concat((x, y), 0),
        [(2, 4), (3, 4)],
        [(0, 8, 12), (0, 0, 8)],
    ),
    "concat of three": (
        lambda bb, x, y, z: op.concat((x, y, z), 0),
        [(1, 4), (2, 4), (3, 4)],
        [(0, 12, 12), (0, 4, 8), (0, 0, 4)],
    ),
    "concat, inner axis": (
        lambda bb, x, y: op.concat((x, y), 1),
        [(2, 4), (2, 3)],
        [(0, None, 6), (0, None, 8)],
    ),
    "concat, inner axis of one row": (
        lambda bb, x, y: op.concat((x, y), 1),
        [(1, 4), (1, 3)],
        [(0, 4, 3), (0, 0, 4)],
    ),
    "split, outer axis": (lambda bb, x: op.split(x, 2, 0), [(4, 4)], [(0, 0, 8), (8, 0, 8)]),
    "stack, outer axis": (
        lambda bb, x, y: op.stack([x, y], 0),
        [(2, 4), (2, 4)],
        [(0, 8, 8), (0, 0, 8)],
    ),
    "stack of three": (
        lambda bb, x, y, z: op.stack([x, y, z], 0),
        [(4,), (4,), (4,)],
        [(0, 8, 4), (0, 4, 4), (0, 0, 4)],
    ),
    "stack, inner axis": (
        lambda bb, x, y: op.stack([x, y], 1),
        [(4,), (4,)],
        [(0, None, 4), (0, None, 4)],
    ),
    "transpose of one row": (lambda bb, x: op.permute_dims(x), [(1, 4)], [(0, 0, 4)]),
    "broadcast to the same shape": (
        lambda bb, x: op.broadcast_to(x, (2, 4)),
        [(2, 4)],
        [(0, 0, 8)],
    ),
    "cast to the same dtype": (lambda bb, x: op.astype(x, "float32"), [(4,)], [(0, 0, 4)]),
}


@pytest.mark.parametrize("case", MOVES)
def test_moves(case):
    build, shapes, expected = MOVES[case]
    func = legalized(build, *shapes)
    assert is_copy_kernel(func)
    assert [(s, d, n) for _, s, _, d, n in moved(func)] == expected


def test_buffers_are_named():
    func = legalized(lambda bb, x, y: op.concat((x, y), 0), (2, 4), (3, 4))
    assert [(source, dest) for source, _, dest, _, _ in moved(func)] == [
        ("x1", "T_concat"),
        ("x0", "T_concat"),
    ]


def test_two_reshapes_in_one_kernel_are_two_moves():
    func = legalized(
        lambda bb, x: op.reshape(bb.emit(op.reshape(x, (4, 2))), (8,)), (2, 4), fused=True
    )
    assert [(s, d, n) for _, s, _, d, n in moved(func)] == [(0, 0, 8), (0, 0, 8)]


NO_MOVES = {
    "slice of columns": (lambda bb, x: op.strided_slice(x, [1], [1], [3]), [(8, 4)]),
    "slice with steps": (lambda bb, x: op.strided_slice(x, [0], [0], [8], [2]), [(8, 4)]),
    "slice_scatter": (lambda bb, x, y: op.slice_scatter(x, y, 1, 3, 1, 0), [(8, 4), (2, 4)]),
    "split, inner axis": (lambda bb, x: op.split(x, 2, 1), [(4, 4)]),
    "transpose": (lambda bb, x: op.permute_dims(x), [(2, 4)]),
    "pad": (lambda bb, x: op.nn.pad(x, [0, 1, 0, 1]), [(2, 4)]),
    "broadcast": (lambda bb, x: op.broadcast_to(x, (3, 4)), [(1, 4)]),
    "repeat": (lambda bb, x: op.repeat(x, 2, 0), [(4,)]),
    "tile": (lambda bb, x: op.tile(x, (2,)), [(4,)]),
    "take": (lambda bb, x: op.take(x, relax.const([1, 0], "int64"), 0, "clip"), [(4, 4)]),
    "flip": (lambda bb, x: op.flip(x, 0), [(4, 4)]),
    "cast": (lambda bb, x: op.astype(x, "float16"), [(4,)]),
    "relu": (lambda bb, x: op.nn.relu(x), [(4,)]),
    "tril": (lambda bb, x: op.tril(x), [(4, 4)]),
    "zeros": (lambda bb, x: op.zeros((4,), "float32"), [(4,)]),
    "sum": (lambda bb, x: op.sum(x, [0]), [(1, 4)]),
}


@pytest.mark.parametrize("case", NO_MOVES)
def test_no_moves(case):
    build, shapes = NO_MOVES[case]
    func = legalized(build, *shapes)
    assert moves(func) is None
    assert not is_copy_kernel(func)


FUSED = {
    "relu, then reshape": lambda bb, x: op.reshape(bb.emit(op.nn.relu(x)), (8,)),
    "reshape, then relu": lambda bb, x: op.nn.relu(bb.emit(op.reshape(x, (8,)))),
    "concat with what was computed": lambda bb, x: op.concat((x, bb.emit(op.exp(x)))),
    "reshape, then transpose": lambda bb, x: op.permute_dims(bb.emit(op.reshape(x, (4, 2)))),
}


@pytest.mark.parametrize("case", FUSED)
def test_fused_kernels_that_also_compute(case):
    assert not is_copy_kernel(legalized(FUSED[case], (2, 4), fused=True))


@T.prim_func(s_tir=True)
def concat_symbolic(a: T.handle, b: T.handle, c: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, 4), "float32")
    B = T.match_buffer(b, (m, 4), "float32")
    C = T.match_buffer(c, (n + m, 4), "float32")
    for i, j in T.grid(n + m, 4):
        with T.sblock("concat"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(n <= vi, B[vi - n, vj], A[vi, vj])


def test_symbolic_concat():
    second, first = moves(concat_symbolic)
    n, m = (param.ty.shape[0] for param in concat_symbolic.params[:2])
    equal = tvm.sym.Analyzer().can_prove_equal
    assert equal(first.dest_begin, 0) and equal(first.count, n * 4)
    assert equal(second.dest_begin, n * 4) and equal(second.count, m * 4)
    assert equal(second.source_begin, 0)


# Bodies that look like moves.


@T.prim_func(s_tir=True)
def scatters_a_transpose(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4, 2), "float32")):
    for i, j in T.grid(2, 4):
        B[j, i] = A[i, j]


@T.prim_func(s_tir=True)
def scatters_a_flip(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        B[i, 3 - j] = A[i, j]


@T.prim_func(s_tir=True)
def every_second(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(0, 8, step=2):
        B[i] = A[i]


@T.prim_func(s_tir=True)
def ranges_that_overlap(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i in range(4):
        for j in range(i, i + 4):
            B[i * 4 + j] = A[i * 4 + j]


@T.prim_func(s_tir=True)
def backwards_below_a_division(A: T.Buffer((30,), "float32"), B: T.Buffer((24,), "float32")):
    for i in range(24):  # TVM's iteration maps make i + 1 of this index
        B[i] = A[(23 - i) // -6 * 6 + i % 6 + 24]


@T.prim_func(s_tir=True)
def one_branch_is_computed(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.if_then_else(i < 4, A[i], A[i] * T.float32(2))


@T.prim_func(s_tir=True)
def condition_on_a_middle_element(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.if_then_else(i == 3, A[0], A[i])


@T.prim_func(s_tir=True)
def condition_on_data(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.if_then_else(A[0] <= i, A[i], A[0])


@T.prim_func(s_tir=True)
def within_its_buffer(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(4):
        B[i] = B[i + 4]


@pytest.mark.parametrize(
    "func",
    [
        scatters_a_transpose,
        scatters_a_flip,
        every_second,
        ranges_that_overlap,
        backwards_below_a_division,
        one_branch_is_computed,
        condition_on_a_middle_element,
        condition_on_data,
        within_its_buffer,
    ],
    ids=lambda func: func.attrs["global_symbol"],
)
def test_looks_like_a_move(func):
    assert moves(func) is None


# What TVM's `iter_map_simplify` says of these is wrong: that they run through a range in order.
ROTATED = [
    ("v // 3 * 3 + (v + 2) % 3", 6),
    ("(v + 2) // 3 * 3 + v % 3", 6),
    ("v // 4 * 4 + (v + 2) % 4", 8),
    ("(v + 3) // 3 * 3 + (v + 1) % 3", 6),
    ("v // 9 * 9 + (v + 1) % 9 // 3 * 3 + (v + 2) % 3", 18),
]


@pytest.mark.parametrize(("index", "count"), ROTATED)
def test_what_is_rotated_in_groups_is_no_move(index, count):
    read = [eval(index, {"v": v}) for v in range(count)]
    assert read != list(range(read[0], read[0] + count))
    func = tvm.script.from_source(
        f"""@T.prim_func(s_tir=True)
def func(A: T.Buffer((T.int64(32),), "int16"), B: T.Buffer((T.int64({count}),), "int16")):
    for i in range(T.int64({count})):
        with T.sblock("rotated"):
            v = T.axis.spatial(T.int64({count}), i)
            B[v] = A[{index}]
"""
    )
    assert moves(func) is None
