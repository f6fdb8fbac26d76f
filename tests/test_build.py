"""What `build` takes, refuses and returns."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.approaches import approaches
from tvm_aliasing.build import build
from tvm_aliasing.errors import InputError, UnsupportedError
from tvm_aliasing.pipeline import pipeline

rng = np.random.default_rng(0)


def normal(*shape):
    return rng.standard_normal(shape).astype("float32")


@I.ir_module
class Reshapes:
    """Reshapes at the block's end, outside of it, of a parameter, and moves."""

    @R.function
    def main(x: R.Tensor((4, 6), "float32"), w: R.Tensor((6, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (16,))
            c = R.tanh(b)
            d = R.concat((c, b), 0)
            e = R.reshape(d, (4, 8))
            R.output(b, e)
        f = R.reshape(e, (2, 16))
        g = R.reshape(x, (24,))
        return (f, (g, b))


def expected_of_reshapes(x, w):
    b = (x @ w).reshape(16)
    return np.concatenate([np.tanh(b), b]).reshape(2, 16), x.reshape(24), b


@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.add(x, y)
            b = R.reshape(a, (n * 4,))
            c = R.negative(b)
            d = R.reshape(c, (n * 2, 2))
            R.output(d)
        return d


@I.ir_module
class Branches:
    @R.function
    def main(c: R.Tensor((), "bool"), t: R.Tuple(R.Tensor((4,), "int32"), R.Tensor((4,), "int32"))):
        x = t[0]
        if c:
            y = R.reshape(x, (2, 2))
            z = R.add(y, y)
        else:
            z = R.reshape(t[1], (2, 2))
        return z


X, W, Y = normal(4, 6), normal(6, 4), normal(4, 4)
FIRST, SECOND = np.arange(4, dtype="int32"), np.arange(4, 8, dtype="int32")
MODULES = {
    "reshapes": (Reshapes, [((X, W), expected_of_reshapes(X, W))]),
    "symbolic": (Symbolic, [((Y, 2 * Y), (-3 * Y.reshape(8, 2),))]),
    "branches": (
        Branches,
        [
            ((np.array(True), (FIRST, SECOND)), (2 * FIRST.reshape(2, 2),)),
            ((np.array(False), (FIRST, SECOND)), (SECOND.reshape(2, 2),)),
        ],
    ),
}
FUSED = [True, False, "moves-apart"]


def flat(result):
    """The arrays of a nested tuple, in order."""
    if not isinstance(result, tuple):
        return [result]
    return [array for item in result for array in flat(item)]


def assert_results(actual, expected):
    assert len(flat(actual)) == len(expected)
    for one, other in zip(flat(actual), expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def ways(approach):
    return [True] if approach == "shipped" else FUSED


# Every way on the module that shows most, the default way on all; the arena beside the defaults.
POINTS = [
    *((name, None, fused, "reshapes") for name in approaches() for fused in ways(name)),
    *((name, None, True, module) for name in approaches() for module in ("symbolic", "branches")),
    *((name, "arena", True, module) for name in ("copy", "stock", "alias") for module in MODULES),
]


@pytest.mark.parametrize(("approach", "planner", "fused", "name"), POINTS)
def test_both_exec_modes_agree(approach, planner, fused, name):
    mod, calls = MODULES[name]
    bytecode = build(mod, approach, planner=planner, fused=fused)
    compiled = build(mod, approach, planner=planner, fused=fused, exec_mode="compiled")
    for inputs, expected in calls:
        assert_results(bytecode.run(*inputs), expected)
        assert_results(compiled.run(*inputs), expected)
        assert bytecode.memory(*inputs) == compiled.memory(*inputs)


@pytest.mark.parametrize("approach", approaches())
def test_module_and_params_stay_as_they_are(approach):
    before = tvm.ir.load_json(tvm.ir.save_json(Reshapes))
    w = W.copy()
    b = build(Reshapes, approach, params={"w": w})
    assert_results(b.run(X), expected_of_reshapes(X, W))
    b.memory(X)
    tvm.ir.assert_structural_equal(Reshapes, before, map_free_vars=True)
    np.testing.assert_array_equal(w, W)


@pytest.mark.parametrize("approach", approaches())
def test_stages(approach):
    stages = build(Reshapes, approach).stages
    expected = ["front", "introduced", "planned", "vm"]
    assert list(stages) == (expected[2:] if approach == "shipped" else expected)
    assert calls_of(stages["planned"], "relax.memory.alloc_storage") > 0
    assert calls_of(stages["vm"], "relax.memory.alloc_storage") == 0


def calls_of(mod, op):
    found = []

    def see(expr):
        if isinstance(expr, relax.Call) and isinstance(expr.op, tvm.ir.Op) and expr.op.name == op:
            found.append(expr)

    relax.analysis.post_order_visit(mod["main"], see)
    return len(found)


def test_stages_show_what_an_approach_does():
    """`b` and `e` are outputs of the block, `f` and `g` lie outside: `k0` and `alias` elide them.

    `alias` says it in views, and with two more, of one buffer, it has `d` written in place.
    """
    said = {
        "copy": (0, 0),
        "stock": (0, 0),
        "k0-run": (0, 0),
        "k0": (4, 0),
        "alias:reshape": (0, 4),
        "alias:views": (0, 4),
        "alias": (0, 4 + 2 + 1),  # two places and the whole of the buffer
    }
    for approach, (reshapes, views) in said.items():
        stages = build(Reshapes, approach, fused=False).stages
        assert calls_of(stages["front"], "relax.reshape") == 0
        assert calls_of(stages["introduced"], "relax.reshape") == reshapes
        assert calls_of(stages["introduced"], "relax.memory.view") == views
        assert calls_of(stages["introduced"], "relax.memory.alloc_storage") == 0
        assert calls_of(stages["planned"], "relax.memory.alloc_storage") > 0


@pytest.mark.parametrize("approach", approaches())
def test_pipeline_goes_into_tvm_compile(approach):
    target = tvm.target.Target("llvm")
    executable = tvm.compile(Reshapes, target, relax_pipeline=pipeline(approach, target))
    f, (g, b) = relax.VirtualMachine(executable, tvm.cpu())["main"](
        *map(tvm.runtime.tensor, (X, W))
    )
    assert_results((f.numpy(), g.numpy(), b.numpy()), expected_of_reshapes(X, W))


def test_run_returns_copies_nested_as_the_function_says():
    b = build(Reshapes, "k0")
    first = b.run(X, W)
    kept = [array.copy() for array in flat(first)]
    b.run(2 * X, W)
    assert isinstance(first, tuple) and isinstance(first[1], tuple)
    assert_results(first, kept)


def test_arrays_need_not_be_contiguous():
    assert_results(build(Reshapes, "k0").run(X, W.T.copy().T), expected_of_reshapes(X, W))


def test_call_copies_nothing():
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return (x, R.add(x, R.const(1.0)))

    b = build(tvm.IRModule({"main": main}), "k0")
    x = tvm.runtime.tensor(np.zeros(4, "float32"))
    same, other = b.call(x)
    assert address(same) == address(x)
    assert address(other) != address(x)
    assert b.run(np.zeros(4, "float32"))[1].tolist() == [1, 1, 1, 1]


def address(tensor):
    return np.from_dlpack(tensor).ctypes.data


def test_another_entry():
    @R.function
    def negate(x: R.Tensor((4,), "float32")):
        return R.negative(x)

    mod = tvm.IRModule({"main": Symbolic["main"], "negate": negate})
    b = build(mod, "k0", entry="negate", params=None)
    assert b.run(np.ones(4, "float32")).tolist() == [-1] * 4
    assert b.memory(np.ones(4, "float32")).kernels == 1


# Options.

BAD_OPTIONS = {
    "approach": ({"approach": "k1"}, InputError),
    "target": ({"target": "abacus"}, InputError),
    "planner": ({"planner": "greedy"}, InputError),
    "placement": ({"placement": "whenever"}, InputError),
    "outputs": ({"outputs": "steal"}, InputError),
    "exec_mode": ({"exec_mode": "interpreted"}, InputError),
    "fused": ({"fused": "maybe"}, InputError),
    "entry": ({"entry": "start"}, InputError),
    "params name": ({"params": {"v": W}}, InputError),
    "params shape": ({"params": {"w": X}}, InputError),
    "params dtype": ({"params": {"w": W.astype("float64")}}, InputError),
    "dims bound": ({"dims": {"n": 0}}, InputError),
    "dims no dict": ({"dims": [8]}, InputError),
    "params no dict": ({"params": [X]}, InputError),
    "approaches": ({"approach": ["k0", "stock"]}, InputError),
    "shipped unfused": ({"approach": "shipped", "fused": False}, InputError),
    "feature": ({"approach": "alias:moves"}, InputError),
    "feature among others": ({"approach": "alias:views+moves"}, InputError),
    "feature left out": ({"approach": "alias:"}, InputError),
    "feature of another": ({"approach": "k0:views"}, InputError),
    "feature of alias only": ({"approach": "k0+:dest"}, InputError),
    "feature alone": ({"approach": "donate"}, InputError),
    "early without a word": ({"approach": "stock", "placement": "early"}, InputError),
    "target not there": ({"target": {"kind": "cuda", "arch": "sm_90"}}, UnsupportedError),
    "donate unknown": ({"donate": ["v"]}, InputError),
    "donate bound": ({"params": {"w": W}, "donate": ["w"]}, InputError),
    "donate number": ({"donate": [0]}, InputError),
    "donate no list": ({"donate": None}, InputError),
    "donate a name": ({"donate": "x"}, InputError),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(case):
    options, error = BAD_OPTIONS[case]
    with pytest.raises(error) as caught:
        build(Reshapes, **{"approach": "k0", **options})
    assert caught.type is error
    assert "\n" not in str(caught.value)


def test_not_a_module():
    with pytest.raises(InputError, match="IRModule"):
        build(Reshapes["main"], "k0")


# Inputs.

BAD_INPUTS = {
    "too few": ([Y], "1 inputs given, 2 expected"),
    "too many": ([Y, Y, Y], "3 inputs given, 2 expected"),
    "rank": ([Y, Y[0]], "input y has 1 dimensions, expected 2"),
    "shape": ([Y, Y[:, :3]], "input y has shape"),
    "dtype": ([Y.astype("float64"), Y], "input x has dtype float64, expected float32"),
    "symbolic size": ([Y, Y[:2]], "symbolic size n is 2 here and 4 in another input"),
    "over its bound": ([normal(9, 4)] * 2, "n is 9, more than its bound 8"),
    "no array": ([Y, [1.0]], "input y is list: give an array"),
}


@pytest.fixture(scope="module")
def bounded():
    return build(Symbolic, "k0", dims={"n": 8})


@pytest.mark.parametrize("method", ["run", "call", "memory"])
@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_inputs(case, method, bounded):
    inputs, message = BAD_INPUTS[case]
    if method == "call":
        inputs = [tvm.runtime.tensor(i) if isinstance(i, np.ndarray) else i for i in inputs]
    with pytest.raises(InputError) as caught:
        getattr(bounded, method)(*inputs)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert_results(bounded.run(Y, Y), (-2 * Y.reshape(8, 2),))  # it still works


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([np.array(True), FIRST], "input t is a tuple of 2"),
        ([np.array(True), (FIRST,)], "input t is a tuple of 2"),
        ([np.array(True), (FIRST, SECOND[:2])], "input t[1] has shape (2,), expected (4)"),
        ([np.array([True]), (FIRST, SECOND)], "input c has 1 dimensions, expected 0"),
    ],
)
def test_bad_tuples(inputs, message):
    with pytest.raises(InputError) as caught:
        build(Branches, "k0").run(*inputs)
    assert message in str(caught.value)


def test_bound_reaches_the_planner():
    """Two intermediates take the size of the bound, the output that of the call."""
    sizes = {"bound": 8 * 4 * 4, "call": 4 * 4 * 4}
    unbounded = build(Symbolic, "stock", fused=False).memory(Y, Y)
    bounded = build(Symbolic, "stock", fused=False, dims={"n": np.int64(8)}).memory(Y, Y)
    assert unbounded.planned == 3 * sizes["call"]
    assert bounded.planned == 2 * sizes["bound"] + sizes["call"]


@I.ir_module
class OfShape:
    """The shape of the result is an input."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), s: R.Shape(["a", "b"])):
        a = T.int64()
        b = T.int64()
        y = R.multiply(x, R.const(2.0, "float32"))
        return R.reshape(y, (a, b))


@pytest.mark.parametrize("approach", ["copy", "k0"])
def test_shapes_are_inputs(approach):
    x = np.arange(32, dtype="float32").reshape(4, 8)
    built = build(OfShape, approach)
    assert np.array_equal(built.run(x, (2, 16)), (2 * x).reshape(2, 16))
    assert built.memory(x, (2, 16)).peak > 0


@pytest.mark.parametrize(
    ("shape", "complaint"),
    [
        ((2, 16, 1), "input s has 3 dimensions, expected 2"),
        (3, "input s is 3: give a tuple of integers"),
        ((2, 1.5), r"input s is \(2, 1.5\): give a tuple of integers"),
    ],
)
def test_shapes_are_checked(shape, complaint):
    with pytest.raises(InputError, match=complaint):
        build(OfShape, "copy").run(np.zeros((4, 8), "float32"), shape)


@I.ir_module
class OfNumber:
    @R.function
    def main(x: R.Tensor((4,), "float32"), n: R.Prim("int64")):
        return R.add(x, x)


@pytest.mark.parametrize("number", [None, "3", [3]])
def test_numbers_are_checked(number):
    built = build(OfNumber, "copy")
    x = np.ones(4, "float32")
    assert np.array_equal(built.run(x, 3), [2, 2, 2, 2])
    with pytest.raises(InputError, match=r"input n is .*: give a number"):
        built.run(x, number)


def test_pipeline_refuses_what_build_refuses():
    with pytest.raises(InputError, match="shipped is TVM's pipeline untouched"):
        pipeline("shipped", "llvm", fused=False)


@I.ir_module
class WritesInPlace:
    @T.prim_func(private=True, s_tir=True)
    def increment(A: T.Buffer((32,), "float32")):
        for i in range(32):
            with T.sblock("increment"):
                v = T.axis.spatial(32, i)
                A[v] = A[v] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = WritesInPlace
        r = R.reshape(x, (32,))
        w = R.call_tir_inplace(
            cls.increment, (r,), inplace_indices=[0], out_ty=R.Tensor((32,), "float32")
        )
        return R.multiply(w, R.const(2.0, "float32"))


@pytest.mark.parametrize("approach", ["copy", "k0"])
def test_a_write_in_place_does_not_reach_the_caller_through_a_reshape(approach):
    x = np.arange(32, dtype="float32").reshape(4, 8)
    given = tvm.runtime.tensor(x)
    result = build(WritesInPlace, approach, fused=False).call(given)
    assert np.array_equal(given.numpy(), x)
    assert np.array_equal(result.numpy(), 2 * (x.reshape(32) + 1))


@I.ir_module
class BranchesDiffer:
    """One branch returns the parameter; the other returns a value of its own."""

    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        if first:
            y = x
        else:
            y = R.reshape(R.reshape(x, (32,)), (4, 8))
        return y


@pytest.mark.parametrize("fused", [True, False])
def test_what_one_branch_returns_excuses_no_alias_in_the_other(fused):
    x = np.arange(32, dtype="float32").reshape(4, 8)
    given = tvm.runtime.tensor(x)
    result = build(BranchesDiffer, "k0", fused=fused).call(
        tvm.runtime.tensor(np.asarray(False)), given
    )
    assert np.array_equal(result.numpy(), x)
    result.copyfrom(np.zeros((4, 8), "float32"))
    assert np.array_equal(given.numpy(), x)


@I.ir_module
class ImpureCall:
    @R.function(pure=False)
    def main(x: R.Tensor((4, 8), "float32")):
        r = R.reshape(x, (32,))
        _ = R.call_packed("test_build.increment", r, ty_args=R.Tensor((32,), "float32"))
        return R.add(x, R.const(1.0, "float32"))


@pytest.mark.parametrize("approach", ["copy", "k0"])
def test_an_impure_call_does_not_write_through_a_reshape(approach):
    def increment(tensor):
        tensor.copyfrom(tensor.numpy() + 1)
        return tensor

    tvm.register_global_func("test_build.increment", increment, override=True)
    x = np.arange(32, dtype="float32").reshape(4, 8)
    given = tvm.runtime.tensor(x)
    result = build(ImpureCall, approach).call(given)
    assert np.array_equal(given.numpy(), x)
    assert np.array_equal(result.numpy(), x + 1)


@I.ir_module
class NoElements:
    @R.function
    def main(x: R.Tensor((0, 4), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        return R.expand_dims(a, 0)


@I.ir_module
class OfUnknownRank:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        r = R.reshape(x, (32,))
        m = R.match_cast(r, R.Tensor(dtype="float32"))
        return m


def test_a_reshape_without_elements():
    assert build(NoElements, "k0").run(np.zeros((0, 4), "float32")).shape == (1, 0, 4)


def test_an_output_that_cannot_be_copied_is_refused_in_one_line():
    with pytest.raises(UnsupportedError, match="give it a rank and a dtype with match_cast"):
        build(OfUnknownRank, "k0")


# What a program declares of packed functions.


@tvm.register_global_func("test_build.same", override=True)
def _same(tensor):
    return tensor


def declaring(declared, where="main"):
    """A module with a function that declares something of what it calls."""

    @I.ir_module
    class Calls:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            a = R.exp(x)
            b = R.call_pure_packed("test_build.same", a, ty_args=R.Tensor((4,), "float32"))
            return R.add(a, b)

        @R.function
        def other(x: R.Tensor((4,), "float32")):
            return R.call_pure_packed("test_build.same", x, ty_args=R.Tensor((4,), "float32"))

    function = Calls[where].with_attr("ta.extern_alias", declared)
    return tvm.IRModule({**dict(Calls.functions_items()), Calls.get_global_var(where): function})


@pytest.mark.parametrize("word", ["may", "arg0", "arg1"])
def test_what_is_declared_of_packed_functions_is_taken(word):
    x = np.ones(4, "float32")
    built = build(declaring({"test_build.same": word}))
    assert_results(built.run(x), (2 * np.exp(x),))


@pytest.mark.parametrize("where", ["main", "other"])
@pytest.mark.parametrize("approach", ["shipped", "copy", "alias"])
@pytest.mark.parametrize("word", ["stale", "", "arg", "arg-1", "arg0 ", "Fresh", 0, ["fresh"]])
def test_what_nobody_understands_of_packed_functions_is_refused(word, approach, where):
    with pytest.raises(InputError) as caught:
        build(declaring({"test_build.good": "fresh", "test_build.same": word}, where), approach)
    told = str(caught.value)
    assert told.startswith(f"{where} declares 'test_build.same' as ")
    assert told.endswith(
        ": ta.extern_alias is a dict of names of packed functions to fresh, may, or arg0, arg1, ..."
    )
    assert "\n" not in told


@pytest.mark.parametrize("declared", ["fresh", ["test_build.same"], 1])
def test_a_declaration_that_names_no_function_is_refused(declared):
    with pytest.raises(InputError, match=r"^main declares 'ta\.extern_alias' as "):
        build(declaring(declared), "k0")
