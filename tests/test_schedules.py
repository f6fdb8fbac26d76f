"""The CPU schedules: right on every kind of kernel, odd sizes too, and without workspace."""

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import op
from tvm.target import Target
from tvm.target.codegen import llvm_get_system_cpu

import tvm_aliasing as ta
from tvm_aliasing.schedules import RULES, ScheduleForCPU
from tvm_aliasing.schedules.blocks import vector_bits

PLAIN = Target("llvm")
HOST = Target({"kind": "llvm", "mcpu": llvm_get_system_cpu()})
N, M = (tirx.Var(name, "int64") for name in "nm")


def program(shapes, body, dtype="float32"):
    """A module of one dataflow block with an input for each shape."""
    inputs = [relax.Var(f"x{i}", relax.TensorType(shape, dtype)) for i, shape in enumerate(shapes)]
    bb = relax.BlockBuilder()
    with bb.function("main", inputs):
        with bb.dataflow():
            result = bb.emit_output(bb.emit(body(bb, *inputs)))
        bb.emit_func_output(result)
    return bb.finalize()


def kernels(mod, target=PLAIN):
    """The fused PrimFuncs of a module as they are before they are scheduled, and after."""
    passes = (
        relax.transform.LegalizeOps(),
        relax.transform.AnnotateTIROpPattern(),
        relax.transform.FuseOps(),
        relax.transform.FuseTIR(),
    )
    before = tvm.transform.Sequential(passes)(mod)
    after = ScheduleForCPU(target)(before)
    return (
        [f for _, f in module.functions_items() if isinstance(f, tirx.PrimFunc)]
        for module in (before, after)
    )


def rule_of(mod, target=PLAIN):
    """Name of the rule that schedules the module's one kernel."""
    (kernel,), _ = kernels(mod, target)
    fits = (type(rule).__name__ for rule in RULES if rule.apply(kernel, target, False) is not None)
    return next(fits, None)


def softmax(x, axis):
    exponentials = np.exp(x - x.max(axis, keepdims=True))
    return exponentials / exponentials.sum(axis, keepdims=True)


def windows(x, size, stride=1, padding=0, value=0.0):
    """(..., height, width) to (..., height, width, size, size)."""
    border = [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2
    padded = np.pad(x, border, constant_values=value)
    found = np.lib.stride_tricks.sliding_window_view(padded, (size, size), (-2, -1))
    return found[..., ::stride, ::stride, :, :]


def conv2d(x, w, **window):
    return np.einsum("nchwij,ocij->nohw", windows(x, w.shape[-1], **window), w)


def conv_column(x, w):
    padded = np.pad(x[..., 0], ((0, 0), (0, 0), (1, 1)))
    found = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2], axis=2)
    return np.einsum("nchi,oci->noh", found, w[..., 0])[..., None]


def dense(bb, x, w, b, r):
    """Two additions and a relu behind a matmul: three blocks of epilogue."""
    product = bb.emit(op.matmul(x, w))
    return op.nn.relu(bb.emit(op.add(bb.emit(op.add(product, b)), r)))


def conv_block(bb, x, w, b, r):
    product = bb.emit(op.nn.conv2d(x, w, padding=1))
    return op.nn.relu(bb.emit(op.add(bb.emit(op.add(product, b)), r)))


def layer_norm(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


def call(function, **options):
    return lambda bb, *inputs: function(*inputs, **options)


def matmul_case(*shapes):
    return "Contraction", shapes, call(op.matmul), np.matmul


#: name -> (rule that fits, shapes of the inputs, program, what NumPy says)
CASES = {
    "matmul": matmul_case((64, 48), (48, 32)),
    "matmul with odd sizes": matmul_case((7, 13), (13, 9)),
    "matmul with prime columns": matmul_case((16, 5), (5, 101)),
    "matmul of one row": matmul_case((1, 33), (33, 24)),
    "batched matmul": matmul_case((3, 8, 12), (3, 12, 20)),
    "matmul of a shared operand": matmul_case((3, 8, 12), (12, 20)),
    "dense": (
        "Contraction",
        [(6, 10), (10, 36), (36,), (6, 36)],
        dense,
        lambda x, w, b, r: np.maximum(x @ w + b + r, 0),
    ),
    "conv2d": (
        "Contraction",
        [(1, 4, 12, 16), (8, 4, 3, 3)],
        call(op.nn.conv2d, padding=1),
        lambda x, w: conv2d(x, w, padding=1),
    ),
    "conv2d with odd sizes and a stride": (
        "Contraction",
        [(2, 3, 11, 13), (5, 3, 3, 3)],
        call(op.nn.conv2d, padding=1, strides=2),
        lambda x, w: conv2d(x, w, padding=1, stride=2),
    ),
    "conv2d of 5x5 with a wide border": (
        "Contraction",
        [(1, 2, 9, 40), (3, 2, 5, 5)],
        call(op.nn.conv2d, padding=4),
        lambda x, w: conv2d(x, w, padding=4),
    ),
    "conv2d of 1x1": (
        "Contraction",
        [(1, 6, 5, 7), (4, 6, 1, 1)],
        call(op.nn.conv2d),
        conv2d,
    ),
    "conv2d of one column": (
        "Contraction",
        [(1, 3, 20, 1), (4, 3, 3, 1)],
        call(op.nn.conv2d, padding=(1, 0, 1, 0)),
        conv_column,
    ),
    "conv2d with an epilogue": (
        "Contraction",
        [(1, 4, 10, 12), (6, 4, 3, 3), (1, 6, 1, 1), (1, 6, 10, 12)],
        conv_block,
        lambda x, w, b, r: np.maximum(conv2d(x, w, padding=1) + b + r, 0),
    ),
    "depthwise conv2d": (
        "Contraction",
        [(1, 6, 9, 10), (6, 1, 3, 3)],
        call(op.nn.conv2d, padding=1, groups=6),
        lambda x, w: np.einsum("nchwij,cij->nchw", windows(x, 3, padding=1), w[:, 0]),
    ),
    "max pooling": (
        "Contraction",
        [(1, 3, 12, 14)],
        call(op.nn.max_pool2d, pool_size=3, strides=2, padding=1),
        lambda x: windows(x, 3, 2, 1, -np.inf).max((-1, -2)),
    ),
    "sum over the first axis": ("Contraction", [(9, 20)], call(op.sum, axis=0), lambda x: x.sum(0)),
    "sum over the last axis": ("Rows", [(9, 21)], call(op.sum, axis=-1), lambda x: x.sum(-1)),
    "mean over an image": (
        "Rows",
        [(2, 5, 7, 9)],
        call(op.mean, axis=(2, 3)),
        lambda x: x.mean((2, 3)),
    ),
    "softmax": ("Rows", [(3, 5, 33)], call(op.nn.softmax, axis=-1), lambda x: softmax(x, -1)),
    "softmax over channels": (
        "Rows",
        [(2, 5, 3, 4)],
        call(op.nn.softmax, axis=1),
        lambda x: softmax(x, 1),
    ),
    "layer norm": (
        "Rows",
        [(4, 6, 17), (17,), (17,)],
        call(op.nn.layer_norm, axes=[-1]),
        layer_norm,
    ),
    "sum of everything": ("Fallback", [(5, 7)], call(op.sum), lambda x: x.sum()),
    "broadcast": ("Spatial", [(5, 1, 7), (4, 1)], call(op.add), np.add),
    "transpose": (
        "Spatial",
        [(5, 6, 7)],
        call(op.permute_dims, axes=[2, 0, 1]),
        lambda x: x.transpose(2, 0, 1),
    ),
    "concat of odd parts": (
        "Spatial",
        [(2, 3, 5), (2, 4, 5)],
        lambda bb, x, y: op.concat([x, y], axis=1),
        lambda x, y: np.concatenate([x, y], axis=1),
    ),
    "split": (
        "Spatial",
        [(4, 6, 5)],
        lambda bb, x: op.split(x, 2, axis=1),
        lambda x: tuple(np.split(x, 2, axis=1)),
    ),
    "padding": (
        "Spatial",
        [(3, 5)],
        call(op.nn.pad, pad_width=(1, 2, 3, 4)),
        lambda x: np.pad(x, ((1, 2), (3, 4))),
    ),
    "one number": ("Spatial", [(), ()], call(op.multiply), np.multiply),
    "no elements": (None, [(0, 4), (0, 4)], call(op.add), np.add),
    "matmul of no columns": (None, [(4, 3), (3, 0)], call(op.matmul), np.matmul),
    "matmul of no terms": (None, [(4, 0), (0, 8)], call(op.matmul), np.matmul),
}


@pytest.mark.parametrize("target", [PLAIN, HOST], ids=["llvm", "host"])
@pytest.mark.parametrize("case", CASES)
def test_a_scheduled_kernel_is_right(case, target):
    _, shapes, body, expected = CASES[case]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    result = ta.build(program(shapes, body), "copy", target).run(*arrays)
    for got, want in zip(as_tuple(result), as_tuple(expected(*arrays))):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


SIZES = (1, 2, 5, 8, 23)


@pytest.mark.parametrize("target", [PLAIN, HOST], ids=["llvm", "host"])
@pytest.mark.parametrize("columns", SIZES)
def test_tiles_of_every_shape(columns, target):
    """Rows and columns that leave a tile of one element, too: kernels of one module, for speed."""
    cases = [(batch, rows, terms) for batch in (1, 4) for rows in SIZES for terms in (1, 7)]
    bb = relax.BlockBuilder()
    pairs = [
        [
            relax.Var(f"{name}{i}", relax.TensorType(shape, "float32"))
            for name, shape in (("x", (batch, rows, terms)), ("w", (batch, terms, columns)))
        ]
        for i, (batch, rows, terms) in enumerate(cases)
    ]
    with bb.function("main", [var for pair in pairs for var in pair]):
        with bb.dataflow():
            products = [bb.emit(op.matmul(x, w)) for x, w in pairs]
            results = [bb.emit(op.nn.relu(product)) for product in products[::2]]
            result = bb.emit_output(relax.Tuple([*products[1::2], *results]))
        bb.emit_func_output(result)
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal([int(extent) for extent in var.ty.shape], dtype=np.float32)
        for pair in pairs
        for var in pair
    ]
    expected = [x @ w for x, w in zip(arrays[::2], arrays[1::2])]
    wanted = [*expected[1::2], *(np.maximum(product, 0) for product in expected[::2])]
    for got, want in zip(ta.build(bb.finalize(), "copy", target).run(*arrays), wanted):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [PLAIN, HOST], ids=["llvm", "host"])
@pytest.mark.parametrize("width", [1, 7, 8, 23, 25])
@pytest.mark.parametrize("padding", [0, 1])
def test_convolutions_of_every_width(width, padding, target):
    for channels, groups in ((1, 1), (2, 1), (8, 1), (8, 8)):
        if not padding and width < 3:
            continue
        shapes = [(2, channels, 6, width), (channels, channels // groups, 3, 3)]
        body = call(op.nn.conv2d, padding=padding, groups=groups)
        rng = np.random.default_rng(0)
        x, w = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
        if groups == 1:
            expected = conv2d(x, w, padding=padding)
        else:
            expected = np.einsum("nchwij,cij->nchw", windows(x, 3, padding=padding), w[:, 0])
        got = ta.build(program(shapes, body), "copy", target).run(x, w)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_a_tile_of_one_element_below_loops_that_run_once():
    """Found by trying sizes at random: the tiles' loop is not the outermost one."""

    def body(bb, x, w, r):
        product = bb.emit(op.nn.conv2d(x, w, padding=3, strides=2))
        return op.nn.relu(bb.emit(op.add(product, r)))

    shapes = [(1, 3, 9, 32), (1, 3, 1, 1), (1, 1, 8, 19)]
    rng = np.random.default_rng(0)
    x, w, r = (rng.standard_normal(shape, dtype=np.float32) for shape in shapes)
    expected = np.maximum(conv2d(x, w, padding=3, stride=2) + r, 0)
    got = ta.build(program(shapes, body), "copy").run(x, w, r)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_a_sum_of_one_term():
    def body(bb, x, w):
        return op.nn.relu(bb.emit(op.nn.conv2d(x, w)))

    x, w = (
        np.arange(8, dtype="float32").reshape(1, 1, 8, 1) - 4,
        np.full((1, 1, 1, 1), 2, "float32"),
    )
    built = ta.build(program([x.shape, w.shape], body), "copy")
    np.testing.assert_array_equal(built.run(x, w), np.maximum(2 * x, 0))


@pytest.mark.parametrize("case", CASES)
def test_the_rule_that_fits_is_taken(case):
    rule, shapes, body, _ = CASES[case]
    assert rule_of(program(shapes, body)) == rule


SYMBOLIC = {
    "rows": ([(N, 12), (12, 16)], [(5, 12), (12, 16)], np.matmul, call(op.matmul)),
    "columns": ([(6, 12), (12, N)], [(6, 12), (12, 7)], np.matmul, call(op.matmul)),
    "batch": ([(N, 8, 12), (N, 12, 20)], [(3, 8, 12), (3, 12, 20)], np.matmul, call(op.matmul)),
    "sum": ([(6, N), (N, 8)], [(6, 11), (11, 8)], np.matmul, call(op.matmul)),
    "softmax": (
        [(M, N)],
        [(3, 9)],
        lambda x: softmax(x, -1),
        call(op.nn.softmax, axis=-1),
    ),
    "image": (
        [(N, 3, 8, 12), (4, 3, 3, 3)],
        [(2, 3, 8, 12), (4, 3, 3, 3)],
        lambda x, w: conv2d(x, w, padding=1),
        call(op.nn.conv2d, padding=1),
    ),
    "elements": ([(N, M), (M,)], [(5, 3), (3,)], np.add, call(op.add)),
}


@pytest.mark.parametrize("case", SYMBOLIC)
def test_symbolic_sizes(case):
    declared, shapes, expected, body = SYMBOLIC[case]
    built = ta.build(program(declared, body), "copy")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    np.testing.assert_allclose(built.run(*arrays), expected(*arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", ["rows", "columns", "batch", "sum", "elements"])
def test_a_symbolic_size_of_zero(case):
    declared, shapes, expected, body = SYMBOLIC[case]
    built = ta.build(program(declared, body), "copy")
    empty = [
        [0 if size is N else extent for size, extent in zip(sizes, shape)]
        for sizes, shape in zip(declared, shapes)
    ]
    arrays = [np.zeros(shape, "float32") for shape in empty]
    np.testing.assert_array_equal(built.run(*arrays), expected(*arrays))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float64", "float16"])
def test_other_dtypes(dtype):
    built = ta.build(program([(6, 10), (10, 16)], call(op.matmul), dtype), "copy")
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-2, 3, shape).astype(dtype) for shape in [(6, 10), (10, 16)])
    np.testing.assert_array_equal(built.run(x, w), x @ w)


@pytest.mark.parametrize("name", ta.workloads())
@pytest.mark.parametrize("fused", [True, False, "moves-apart"])
def test_no_workload_needs_workspace(name, fused):
    found = ta.workload(name)
    built = ta.build(found.mod, "stock", params=found.params, dims=found.dims, fused=fused)
    assert built.memory(*found.inputs).workspace == 0


def test_every_approach_runs_the_same_kernels():
    found = ta.workload("encoder_layer")
    fronts = [
        ta.build(found.mod, name, params=found.params).stages["front"]
        for name in ("copy", "stock", "k0", "k0-run")
    ]
    for front in fronts[1:]:
        tvm.ir.assert_structural_equal(front, fronts[0])


def test_the_module_is_not_changed_and_nothing_is_scheduled_twice():
    mod = relax.transform.LegalizeOps()(program([(8, 8), (8, 8)], call(op.matmul)))
    before = mod.clone()
    once = ScheduleForCPU(PLAIN)(mod)
    tvm.ir.assert_structural_equal(mod, before)
    tvm.ir.assert_structural_equal(ScheduleForCPU(PLAIN)(once), once)


def test_vector_registers_of_targets():
    widths = {"x86-64": 128, "x86-64-v3": 256, "x86-64-v4": 512}
    for cpu, bits in widths.items():
        assert vector_bits(Target({"kind": "llvm", "mcpu": cpu})) == bits
