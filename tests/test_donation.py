"""Donated parameters, seen from outside: by data pointer, and by the bytes that a caller keeps."""

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.errors import InputError
from tvm_aliasing.output_policies import ALLOWED

X = np.arange(32, dtype="float32").reshape(4, 8) / 8
Z = X[:1] - 1


@I.ir_module
class Update:
    @T.prim_func(s_tir=True, private=True)
    def put(
        cache: T.Buffer((4, 8), "float32"),
        row: T.Buffer((1, 8), "float32"),
        out: T.Buffer((4, 8), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                out[vi, vj] = cache[vi, vj]
        for j in range(8):
            with T.sblock("write"):
                vj = T.axis.spatial(8, j)
                out[2, vj] = row[0, vj]

    @R.function
    def main(cache: R.Tensor((4, 8), "float32"), row: R.Tensor((1, 8), "float32")):
        cls = Update
        r = R.exp(row)
        updated = R.call_tir(cls.put, (cache, r), out_ty=R.Tensor((4, 8), "float32"))
        s = R.sum(updated, axis=0)
        return updated, s


def _updated(cache, row):
    cache = cache.copy()
    cache[2] = np.exp(row)[0]
    return cache, cache.sum(0)


@I.ir_module
class Elementwise:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        a = R.add(x, y)
        b = R.tanh(a)
        return R.sin(b)


@I.ir_module
class Called:
    @R.function(private=True)
    def inner(p: R.Tensor((4, 8), "float32")):
        q = R.tanh(p)
        return R.exp(q)

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        cls = Called
        a = cls.inner(x)
        b = cls.inner(y)
        return R.add(R.add(a, b), x)


@I.ir_module
class Nested:
    @R.function
    def main(t: R.Tuple(R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32"))):
        a = R.exp(t[0])
        return R.add(a, t[1])


@I.ir_module
class ReturnedToo:
    """What was donated is returned as well: it must not be written over."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        a = R.exp(x)
        return R.add(a, y), x


PROGRAMS = {
    "Update": (Update, (X, Z), _updated(X, Z)),
    "Elementwise": (Elementwise, (X, X + 1), np.sin(np.tanh(2 * X + 1))),
    "Called": (Called, (X, Z + 0 * X), np.exp(np.tanh(X)) + np.exp(np.tanh(Z + 0 * X)) + X),
    "ReturnedToo": (ReturnedToo, (X, X + 1), (np.exp(X) + X + 1, X)),
}
APPROACHES = ["alias", "alias:donate", "alias:inplace+donate", "k0+", "k0+:donate"]
IGNORANT = [name for name in ta.approaches() if name not in ("alias", "k0+", "shipped")]
IGNORANT += ["alias:inplace", "alias:dest", "k0+:inplace", "k0+:views"]


def tensors(value):
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return [tensor for field in value for tensor in tensors(field)]
    return [value]


def address(tensor):
    return np.from_dlpack(tensor).ctypes.data


def call(built, inputs):
    """One call: the outputs, and the arguments as they are left."""
    given = [tvm.runtime.tensor(array) for array in inputs]
    return tensors(built.call(*given)), given


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("approach", ["alias", "alias:dest+donate", "alias:donate", "k0+"])
def test_the_donated_cache_is_the_output(approach, planner):
    built = ta.build(Update, approach, planner=planner, donate=["cache"], fused=False)
    (updated, total), (cache, row) = call(built, (X, Z))
    assert address(updated) == address(cache)
    assert agrees((updated.numpy(), total.numpy()), _updated(X, Z))
    assert agrees(cache.numpy(), _updated(X, Z)[0])
    assert row.numpy().tobytes() == Z.tobytes()
    # The other output, and the row and its copy: no second cache.
    assert built.memory(X, Z).planned < X.nbytes


@pytest.mark.parametrize("donated", [[], ["cache"]])
def test_what_donation_saves_is_the_cache(donated):
    built = ta.build(Update, planner="token", donate=donated, fused=False)
    memory = built.memory(X, Z)
    outputs = Z.nbytes + (0 if donated else X.nbytes)
    assert memory.retained == outputs


@pytest.mark.parametrize("approach", [*APPROACHES, *IGNORANT])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_not_donated_is_never_written(name, approach):
    planner = "tvm" if approach == "stock+inplace" else "arena"
    module, inputs, expected = PROGRAMS[name]
    built = ta.build(module, approach, planner=planner, fused=False)
    given = [tvm.runtime.tensor(array) for array in inputs]
    for _ in range(2):  # with the same tensors
        found = tuple(output.numpy() for output in tensors(built.call(*given)))
        assert agrees(found if len(found) > 1 else found[0], expected)
        assert [g.numpy().tobytes() for g in given] == [array.tobytes() for array in inputs]


@pytest.mark.parametrize("approach", APPROACHES)
@pytest.mark.parametrize("donated", [("x",), ("y",)])
def test_only_what_is_donated_is_written(donated, approach):
    for name in ("Elementwise", "Called"):
        module, inputs, expected = PROGRAMS[name]
        built = ta.build(module, approach, donate=donated, fused=False)
        (output,), given = call(built, inputs)
        assert agrees(output.numpy(), expected)
        for param, tensor, array in zip("xy", given, inputs):
            if param not in donated:
                assert tensor.numpy().tobytes() == array.tobytes()
                assert address(output) != address(tensor)


@pytest.mark.parametrize("approach", APPROACHES)
def test_the_output_lies_in_what_is_donated(approach):
    built = ta.build(Elementwise, approach, donate=["y"], fused=False)
    (output,), (x, y) = call(built, PROGRAMS["Elementwise"][1])
    assert address(output) == address(y)
    assert x.numpy().tobytes() == X.tobytes()


def test_by_donation_alone_only_the_parameter_is_written_over():
    one = ta.build(Elementwise, "alias:donate", donate=["y"], fused=False).memory(X, X)
    none = ta.build(Elementwise, "alias:donate", fused=False).memory(X, X)
    assert one.planned < none.planned


@pytest.mark.parametrize("approach", IGNORANT)
def test_approaches_that_know_nothing_of_it_build_the_same(approach):
    modules = [
        ta.build(Elementwise, approach, donate=donated, fused=False).stages["planned"]
        for donated in ((), ("x", "y"))
    ]
    tvm.ir.assert_structural_equal(*modules, map_free_vars=True)


@pytest.mark.parametrize("policy", ALLOWED)
def test_what_is_returned_as_it_was_is_not_written(policy):
    module, inputs, expected = PROGRAMS["ReturnedToo"]
    built = ta.build(module, donate=["x", "y"], outputs=policy, fused=False)
    outputs, (x, y) = call(built, inputs)
    assert agrees(tuple(output.numpy() for output in outputs), expected)
    assert address(outputs[1]) == address(x)
    assert address(outputs[0]) == address(y)


def test_a_tuple_is_donated_as_a_whole():
    built = ta.build(Nested, donate=["t"], fused=False)
    given = [tvm.runtime.tensor(X), tvm.runtime.tensor(X + 1)]
    output = built.call(tvm_ffi.convert(given))
    assert agrees(output.numpy(), np.exp(X) + X + 1)
    assert address(output) in map(address, given)
    kept = ta.build(Nested, fused=False)
    given = [tvm.runtime.tensor(X), tvm.runtime.tensor(X + 1)]
    assert address(kept.call(tvm_ffi.convert(given))) not in map(address, given)
    assert agrees(given[0].numpy(), X)


@pytest.mark.parametrize(
    ("donate", "message"),
    [
        (["v"], "donate has 'v', and that is no parameter that is passed (there are: x, y)"),
        (["x", "v"], "donate has 'v', and that is no parameter that is passed (there are: x, y)"),
    ],
)
def test_errors(donate, message):
    with pytest.raises(InputError) as caught:
        ta.build(Elementwise, donate=donate)
    assert str(caught.value) == message


def test_a_bound_parameter_cannot_be_donated():
    with pytest.raises(InputError, match="'y', and that is no parameter that is passed"):
        ta.build(Elementwise, donate=["y"], params={"y": X})
