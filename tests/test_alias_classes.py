"""Which storages the result of a function may lie in."""

import pytest
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.analysis.alias_classes import AliasClasses, leaves

Vec = R.Tensor((4,), "float32")


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add_into(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + B[i]

    @T.prim_func(private=True, s_tir=True)
    def add_into_and_copy(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")
    ):
        for i in range(4):
            A[i] = A[i] + B[i]
            C[i] = A[i]

    @R.function
    def computes(x: Vec):
        y = R.add(x, x)
        return (y, y)

    @R.function
    def two_computed(x: Vec):
        y = R.add(x, x)
        z = R.add(x, x)
        return (y, z)

    @R.function
    def parameter(x: Vec, y: Vec):
        z = y
        return (z, x)

    @R.function
    def constant(x: Vec):
        return R.const([1.0, 2.0], "float32")

    @R.function
    def reshape(x: Vec):
        y = R.reshape(x, (2, 2))
        z = R.reshape(R.add(x, x), (4, 1))
        w = R.reshape(z, (4,))
        return (y, z, w)

    @R.function
    def view(x: Vec):
        y = R.memory.view(x, R.shape([2]), "float32", 8)
        z = R.memory.ensure_zero_offset(y)
        return z

    @R.function
    def match_cast(x: R.Tensor(dtype="float32", ndim=1)):
        n = T.int64()
        y = R.match_cast(x, R.Tensor((n,), "float32"))
        return y

    @R.function
    def tuples(t: R.Tuple(Vec, R.Tuple(Vec, Vec)), x: Vec):
        inner = t[1]
        pair = (inner, x)
        first = pair[0]
        second = first[1]
        return (second, (t, R.add(x, x)))

    @R.function
    def branches(c: R.Tensor((), "bool"), x: Vec, y: Vec):
        if c:
            z = x
        else:
            z = R.add(x, y)
        return z

    @R.function
    def branches_with_tuples(c: R.Tensor((), "bool"), x: Vec, y: Vec):
        if c:
            z = (x, y)
        else:
            z = (y, R.add(x, y))
        return z

    @R.function
    def callee(t: R.Tuple(Vec, Vec), x: Vec):
        y = R.add(x, x)
        return (t[1], y, x)

    @R.function
    def calls(x: Vec, y: Vec, z: Vec):
        a = Module.callee((x, y), z)
        b = Module.callee((z, z), x)
        return (a, b)

    @R.function
    def recursive(c: R.Tensor((), "bool"), x: Vec, y: Vec) -> Vec:
        if c:
            z = R.add(x, x)
        else:
            z = Module.recursive(c, y, x)
        return z

    @R.function
    def closure(x: Vec, y: Vec, z: Vec):
        @R.function
        def inner(a: Vec) -> Vec:
            b = R.add(a, y)
            return b

        result = inner(x)
        return result

    @R.function
    def extern(x: Vec, y: Vec, z: Vec):
        t = R.call_pure_packed("any", x, y, ty_args=R.Tuple(Vec, Vec))
        return t

    @R.function
    def extern_of_a_tuple(x: Vec, y: Vec):
        pair = (x, R.add(x, x))
        z = R.call_pure_packed("any", pair, ty_args=Vec)
        return z

    @R.function(pure=False)
    def extern_in_place(x: Vec, y: Vec):
        z = R.call_inplace_packed("any", x, y, inplace_indices=[0], ty_args=Vec)
        return z

    @R.function
    def extern_into_a_buffer(x: Vec):
        y = R.call_dps_packed("any", (x,), out_ty=Vec)
        return y

    @R.function
    def in_place(x: Vec, y: Vec):
        z = R.call_tir_inplace(Module.add_into, (x, y), out_ty=Vec, inplace_indices=[0])
        return z

    @R.function
    def one_in_place_one_not(x: Vec, y: Vec):
        z = R.call_tir_inplace(
            Module.add_into_and_copy, (x, y), out_ty=[Vec, Vec], inplace_indices=[0, -1]
        )
        return z


# For each tensor of the result, what it may lie in.
EXPECTED = {
    "computes": ["fresh", "fresh"],
    "two_computed": ["fresh", "fresh"],
    "parameter": ["y", "x"],
    "constant": ["constant"],
    "reshape": ["fresh", "fresh", "fresh"],
    "view": ["fresh x"],  # ensure_zero_offset copies where it has to
    "match_cast": ["x"],
    "tuples": ["t.1.1", "t.0", "t.1.0", "t.1.1", "fresh"],
    "branches": ["fresh x"],
    "branches_with_tuples": ["x y", "fresh y"],
    "callee": ["t.1", "fresh", "x"],
    "calls": ["y", "fresh", "z", "z", "fresh", "x"],
    "recursive": ["c fresh fresh x y"],
    "closure": ["fresh x y"],
    "extern": ["fresh x y", "fresh x y"],
    "extern_of_a_tuple": ["fresh fresh x"],
    "extern_in_place": ["fresh x y"],
    "extern_into_a_buffer": ["fresh"],
    "in_place": ["x"],
    "one_in_place_one_not": ["x", "fresh"],
}


def result_of(name, elided=False):
    return leaves(AliasClasses(Module, Module[name], elided=elided).result)


def described(name, elided=False):
    """The roots of each tensor of a function's result; a parameter by name, a field by a dot."""
    params = Module[name].params

    def word(root):
        if root.kind != "param":
            return root.kind
        param, *fields = root.site
        return ".".join([params[param].name, *map(str, fields)])

    return [" ".join(sorted(map(word, leaf))) for leaf in result_of(name, elided)]


@pytest.mark.parametrize("name", EXPECTED)
def test_roots_of_the_result(name):
    assert described(name) == EXPECTED[name]


def test_a_reshape_is_a_view_once_it_is_elided():
    assert described("reshape", elided=True) == ["x", "fresh", "fresh"]


# Pairs of outputs that may share storage.
SHARED = {
    "computes": [(0, 1)],
    "two_computed": [],
    "parameter": [],
    "reshape": [],
    "tuples": [(0, 3)],
    "branches_with_tuples": [(0, 1)],
    "calls": [(2, 3)],  # the fresh results of two calls are two storages
    "extern": [(0, 1)],
    "one_in_place_one_not": [],
}


def pairs(name, elided=False):
    outputs = result_of(name, elided)
    return [
        (i, j)
        for i, one in enumerate(outputs)
        for j in range(i + 1, len(outputs))
        if one.keys() & outputs[j].keys()
    ]


@pytest.mark.parametrize("name", SHARED)
def test_outputs_that_share(name):
    assert pairs(name) == SHARED[name]


def test_elided_reshapes_share():
    assert pairs("reshape", elided=True) == [(1, 2)]
