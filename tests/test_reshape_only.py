"""K0's proof: what is marked copies every byte in order, and what fools TVM's own test is not.

Each function stands in one of three lists. All of them are run where a CPU can run them, so that
the lists are checked and not only the proof.
"""

import random

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import ir, s_tir, sym, tirx
from tvm.relax.analysis import has_reshape_pattern
from tvm.script import tirx as T

from tvm_aliasing.analysis.reshape_only import is_reshape_only

MARKED, REFUSED, UNPROVED = {}, {}, {}


def marked(func):
    """Identity on bytes, and proved to be."""
    MARKED[func.attrs["global_symbol"]] = func
    return func


def refused(func):
    """Not the identity on bytes."""
    REFUSED[func.attrs["global_symbol"]] = func
    return func


def unproved(func):
    """Bytes come out in order, but the body does more, or shows it in a way nobody writes."""
    UNPROVED[func.attrs["global_symbol"]] = func
    return func


def accepted_by_tvm(func):
    """TVM's own test, which aborts on a body without blocks."""
    return isinstance(func.body, s_tir.SBlockRealize) and has_reshape_pattern(func)


SIZE = 3  # of each symbolic dimension and scalar argument


def run(func, compiled=None):
    """Run a function on random bytes and return (input bytes, output bytes)."""
    rng = np.random.default_rng(0)
    arguments = []
    for param in func.params:
        if not isinstance(param.ty, tirx.BufferType):
            arguments.append(SIZE)
            continue
        shape = [_number(extent) for extent in param.ty.shape]
        data = rng.integers(1, 100, shape).astype(str(param.ty.dtype))
        arguments.append(tvm.runtime.tensor(np.asarray(data)))
    source, output = (a for a in arguments if not isinstance(a, int))
    before = source.numpy()
    output.copyfrom(np.zeros_like(output.numpy()))
    (compiled or tvm.compile(func, target="llvm")[func.attrs["global_symbol"]])(*arguments)
    return before.tobytes(), output.numpy().tobytes()


def _number(extent):
    extent = tvm_ffi.structural_map(extent, (ir.Var, lambda var: tirx.const(SIZE, var.ty.dtype)))
    return int(sym.Analyzer().simplify(extent))


# What fools TVM's own test.


@refused
@T.prim_func(s_tir=True)
def writes_half(A: T.Buffer((4, 4), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            B[v] = A[v // 4, v % 4]


@refused
@T.prim_func(s_tir=True)
def strided_source(a: T.handle, B: T.Buffer((16,), "float32")):
    A = T.match_buffer(a, (4, 4), "float32", strides=[8, 1])
    for i in range(16):
        with T.sblock("reshape"):
            v = T.axis.spatial(16, i)
            B[v] = A[v // 4, v % 4]


@refused
@T.prim_func(s_tir=True)
def unused_second_input(
    A: T.Buffer((4, 4), "float32"), C: T.Buffer((4,), "float32"), B: T.Buffer((16,), "float32")
):
    for i in range(16):
        with T.sblock("reshape"):
            v = T.axis.spatial(16, i)
            B[v] = A[v // 4, v % 4]


@refused
@T.prim_func(s_tir=True)
def leading_slice(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("slice"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


@refused
@T.prim_func(s_tir=True)
def predicate_leaves_a_rest(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            T.where(i < 4)
            B[v] = A[v]


@refused
@T.prim_func(s_tir=True)
def predicate_on_data(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            T.where(A[i] < T.float32(50))
            B[v] = A[v]


@refused
@T.prim_func(s_tir=True)
def predicate_on_a_scalar(A: T.Buffer((8,), "float32"), n: T.int64, B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            T.where(T.int64(i) < n)
            B[v] = A[v]


@refused
@T.prim_func(s_tir=True)
def every_second(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(0, 8, step=2):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]


FOOL_TVM = list(REFUSED)


# What is no reshape for other reasons.


@refused
@T.prim_func(s_tir=True)
def every_second_without_blocks(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in T.serial(0, 8, step=2):
        B[i] = A[i]


@refused
@T.prim_func(s_tir=True)
def same_width_other_dtype(A: T.Buffer((8,), "int32"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        with T.sblock("reshape"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Cast("float32", A[vi * 4 + vj])


@refused
@T.prim_func(s_tir=True)
def bool_from_bytes(A: T.Buffer((8,), "uint8"), B: T.Buffer((8,), "bool")):
    for i in range(8):
        B[i] = T.Cast("bool", A[i])


@refused
@T.prim_func(s_tir=True)
def more_elements_out(A: T.Buffer((8,), "float32"), B: T.Buffer((9,), "float32")):
    for i in range(8):
        B[i] = A[i]


@refused
@T.prim_func(s_tir=True)
def reshape(A: T.Buffer((4, 4), "float32"), T_reshape: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):  # it transposes
        with T.sblock("T_reshape"):
            vi, vj = T.axis.remap("SS", [i, j])
            T_reshape[vi, vj] = A[vj, vi]


@refused
@T.prim_func(s_tir=True)
def flip(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("flip"):
            v = T.axis.spatial(8, i)
            B[v] = A[7 - v]


@refused
@T.prim_func(s_tir=True)
def both_flipped_but_not_alike(A: T.Buffer((2, 4), "float32"), B: T.Buffer((2, 4), "float32")):
    for i, j in T.grid(2, 4):
        B[1 - i, j] = A[i, 3 - j]


@refused
@T.prim_func(s_tir=True)
def roll(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[(i + 3) % 8]


@refused
@T.prim_func(s_tir=True)
def index_wraps_at_eight_bits(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for i in range(256):
        B[T.Cast("int32", T.Cast("int8", i)) + 128] = A[i]


@refused
@T.prim_func(s_tir=True)
def broadcast(A: T.Buffer((1, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("broadcast"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[0, vj]


@refused
@T.prim_func(s_tir=True)
def gather(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[A[i] % 8]


@refused
@T.prim_func(s_tir=True)
def offset_on_data(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[(i + A[0]) % 8]


@refused
@T.prim_func(s_tir=True)
def source_at_an_offset(a: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8,), "float32", elem_offset=T.int64(4))
    for i in range(8):
        B[i] = A[i]


@refused
@T.prim_func(s_tir=True)
def source_at_any_offset(a: T.handle, B: T.Buffer((8,), "float32")):
    A = T.match_buffer(a, (8,), "float32", offset_factor=1)
    for i in range(8):
        B[i] = A[i]


@refused
@T.prim_func(s_tir=True)
def strides_of_a_transpose(a: T.handle, B: T.Buffer((4, 4), "float32")):
    A = T.match_buffer(a, (4, 4), "float32", strides=[1, 4])
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j]


@refused
@T.prim_func
def layout_of_a_transpose(
    A: T.Buffer((4, 4), "float32"),
    B: T.Buffer((4, 4), "float32", layout=T.TileLayout(T.S[(4, 4) : (1, 4)])),
):
    for i, j in T.grid(4, 4):
        B[i, j] = A[i, j]


@refused
@T.prim_func(s_tir=True)
def from_a_symbolic_size_rounded_down(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n // 2, 2), "float32")
    for i, j in T.grid(n // 2, 2):
        B[i, j] = A[i * 2 + j]


@refused
@T.prim_func(s_tir=True)
def sum_over_rows(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 2):
        with T.sblock("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]


@refused
@T.prim_func(s_tir=True)
def shifts_itself_afterwards(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
    for i in range(7):
        B[i] = B[i + 1]


@refused
@T.prim_func(s_tir=True)
def never_writes_its_output(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.sblock_alloc_buffer((8,), "float32")
    for i in range(8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]


@refused
@T.prim_func(s_tir=True)
def bindings_cover_a_part(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i, j in T.grid(4, 2):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i + j)
            B[v] = A[v]


@refused
@T.prim_func(s_tir=True)
def loops_stop_short(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(1, 8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]


@refused
@T.prim_func(s_tir=True)
def sheared_domain(A: T.Buffer((20,), "float32"), B: T.Buffer((20,), "float32")):
    for i in range(4):
        for j in range(i, i + 4):
            B[i * 4 + j] = A[i * 4 + j]


@refused
@T.prim_func(s_tir=True)
def chooses_by_data(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.if_then_else(A[i] < T.float32(50), A[i], A[0])


@refused
@T.prim_func(s_tir=True)
def zero_outside(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.if_then_else(i < 4, A[i], T.float32(0))


@refused
@T.prim_func(s_tir=True)
def one_lane_for_four(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(2):
        B[T.ramp(i * 4, 1, 4)] = A[T.broadcast(i * 4, 4)]


# What is in order and still not marked.


@unproved
@T.prim_func(s_tir=True)
def writes_twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
    for i in range(8):
        B[i] = A[i]


@unproved
@T.prim_func(s_tir=True)
def runs_twice(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for _, i in T.grid(2, 8):
        with T.sblock("reshape"):
            v = T.axis.spatial(8, i)
            B[v] = A[v]


@unproved
@T.prim_func(s_tir=True)
def writes_its_input_too(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
    for i in range(8):
        A[i] = T.float32(0)


@unproved
@T.prim_func(s_tir=True)
def copies_back(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
    for i in range(8):
        A[i] = B[i]


@unproved
@T.prim_func(s_tir=True)
def has_another_effect(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
    T.evaluate(T.call_extern("int32", "abs", 1))


@unproved
@T.prim_func(s_tir=True)
def equal_branches(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.if_then_else(i < 3, A[i], A[i])


@unproved
@T.prim_func(s_tir=True)
def backwards_below_a_division(A: T.Buffer((4, 6), "float32"), B: T.Buffer((24,), "float32")):
    for i in range(24):
        B[i] = A[3 - (23 - i) // 6, 5 - (23 - i) % 6]


# What is marked.


@marked
@T.prim_func(s_tir=True)
def foo(A: T.Buffer((4, 6), "float32"), B: T.Buffer((2, 3, 4), "float32")):
    for i, j, k in T.grid(2, 3, 4):
        with T.sblock("bar"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[(vi * 12 + vj * 4 + vk) // 6, (vi * 12 + vj * 4 + vk) % 6]


@marked
@T.prim_func(s_tir=True)
def identity(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.sblock("identity"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


@marked
@T.prim_func(s_tir=True)
def scalar_to_matrix(A: T.Buffer((), "float32"), B: T.Buffer((1, 1), "float32")):
    with T.sblock("reshape"):
        B[0, 0] = A[()]


@marked
@T.prim_func(s_tir=True)
def no_elements(A: T.Buffer((0, 4), "float32"), B: T.Buffer((2, 0), "float32")):
    for i, j in T.grid(2, 0):
        B[i, j] = A[j, i]


@marked
@T.prim_func(s_tir=True)
def no_blocks(A: T.Buffer((4, 4), "float16"), B: T.Buffer((2, 8), "float16")):
    for i, j in T.grid(4, 4):
        B[i // 2, i % 2 * 4 + j] = A[i, j]


@marked
@T.prim_func(s_tir=True)
def loops_from_elsewhere(A: T.Buffer((8,), "uint8"), B: T.Buffer((2, 4), "uint8")):
    for i in range(-4, 4):
        B[(i + 4) // 4, (i + 4) % 4] = A[i + 4]


@marked
@T.prim_func(s_tir=True)
def indices_of_64_bits(A: T.Buffer((T.int64(8),), "bool"), B: T.Buffer((2, 4), "bool")):
    for i in T.serial(T.int64(8)):
        B[i // T.int64(4), i % T.int64(4)] = A[i]


@marked
@T.prim_func(s_tir=True)
def wraps_in_the_bindings_only(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):  # another order of the same elements
        with T.sblock("reshape"):
            v = T.axis.spatial(8, (i + 3) % 8)
            B[v] = A[v]


@marked
@T.prim_func(s_tir=True)
def two_in_a_row(A: T.Buffer((4, 4), "float32"), B: T.Buffer((2, 8), "float32")):
    C = T.sblock_alloc_buffer((16,), "float32")
    for i in range(16):
        with T.sblock("first"):
            v = T.axis.spatial(16, i)
            C[v] = A[v // 4, v % 4]
    for i, j in T.grid(2, 8):
        with T.sblock("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi * 8 + vj]


@marked
@T.prim_func(s_tir=True)
def split_that_does_not_divide(A: T.Buffer((2, 5), "float32"), B: T.Buffer((10,), "float32")):
    for i, j in T.grid(3, 4):
        with T.sblock("reshape"):
            v = T.axis.spatial(10, i * 4 + j)
            T.where(i * 4 + j < 10)
            B[v] = A[v // 5, v % 5]


@marked
@T.prim_func(s_tir=True)
def flatten_symbolic(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n * m,), "float32")
    for i in range(n * m):
        with T.sblock("reshape"):
            v = T.axis.spatial(n * m, i)
            B[v] = A[v // m, v % m]


@marked
@T.prim_func(s_tir=True)
def size_as_an_argument(a: T.handle, n: T.int64, b: T.handle):
    A = T.match_buffer(a, (n, T.int64(4)), "float32")
    B = T.match_buffer(b, (n * T.int64(4),), "float32")
    for i in range(n * T.int64(4)):
        with T.sblock("reshape"):
            v = T.axis.spatial(n * T.int64(4), i)
            B[v] = A[v // T.int64(4), v % T.int64(4)]


LISTS = {"marked": MARKED, "refused": REFUSED, "unproved": UNPROVED}
ALL = [(kind, name) for kind, functions in LISTS.items() for name in functions]

#: The runtime refuses the arguments that `run` makes, or would read what no one wrote.
NOT_RUN = {
    "unused_second_input",
    "strided_source",
    "strides_of_a_transpose",
    "source_at_an_offset",
    "source_at_any_offset",
    "layout_of_a_transpose",  # honoured by some of TVM's pipelines only
}


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_proof(kind, name):
    assert is_reshape_only(LISTS[kind][name]) == (kind == "marked")


@pytest.mark.parametrize(("kind", "name"), [pair for pair in ALL if pair[1] not in NOT_RUN])
def test_lists_are_right(kind, name):
    before, after = run(LISTS[kind][name])
    assert (before == after) == (kind != "refused")


@pytest.mark.parametrize("name", FOOL_TVM)
def test_fools_tvm(name):
    assert accepted_by_tvm(REFUSED[name])


def test_tvm_refuses_two_in_a_row():
    assert not accepted_by_tvm(MARKED["two_in_a_row"])
    assert accepted_by_tvm(MARKED["foo"])


# Scheduled forms of `foo`.


def fused_and_parallel(sch, loops):
    sch.parallel(sch.fuse(*loops))


def split_and_vectorized(sch, loops):
    outer, inner = sch.split(sch.fuse(*loops), factors=[None, 8])
    sch.unroll(outer)
    sch.vectorize(inner)


def split_with_a_rest(sch, loops):
    sch.split(sch.fuse(*loops), factors=[None, 7])


def split_twice_with_rests(sch, loops):
    outer, _ = sch.split(sch.fuse(*loops), factors=[None, 7])
    sch.split(outer, factors=[3, None])


def reordered(sch, loops):
    sch.reorder(*reversed(loops))


def bound_to_threads(sch, loops):
    outer, inner = sch.split(sch.fuse(*loops), factors=[None, 7])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


SCHEDULES = [
    fused_and_parallel,
    split_and_vectorized,
    split_with_a_rest,
    split_twice_with_rests,
    reordered,
    bound_to_threads,
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_changes_nothing(schedule):
    """One element more or less and the proof fails, so the predicates are not passed over."""

    def scheduled(func):
        sch = s_tir.Schedule(func)
        schedule(sch, sch.get_loops(sch.get_sblock("bar")))
        return sch.mod["main"].with_attr("global_symbol", "scheduled")

    func = scheduled(foo)
    assert is_reshape_only(func)
    assert not is_reshape_only(scheduled(foo_of_the_first_rows))
    if schedule is not bound_to_threads:
        before, after = run(func)
        assert before == after


@T.prim_func(s_tir=True)
def foo_of_the_first_rows(A: T.Buffer((5, 6), "float32"), B: T.Buffer((2, 3, 4), "float32")):
    for i, j, k in T.grid(2, 3, 4):
        with T.sblock("bar"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[(vi * 12 + vj * 4 + vk) // 6, (vi * 12 + vj * 4 + vk) % 6]


# Threads, which no CPU runs.


@T.prim_func(s_tir=True)
def two_loops_of_one_thread_index(A: T.Buffer((8, 8), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(8, thread="threadIdx.x"):
        for j in T.thread_binding(8, thread="threadIdx.x"):
            B[i * 8 + j] = A[i, j]


@T.prim_func(s_tir=True)
def what_another_thread_keeps(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    C = T.sblock_alloc_buffer((8,), "float32", scope="local")
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("keep"):
            v = T.axis.spatial(8, i)
            C[v] = A[v]
    for i in T.thread_binding(8, thread="threadIdx.x"):
        with T.sblock("read"):
            v = T.axis.spatial(8, (i + 1) % 8)
            B[v] = C[v]


@pytest.mark.parametrize("func", [two_loops_of_one_thread_index, what_another_thread_keeps])
def test_threads_do_not_run_each_point_once(func):
    assert not is_reshape_only(func)


# Random bodies: a digit permutation, a roll or a plain reshape, under random loops. No flips:
# below a division TVM compiles them to writes outside the buffer.

COUNT = 24
SHAPES = [(24,), (2, 12), (4, 6), (6, 4), (2, 3, 4), (3, 2, 4), (2, 2, 6), (1, 24), (24, 1)]
LOOPS = {
    "plain": (f"for i in range({COUNT}):", "v = i"),
    "block": (f"for i in range({COUNT}):", f"v = T.axis.spatial({COUNT}, i)"),
    "from another begin": (
        f"for i in range(-5, {COUNT - 5}):",
        f"v = T.axis.spatial({COUNT}, i + 5)",
    ),
    "split": ("for i, j in T.grid(6, 4):", f"v = T.axis.spatial({COUNT}, i * 4 + j)"),
    "split, interleaved": ("for i, j in T.grid(6, 4):", f"v = T.axis.spatial({COUNT}, j * 6 + i)"),
    "split, with a rest": (
        "for i, j in T.grid(5, 5):",
        f"v = T.axis.spatial({COUNT}, i * 5 + j); T.where(i * 5 + j < {COUNT})",
    ),
    "split, a rest missed": (
        "for i, j in T.grid(5, 5):",
        f"v = T.axis.spatial({COUNT}, i * 5 + j); T.where(i * 5 + j < {COUNT - 1})",
    ),
    "overlapping": ("for i, j in T.grid(6, 4):", f"v = T.axis.spatial({COUNT}, i * 3 + j)"),
}


def flat_index(rng):
    """A flat index in terms of `v`, most often a bijection that is not the identity."""
    kind = rng.choice(["same", "same", "digits", "roll", "swap halves"])
    if kind == "digits":
        a, b, c = rng.choice([(2, 3, 4), (4, 3, 2), (2, 2, 6), (1, 4, 6)])
        digits = [(f"v // {b * c}", a), (f"v // {c} % {b}", b), (f"v % {c}", c)]
        rng.shuffle(digits)
        index = "0"
        for digit, extent in digits:
            index = f"(({index}) * {extent} + {digit})"
        return index
    return {
        "same": "v",
        "roll": f"((v + {rng.randrange(COUNT)}) % {COUNT})",
        "swap halves": f"(v // 12 * 12 + (v % 12 + {rng.choice([0, 6, 12])}) % 12)",
    }[kind]


def indices(flat, shape):
    found, scale = [], COUNT
    for extent in shape:
        scale //= extent
        found.append(f"{flat} // {scale} % {extent}")
    return ", ".join(found)


def random_function(rng, name):
    source, output = rng.choice(SHAPES), rng.choice(SHAPES)
    loops, binding = LOOPS[rng.choice(list(LOOPS))]
    block = "" if "axis" not in binding else 'with T.sblock("b"):'
    flat = flat_index(rng)
    store = f"B[{indices(flat if rng.random() < 0.2 else 'v', output)}] = "
    store += f"A[{indices(flat, source)}]"
    lines = [
        "@T.prim_func(s_tir=True)",
        f'def {name}(A: T.Buffer({source}, "int16"), B: T.Buffer({output}, "int16")):',
        f"    {loops}",
    ]
    lines += [f"        {block}"] if block else []
    body = [*binding.split("; "), store] if block else [store.replace("v", "i")]
    lines += [("            " if block else "        ") + line for line in body]
    return tvm.script.from_source("\n".join(lines))


def test_random_bodies():
    """Nothing is marked that is not the identity; most of what is the identity is marked."""
    rng = random.Random(0)
    functions = {f"f{i}": random_function(rng, f"f{i}") for i in range(80)}
    library = tvm.compile(tvm.IRModule(functions), target="llvm")
    decided = {True: [], False: []}
    for name, func in functions.items():
        before, after = run(func, library[name])
        decided[before == after].append(is_reshape_only(func))
    assert not any(decided[False])
    assert len(decided[False]) > 24
    assert sum(decided[True]) > 0.8 * len(decided[True])
    assert len(decided[True]) > 16
