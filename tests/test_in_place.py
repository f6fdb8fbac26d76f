"""Which outputs may lie over which inputs: every yes is run that way, and every no that shows.

A no that may come out right by chance, as a race may, is not run.
"""

from functools import lru_cache

import numpy as np
import pytest
import tvm
from tvm import ir, relax, tirx
from tvm.relax import op
from tvm.s_tir import dlight
from tvm.script import tirx as T
from tvm.target import Target

import tvm_aliasing as ta
from random_kernels import is_safe, random_kernel
from test_schedules import N, call, kernels, program
from tvm_aliasing.analysis.digits import determine
from tvm_aliasing.analysis.expressions import variables
from tvm_aliasing.analysis.in_place import overwritable
from tvm_aliasing.passes.drop_noalias import NOALIAS
from tvm_aliasing.values import evaluate

SIZE = 72  # of what is symbolic


@lru_cache
def compiled(kernel):
    """A kernel that makes no promise about overlap, as a function."""
    if kernel.attrs and NOALIAS in kernel.attrs:
        kernel = kernel.without_attr(NOALIAS)
    kernel = kernel.with_attr("global_symbol", "kernel")
    return tvm.compile(tvm.IRModule({"kernel": kernel}), Target("llvm"))["kernel"]


def random_array(param, rng):
    sizes = {var: SIZE for extent in param.ty.shape for var in variables(extent)}
    shape = [evaluate(extent, sizes) for extent in param.ty.shape]
    dtype = str(param.ty.dtype)
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0, 8, shape).astype(dtype)


def results(kernel, arrays, output=None, source=None):
    """All tensors but `source` after a call, with `output` over `source` where they are given."""
    tensors = [SIZE if array is None else tvm.runtime.tensor(array) for array in arrays]
    if source is not None:
        shape, dtype = tensors[output].shape, str(tensors[output].dtype)
        tensors[output] = tensors[source]._create_view(shape, dtype)
    compiled(kernel)(*tensors)
    return [np.array(t) if isinstance(t, int) else t.numpy() for t in tensors]


def differs(kernel, output, source):
    """Whether a kernel with an output over an input gives another result than without."""
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        buffers = [isinstance(param.ty, tirx.BufferType) for param in kernel.params]
        arrays = [random_array(p, rng) if b else None for p, b in zip(kernel.params, buffers)]
        apart = results(kernel, arrays)
        overlaid = results(kernel, arrays, output, source)
        arrays[output] = arrays[output] + np.ones_like(arrays[output])
        again = results(kernel, arrays)[output]
        for i in {*range(len(arrays))} - {source}:
            # What a kernel does not store says nothing.
            stored = apart[i] == again if i == output else np.full_like(apart[i], True, bool)
            found.append(not np.array_equal(apart[i][stored], overlaid[i][stored]))
    return any(found)


def check_overlaid(kernel, found):
    for output, sources in found.items():
        for source in sources:
            assert not differs(kernel, output, source), (output, source)


def test_two_threads():
    assert tvm.runtime.num_threads() == 2


ROWS = (64, 512)  # enough elements for two threads
SQUARE = (128, 128)
IMAGES = (2, 8, 32, 40)


def residual(bb, x, w, b, r):
    return op.nn.relu(bb.emit(op.add(bb.emit(op.add(bb.emit(op.matmul(x, w)), b)), r)))


def conv_residual(bb, x, w, r):
    return op.nn.relu(bb.emit(op.add(bb.emit(op.nn.conv2d(x, w, padding=1)), r)))


def second_of_softmax(bb, x):
    return op.multiply(bb.emit(op.nn.softmax(x)), relax.const(2.0, "float32"))


#: name -> (shapes of the inputs, program, pairs as legalised, pairs as scheduled)
KERNELS = {
    "relu": ([ROWS], call(op.nn.relu), {1: (0,)}, {1: (0,)}),
    "gelu": ([ROWS], call(op.nn.gelu), {1: (0,)}, {1: (0,)}),
    "add": ([ROWS, ROWS], call(op.add), {2: (0, 1)}, {2: (0, 1)}),
    "add of odd sizes": ([(151, 131)] * 2, call(op.add), {2: (0, 1)}, {2: (0, 1)}),
    "add of a broadcast row": ([ROWS, (512,)], call(op.add), {2: (0,)}, {2: (0,)}),
    "add of a transpose": (
        [SQUARE, SQUARE],
        lambda bb, x, y: op.add(bb.emit(op.permute_dims(x)), y),
        {2: (0, 1)},  # the transpose has a buffer of its own
        {2: (1,)},
    ),
    "where": (
        [ROWS, ROWS],
        lambda bb, x, y: op.where(bb.emit(op.greater(x, y)), x, y),
        {2: (0, 1)},
        {2: (0, 1)},
    ),
    "tril": ([SQUARE], call(op.tril), {1: (0,)}, {1: (0,)}),
    "cast of equal size": ([ROWS], call(op.astype, dtype="int32"), {1: (0,)}, {1: (0,)}),
    "cast to half": ([ROWS], call(op.astype, dtype="float16"), {1: ()}, {1: ()}),
    "reshape, relu": (
        [ROWS],
        lambda bb, x: op.nn.relu(bb.emit(op.reshape(x, (4, 16, 512)))),
        {1: (0,)},
        {1: (0,)},
    ),
    "softmax": ([(3, 64, 133)], call(op.nn.softmax, axis=-1), {1: (0,)}, {1: (0,)}),
    "softmax of columns": ([ROWS], call(op.nn.softmax, axis=0), {1: (0,)}, {1: (0,)}),
    "softmax and more": ([ROWS], second_of_softmax, {1: (0,)}, {1: (0,)}),
    "layer_norm": (
        [(4, 16, 512), (512,), (512,)],
        call(op.nn.layer_norm, axes=[-1]),
        {3: (0,)},
        {3: (0,)},
    ),
    "rms_norm": ([ROWS, (512,)], call(op.nn.rms_norm, axes=[-1]), {2: (0,)}, {2: (0,)}),
    "batch_norm": (
        [IMAGES, (8,), (8,), (8,), (8,)],
        call(op.nn.batch_norm, axis=1),
        {5: (0,), 6: (1, 2, 3), 7: (1, 2, 3, 4)},
        {5: (0,), 6: (1, 2, 3), 7: (1, 2, 3, 4)},
    ),
    "matmul": ([SQUARE, SQUARE], call(op.matmul), {2: ()}, {2: ()}),
    "matmul, bias, residual": (
        [SQUARE, SQUARE, (128,), SQUARE],
        residual,
        {4: (0, 1, 3)},  # the product has a buffer of its own
        {4: (3,)},
    ),
    "conv, residual": (
        [(1, 8, 34, 40), (8, 8, 3, 3), (1, 8, 34, 40)],
        conv_residual,
        {3: (0, 2)},
        {3: (2,)},
    ),
    "transpose": ([SQUARE], call(op.permute_dims), {1: ()}, {1: ()}),
    "flip": ([ROWS], call(op.flip, axis=1), {1: ()}, {1: ()}),
    "sum": ([ROWS], call(op.sum, axis=1), {1: ()}, {1: ()}),
    "concat": ([ROWS, ROWS], lambda bb, x, y: op.concat((x, y), 0), {2: ()}, {2: ()}),
    "slice_scatter": (
        [ROWS, (2, 512)],
        call(op.slice_scatter, start=5, end=7, step=1, axis=0),
        {2: (0,)},
        {2: (0,)},
    ),
    "symbolic add": ([(N, 512)] * 2, call(op.add), {2: (0, 1)}, {2: (0, 1)}),
    "symbolic softmax": ([(N, 512)], call(op.nn.softmax), {1: (0,)}, {1: (0,)}),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_operators(name):
    shapes, body, *expected = KERNELS[name]
    for (kernel,), pairs in zip(kernels(program(shapes, body)), expected):
        assert overwritable(kernel) == pairs
        check_overlaid(kernel, pairs)


def test_symbolic_reshape_and_relu():
    mod = program([(N, 512)], lambda bb, x: op.nn.relu(bb.emit(op.reshape(x, (N * 2, 256)))))
    for reshape, relu in kernels(mod):
        assert overwritable(reshape) == {2: (0,)} and overwritable(relu) == {1: (0,)}
        check_overlaid(reshape, {2: (0,)})
        check_overlaid(relu, {1: (0,)})


@pytest.mark.parametrize(
    ("name", "output", "source"),
    [
        ("add of a transpose", 2, 0),
        ("matmul", 2, 0),
        ("matmul", 2, 1),
        ("matmul, bias, residual", 4, 0),
        ("matmul, bias, residual", 4, 1),
        ("conv, residual", 3, 0),
        ("transpose", 1, 0),
        ("flip", 1, 0),
    ],
)
def test_scheduled_kernels_that_overlay_makes_wrong(name, output, source):
    shapes, body, *_ = KERNELS[name]
    _, (kernel,) = kernels(program(shapes, body))
    assert differs(kernel, output, source)


@pytest.mark.parametrize(
    ("workload", "fused"),
    [
        ("encoder_layer", True),
        ("kv_cache_row", True),
        ("kv_cache_slice", False),
        ("reshape_chain", False),
        ("residual", True),
    ],
)
def test_kernels_of_workloads(workload, fused):
    source = ta.workload(workload)
    mod = ta.build(source.mod, "copy", fused=fused, params=source.params).stages["planned"]
    pairs = 0
    for _, kernel in mod.functions_items():
        if isinstance(kernel, tirx.PrimFunc):
            found = overwritable(kernel)
            check_overlaid(kernel, found)
            pairs += sum(map(len, found.values()))
    assert pairs


def test_a_cache_that_a_row_is_written_to():
    source = ta.workload("kv_cache_row")
    mod = ta.build(source.mod, "copy", params=source.params).stages["planned"]
    assert overwritable(mod["write_row"]) == {2: (0,)}


# One rule of the proof each. Where overlaid runs differ every time, they are run.


@T.prim_func(s_tir=True)
def reversed_copy(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[7 - i]


@T.prim_func(s_tir=True)
def both_reversed(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[7 - i] = x[7 - i] * T.float32(2)


@T.prim_func(s_tir=True)
def ring(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] + x[(i + 1) % 8]


@T.prim_func(s_tir=True)
def stencil(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] + x[T.max(i - 1, 0)]


@T.prim_func(s_tir=True)
def each_twice(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i, _ in T.grid(8, 2):
        y[i] = x[i] * T.float32(2)


@T.prim_func(s_tir=True)
def each_overlaps(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i, j in T.grid(4, 4):
        if i * 2 + j < 8:
            y[i * 2 + j] = x[i * 2 + j] * T.float32(2)


@T.prim_func(s_tir=True)
def each_remainder(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(16):
        y[i % 8] = x[i % 8] * T.float32(2)


@T.prim_func(s_tir=True)
def halves(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(16):
        y[i // 2] = x[i // 2] * T.float32(2)


@T.prim_func(s_tir=True)
def digits_in_order(x: T.Buffer((4, 2), "float32"), y: T.Buffer((4, 2), "float32")):
    for i in range(8):
        y[i % 4, i // 4] = x[i % 4, i // 4] * T.float32(2)


@T.prim_func(s_tir=True)
def digits_with_a_gap(x: T.Buffer((4, 2), "float32"), y: T.Buffer((4, 2), "float32")):
    for i in range(16):  # what is left out is i % 4 // 2
        y[i // 4, i % 2] = x[i // 4, i % 2] * T.float32(2)


@T.prim_func(s_tir=True)
def remainder_of_a_remainder(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):  # i % 6 // 4 is not i // 4 % 2
        y[i % 6 // 4 * 4 + i % 4] = x[i % 6 // 4 * 4 + i % 4] * T.float32(2)


@T.prim_func(s_tir=True)
def where_iteration_maps_are_wrong(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(3):  # two iterations have one index
        y[i + (i * 2 + 2) % 6] = x[i + (i * 2 + 2) % 6] * T.float32(2)


@T.prim_func(s_tir=True)
def stored_first(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((8,), "float32")
    for i in range(8):
        y[i] = T.float32(1)
        t[i] = x[i]
    for i in range(8):
        y[i] = t[i]


@T.prim_func(s_tir=True)
def loaded_first(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((8,), "float32")
    for i in range(8):
        t[i] = x[7 - i]
    for i in range(8):
        y[i] = t[i]


@T.prim_func(s_tir=True)
def loaded_again(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] * T.float32(2)
    for i in range(4):
        y[i] = x[i] * T.float32(2)


@T.prim_func(s_tir=True)
def row_sums_first(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4, 8), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i in range(4):
        t[i] = T.float32(0)
        for j in range(8):
            t[i] = t[i] + x[i, j]
        for j in range(8):
            y[i, j] = x[i, j] - t[i]


@T.prim_func(s_tir=True)
def column_sums_in_rows(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")):
    t = T.alloc_buffer((8,), "float32")
    for i in range(8):
        t[i] = T.float32(0)
        for j in range(8):
            t[i] = t[i] + x[j, i]
        for j in range(8):
            y[i, j] = x[i, j] - t[i]


@T.prim_func(s_tir=True)
def rows_through_other_shapes(x: T.Buffer((4, 6), "float32"), y: T.Buffer((8, 3), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i in range(4):
        t[i] = T.float32(0)
        for j in range(6):
            t[i] = t[i] + x[i, j]
        for j in range(6):
            y[(i * 6 + j) // 3, j % 3] = x[i, j] - t[i]


@T.prim_func(s_tir=True)
def blocks_of_rows(x: T.Buffer((8, 4), "float32"), y: T.Buffer((8, 4), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i in range(4):
        t[i] = T.float32(0)
        for j, k in T.grid(2, 4):
            t[i] = t[i] + x[i * 2 + j, k]
        for j, k in T.grid(2, 4):
            y[i * 2 + j, k] = x[i * 2 + j, k] - t[i]


@T.prim_func(s_tir=True)
def width_of_each_row(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((4,), "float32")
    for i in range(4):  # the first row begins where the third one does
        for j in range(i + 1):
            t[j] = x[(3 - i) * (i + 1)]
        for j in range(i + 1):
            y[(3 - i) * (i + 1)] = t[j] * T.float32(2)


@T.prim_func(s_tir=True)
def other_rows(x: T.Buffer((6, 4), "float32"), y: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 4):
        y[i, j] = x[i, j] * T.float32(2)


@T.prim_func(s_tir=True)
def wraps_below_zero(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(12):
        y[(i - 4) % 8] = x[(i - 4) % 8] * T.float32(2)


@T.prim_func(s_tir=True)
def offset_from_memory(
    index: T.Buffer((8,), "int32"),
    x: T.Buffer((16,), "float32"),
    y: T.Buffer((16,), "float32"),
):
    t = T.alloc_buffer((1,), "int32")
    for i in range(8):
        t[0] = index[i]
        y[i + t[0]] = x[i + t[0]] * T.float32(2)


@T.prim_func(s_tir=True)
def offset_bound(
    index: T.Buffer((8,), "int32"),
    x: T.Buffer((16,), "float32"),
    y: T.Buffer((16,), "float32"),
):
    for i in range(8):
        offset: T.let = index[i]
        y[i + offset] = x[i + offset] * T.float32(2)


@T.prim_func(s_tir=True)
def then_stores_its_input(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i]
    for i in range(8):
        x[i] = T.float32(0)


@T.prim_func(s_tir=True)
def guard(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        if x[i] > T.float32(0):
            y[i] = x[i]
        else:
            y[i] = T.float32(-1)


@T.prim_func(s_tir=True)
def guard_elsewhere(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        if x[7 - i] > T.float32(0):
            y[i] = x[i] + T.float32(1)
        else:
            y[i] = T.float32(1)


@T.prim_func(s_tir=True)
def block_guard_elsewhere(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] - T.float32(1)
    for i in range(8):
        with T.sblock("positive"):
            T.where(x[i] > T.float32(0))
            vi = T.axis.spatial(8, i)
            y[vi] = T.float32(2)


@T.prim_func(s_tir=True)
def indices_as_data(
    index: T.Buffer((8,), "int32"),
    x: T.Buffer((8,), "float32"),
    y: T.Buffer((8,), "float32"),
):
    for i in range(8):
        y[i] = x[i]
    for i in range(8):
        y[index[i]] = T.float32(2)


@T.prim_func(s_tir=True)
def indices_from_memory(
    index: T.Buffer((16,), "int32"),
    x: T.Buffer((8,), "float32"),
    y: T.Buffer((8,), "float32"),
):
    for i in range(16):
        y[index[i]] = x[index[i]] * T.float32(2)


@T.prim_func(s_tir=True)
def index_over_output(index: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")):
    for i in range(8):
        y[i] = index[i]
    for i in range(8):
        y[index[i]] = 7


@T.prim_func(s_tir=True)
def binds(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(4):
        j: T.let = 7 - i
        loaded: T.let = x[j]
        y[j] = loaded * T.float32(2)
    for i in range(4):
        y[i] = T.float32(1)


@T.prim_func(s_tir=True)
def binds_too_late(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = T.float32(1)
        late: T.let = x[i]
        y[i] = late * T.float32(2)


@T.prim_func(s_tir=True)
def binds_of_equal_loads(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    t = T.alloc_buffer((1,), "int32")
    t[0] = 0
    before: T.let = t[0]
    t[0] = 1
    after: T.let = t[0]
    for i in range(7):
        y[i + 1] = x[i + 1 + before - after] * T.float32(2)


@T.prim_func(s_tir=True)
def accumulates(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = y[i] + x[i]


@T.prim_func(s_tir=True)
def reads_back(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i]
        y[i] = y[i] * T.float32(3)


@T.prim_func(s_tir=True)
def pads_into_a_wider(x: T.Buffer((8,), "float32"), y: T.Buffer((9,), "float32")):
    for i in range(8):
        y[i] = x[i]


YES = {
    both_reversed: {1: (0,)},
    digits_in_order: {1: (0,)},
    loaded_first: {1: (0,)},
    row_sums_first: {1: (0,)},
    rows_through_other_shapes: {1: (0,)},
    blocks_of_rows: {1: (0,)},
    guard: {1: (0,)},
    indices_as_data: {2: (1,)},
    binds: {1: (0,)},
    reads_back: {1: (0,)},
}
NO = {
    reversed_copy: {1: ()},
    ring: {1: ()},
    stencil: {1: ()},
    each_twice: {1: ()},
    each_overlaps: {1: ()},
    each_remainder: {1: ()},
    halves: {1: ()},
    digits_with_a_gap: {1: ()},
    remainder_of_a_remainder: {1: ()},
    where_iteration_maps_are_wrong: {1: ()},
    stored_first: {1: ()},
    loaded_again: {1: ()},
    column_sums_in_rows: {1: ()},
    width_of_each_row: {1: ()},
    other_rows: {1: ()},
    wraps_below_zero: {1: ()},
    offset_from_memory: {2: ()},
    offset_bound: {2: ()},
    then_stores_its_input: {1: ()},
    guard_elsewhere: {1: ()},
    block_guard_elsewhere: {1: ()},
    indices_from_memory: {2: ()},
    index_over_output: {1: ()},
    binds_too_late: {1: ()},
    binds_of_equal_loads: {1: ()},
}


def name_of(func):
    return str(func.attrs["global_symbol"])


@pytest.mark.parametrize("kernel", YES, ids=name_of)
def test_proved(kernel):
    assert overwritable(kernel) == YES[kernel]
    check_overlaid(kernel, YES[kernel])


@pytest.mark.parametrize("kernel", NO, ids=name_of)
def test_not_proved_and_wrong(kernel):
    assert overwritable(kernel) == NO[kernel]
    assert differs(kernel, len(kernel.params) - 1, len(kernel.params) - 2)


def test_an_output_that_is_read_first():
    assert overwritable(accumulates) == {}
    ones, twos = np.ones(8, "float32"), np.full(8, 2, "float32")
    assert np.all(results(accumulates, [ones, twos])[1] == 3)
    assert np.all(results(accumulates, [ones, twos], 1, 0)[1] == 2)


def test_more_bytes():
    assert overwritable(pads_into_a_wider) == {1: ()}


# What nothing is said about, each added to what would be proved without it.


@T.prim_func(s_tir=True)
def calls_out(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    T.evaluate(T.call_extern("int32", "anything", 1))
    for i in range(8):
        y[i] = x[i]


@T.prim_func(s_tir=True)
def takes_an_address(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] + T.call_pure_extern("float32", "norm", T.address_of(x[i]))


@T.prim_func(s_tir=True)
def hands_a_buffer_out(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i] + T.call_pure_extern("float32", "norm", x.data)


@T.prim_func(s_tir=True)
def steps(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in T.serial(0, 8, step=2):
        y[i] = x[i]


@T.prim_func(s_tir=True)
def loops_while(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    while x[0] > T.float32(0):
        y[0] = x[0] - T.float32(1)


@T.prim_func(s_tir=True)
def matches_a_buffer(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("copy"):
            vi = T.axis.spatial(8, i)
            shifted = T.match_buffer(x[0:8], (8,), "float32")
            y[vi] = shifted[7 - vi] + x[vi]


@T.prim_func(s_tir=True)
def declares_a_buffer(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    again = T.decl_buffer((8,), "float32", data=x.data)
    for i in range(8):
        y[i] = x[i] + again[7 - i]


@T.prim_func(s_tir=True)
def is_pipelined(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in T.serial(
        8, annotations={"software_pipeline_stage": [0], "software_pipeline_order": [0]}
    ):
        y[i] = x[i]


@T.prim_func(s_tir=True)
def is_double_buffered(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("copy"):
            vi = T.axis.spatial(8, i)
            T.sblock_attr({"double_buffer_scope": 0})
            y[vi] = x[vi]


@T.prim_func(s_tir=True)
def has_an_attribute(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    with T.attr(0, "async_scope", 1):
        for i in range(8):
            y[i] = x[i]


@T.prim_func(s_tir=True)
def stores_a_vector(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    y[T.Ramp(0, 1, 8)] = x[T.Ramp(0, 1, 8)]


@pytest.mark.parametrize(
    "kernel",
    [
        calls_out,
        takes_an_address,
        hands_a_buffer_out,
        steps,
        loops_while,
        matches_a_buffer,
        declares_a_buffer,
        is_pipelined,
        is_double_buffered,
        has_an_attribute,
        stores_a_vector,
    ],
    ids=name_of,
)
def test_opaque(kernel):
    assert overwritable(kernel) == {}


def test_a_loop_variable_bound_twice():
    x, y = (tirx.decl_buffer((8,), "float32", name) for name in "xy")
    i = tirx.Var("i", "int32")
    store = tirx.BufferStore(y, tirx.BufferLoad(x, [i]) * tirx.const(2, "float32"), [i])
    once = tirx.For(i, 0, 8, tirx.ForKind.SERIAL, store)
    again = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, tirx.BufferStore(y, tirx.const(1.0), [i]))
    twice = tirx.For(i, 0, 2, tirx.ForKind.SERIAL, once)
    assert overwritable(tirx.PrimFunc([x, y], once)) == {1: (0,)}
    assert overwritable(tirx.PrimFunc([x, y], twice)) == {}
    assert overwritable(tirx.PrimFunc([x, y], tirx.SeqStmt([once, again]))) == {}


@T.prim_func(s_tir=True)
def loads_its_bounds(x: T.Buffer((8,), "int32"), y: T.Buffer((8,), "int32")):
    t = T.alloc_buffer((8,), "int32")
    for i in range(8):
        t[i] = x[i]
        for j in range(x[i]):  # C reads it again after each store
            y[i] = j + t[i]


@T.prim_func(s_tir=True)
def asserts_last(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for i in range(8):
        y[i] = x[i]
    assert x[0] < T.float32(1), "too large"


def test_an_assertion_loads():
    assert overwritable(asserts_last) == {1: ()}


def test_bounds_are_loaded_in_the_loop():
    assert overwritable(loads_its_bounds) == {1: ()}


def copy_kernel(x, y):
    i = tirx.Var("i", "int64")
    value = tirx.BufferLoad(x, [i]).astype(y.ty.dtype)
    loop = tirx.For(i, 0, x.ty.shape[0], tirx.ForKind.SERIAL, tirx.BufferStore(y, value, [i]))
    return tirx.PrimFunc([x, y], loop)


def buffer(dtype="float32", **options):
    return tirx.decl_buffer((tirx.const(8, "int64"),), dtype, **options)


def test_memory_of_the_pair():
    assert overwritable(copy_kernel(buffer(), buffer())) == {1: (0,)}
    assert overwritable(copy_kernel(buffer(), buffer("int32"))) == {1: (0,)}
    assert overwritable(copy_kernel(buffer(), buffer("float64"))) == {1: ()}
    assert overwritable(copy_kernel(buffer(), buffer(strides=[2]))) == {1: ()}
    assert overwritable(copy_kernel(buffer(strides=[2]), buffer())) == {1: ()}
    assert overwritable(copy_kernel(buffer(elem_offset=4), buffer())) == {1: ()}
    assert overwritable(copy_kernel(buffer(scope="shared"), buffer())) == {1: ()}
    assert overwritable(copy_kernel(buffer(), buffer(scope="global.texture"))) == {1: ()}
    assert overwritable(copy_kernel(buffer("int4"), buffer("int4"))) == {1: ()}
    assert overwritable(copy_kernel(buffer("float32x4"), buffer("float32x4"))) == {1: ()}


# Threads of a GPU. The kernels are not run.


@T.prim_func(s_tir=True)
def across_threads(x: T.Buffer((256,), "float32"), y: T.Buffer((256,), "float32")):
    for block in T.thread_binding(8, thread="blockIdx.x"):
        t = T.alloc_buffer((32,), "float32", scope="shared")
        for load in T.thread_binding(32, thread="threadIdx.x"):
            t[load] = x[block * 32 + 31 - load]
        for store in T.thread_binding(32, thread="threadIdx.x"):
            y[block * 32 + store] = t[store]


@T.prim_func(s_tir=True)
def in_every_thread(x: T.Buffer((8,), "float32"), y: T.Buffer((8,), "float32")):
    for block in T.thread_binding(8, thread="blockIdx.x"):
        t = T.alloc_buffer((32,), "float32", scope="shared")
        for thread in T.thread_binding(32, thread="threadIdx.x"):
            t[thread] = T.float32(1)
        y[block] = x[block] * T.float32(2)


@T.prim_func(s_tir=True)
def in_every_thread_of_others(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
    for row in T.thread_binding(8, thread="blockIdx.y"):
        t = T.alloc_buffer((32,), "float32", scope="shared")
        for thread in T.thread_binding(32, thread="threadIdx.x"):
            t[thread] = T.float32(1)
        for column in T.thread_binding(8, thread="blockIdx.x"):
            y[row * 8 + column] = x[row * 8 + column] * T.float32(2)


@T.prim_func(s_tir=True)
def in_two_launches(x: T.Buffer((256,), "float32"), y: T.Buffer((256,), "float32")):
    t = T.alloc_buffer((256,), "float32")
    for i in T.thread_binding(256, thread="threadIdx.x"):
        t[i] = x[255 - i]
    for i in T.thread_binding(256, thread="threadIdx.x"):
        y[i] = t[i]


@T.prim_func(s_tir=True)
def in_one_thread(x: T.Buffer((256,), "float32"), y: T.Buffer((256,), "float32")):
    for block in T.thread_binding(8, thread="blockIdx.x"):
        for thread in T.thread_binding(32, thread="threadIdx.x"):
            y[block * 32 + thread] = x[block * 32 + thread] * T.float32(2)


def test_threads():
    assert overwritable(across_threads) == {1: ()}
    assert overwritable(in_every_thread) == {1: ()}
    assert overwritable(in_every_thread_of_others) == {1: ()}
    assert overwritable(in_two_launches) == {1: (0,)}
    assert overwritable(in_one_thread) == {1: (0,)}


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("add", {2: (0, 1)}),
        ("reshape, relu", {1: (0,)}),
        ("softmax", {1: ()}),
        ("layer_norm", {3: ()}),
        ("matmul, bias, residual", {4: (3,)}),
        ("conv, residual", {3: (2,)}),
        ("transpose", {1: ()}),
    ],
)
def test_scheduled_for_cuda(name, pairs):
    shapes, body, *_ = KERNELS[name]
    (kernel,), _ = kernels(program(shapes, body))
    target = Target(
        {
            "kind": "cuda",
            "arch": "sm_90",
            "max_threads_per_block": 1024,
            "max_shared_memory_per_block": 49152,
            "thread_warp_size": 32,
        }
    )
    rules = (dlight.gpu.Matmul(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction())
    with target:
        schedule = dlight.ApplyDefaultSchedule(*rules, dlight.gpu.Fallback())
        mod = schedule(tvm.IRModule({"kernel": kernel}))
    assert overwritable(mod["kernel"]) == pairs


# Against definitions.


def test_random_kernels():
    proved = 0
    for seed in range(400):
        kernel = random_kernel(seed)
        *inputs, output = kernel.params
        for i in overwritable(kernel)[2]:
            assert is_safe(kernel, inputs[i], output), seed
            proved += 1
    assert proved > 100


def test_random_kernels_that_are_run():
    pairs = 0
    for seed in range(60):
        kernel = random_kernel(seed, kinds=[tirx.ForKind.SERIAL])
        found = overwritable(kernel)
        check_overlaid(kernel, found)
        pairs += sum(map(len, found.values()))
    assert pairs > 10


def test_digits():
    i, j = (tirx.Var(name, "int64") for name in "ij")
    n = tirx.Var("n", "int64")

    def determined(*numbers, **extents):
        variables = {"i": i, "j": j}
        zero = tirx.const(0, "int64")
        domain = {
            variables[name]: ir.Range.from_min_extent(zero, extent)
            for name, extent in extents.items()
        }
        return determine(list(numbers), domain)

    fdiv, mod = tirx.floordiv, tirx.floormod
    assert determined(i * 4 + j, i=5, j=4)
    assert not determined(i * 4 + j, i=5, j=5)
    assert determined(i * 8 + j * 2, i=5, j=4)
    assert not determined(i * 6 + j * 2, i=5, j=4)
    assert determined(i * -4 + j, i=5, j=4)
    assert determined(j - i * 4, i=n, j=4)
    assert not determined(i * 4 + j, i=4, j=n)
    assert determined(i + n, i=n)
    assert determined(fdiv(i, 6), mod(i, 6), i=24)
    assert not determined(fdiv(i, 6), mod(i, 5), i=24)
    assert not determined(fdiv(i, 6), mod(i, 3), i=24)
    assert determined(fdiv(i, 6), mod(fdiv(i, 3), 2), mod(i, 3), i=24)
    assert determined(mod(i, 6), i=6)
    assert not determined(mod(i, 6), i=7)
    assert not determined(mod(i, 6), i=n)
    assert determined(fdiv(mod(i, 12), 4) * 4 + mod(i, 4), i=12)
    assert not determined(fdiv(mod(i, 6), 4) * 4 + mod(i, 4), i=6)
    assert not determined(fdiv(i, 4), mod(mod(i, 6), 4), i=8)
    assert not determined(i * i, i=3)
    assert not determined(i, i=3, j=3)
