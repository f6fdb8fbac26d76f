"""Which storages the result of a function may lie in, and where in them it begins."""

import re

import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.analysis.alias_classes import (
    AliasClasses,
    Memory,
    may_write_in_place,
    memory_of_type,
)
from tvm_aliasing.analysis.places import leaves

Vec = R.Tensor((4,), "float32")
Half = R.Tensor((2,), "float32")
Bool = R.Tensor((), "bool")


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
    def view_without_offset(x: Vec):
        y = R.memory.view(x, R.shape([2, 2]))
        return y

    @R.function
    def view_of_a_view(x: Vec):
        y = R.memory.view(x, R.shape([3]), "float32", 4)
        z = R.memory.view(y, R.shape([1]), "float32", 8)
        return z

    @R.function
    def views_at_symbols(x: R.Tensor(("n", 4), "float32"), at: R.Prim("int64")):
        n = T.int64()
        y = R.memory.view(x, R.shape([2]), "float32", n * 4)
        z = R.memory.view(y, R.shape([1]), "float32", 4)
        w = R.memory.view(z, R.shape([1]), "float32", at)
        return (y, z, w)

    @R.function
    def view_of_somewhere(x: Vec):
        y = R.call_pure_packed("any", x, ty_args=Vec)
        z = R.memory.view(y, R.shape([2]), "float32", 8)
        return z

    @R.function
    def reshape_of_a_view(x: Vec):
        y = R.memory.view(x, R.shape([2]), "float32", 8)
        z = R.reshape(y, (2, 1))
        return z

    @R.function
    def match_cast(x: R.Tensor(dtype="float32", ndim=1)):
        n = T.int64()
        y = R.memory.view(x, R.shape([2]), "float32", 8)
        z = R.match_cast(x, R.Tensor((n,), "float32"))
        w = R.match_cast(y, R.Tensor((n,), "float32"))
        return (z, w)

    @R.function
    def cast_to_a_tuple(o: R.Any):
        t = R.match_cast(o, R.Tuple(Vec, R.Tuple(Vec, Vec)))
        return t

    @R.function
    def cast_within_a_tuple(x: Vec, o: R.Any):
        pair = (x, o)
        t = R.match_cast(pair, R.Tuple(Vec, R.Tuple(Vec, Vec)))
        inner = t[1]
        first = inner[0]
        return (t, first)

    @R.function
    def cast_there_and_back(x: Vec, y: Vec):
        pair = (x, y)
        o = R.match_cast(pair, R.Any)
        t = R.match_cast(o, R.Tuple(Vec, Vec))
        return (o, t)

    @R.function
    def tuples(t: R.Tuple(Vec, R.Tuple(Vec, Vec)), x: Vec):
        inner = t[1]
        pair = (inner, x)
        first = pair[0]
        second = first[1]
        return (second, (t, R.add(x, x)))

    @R.function
    def branches(c: Bool, x: Vec, y: Vec):
        if c:
            z = x
        else:
            z = R.add(x, y)
        return z

    @R.function
    def branches_with_tuples(c: Bool, x: Vec, y: Vec):
        if c:
            z = (x, y)
        else:
            z = (y, R.add(x, y))
        return z

    @R.function
    def branches_within_branches(c: Bool, d: Bool, x: Vec, y: Vec, z: Vec):
        if c:
            if d:
                v = x
            else:
                v = y
            w = v
        else:
            w = z
        return w

    @R.function
    def branches_at_one_place(c: Bool, x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        if c:
            y = R.memory.view(x, R.shape([2]), "float32", n * 4 + 8)
        else:
            y = R.memory.view(x, R.shape([2]), "float32", 8 + 4 * n)
        return y

    @R.function
    def branches_at_two_places(c: Bool, x: Vec):
        if c:
            y = R.memory.view(x, R.shape([2]), "float32", 8)
        else:
            y = R.memory.view(x, R.shape([2]), "float32", 0)
        z = R.memory.view(y, R.shape([1]), "float32", 4)
        return z

    @R.function
    def branches_at_two_symbols(c: Bool, x: R.Tensor(("n", "m"), "float32")):
        n, m = T.int64(), T.int64()
        if c:
            y = R.memory.view(x, R.shape([1]), "float32", n)
        else:
            y = R.memory.view(x, R.shape([1]), "float32", m)
        return y

    @R.function
    def branch_with_a_tuple_of_a_parameter(c: Bool, t: R.Tuple(Vec, Vec), x: Vec):
        if c:
            z = t
        else:
            z = (x, x)
        return z

    @R.function
    def branches_of_two_lengths(c: Bool, x: Vec, y: Vec):
        if c:
            z = (x, y)
        else:
            z = (x,)
        t = R.match_cast(z, R.Tuple(Vec, Vec))
        return t

    @R.function
    def branch_of_any(c: Bool, x: Vec, o: R.Any):
        if c:
            z = (x, x)
        else:
            z = o
        t = R.match_cast(z, R.Tuple(Vec, Vec))
        return t

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
    def tail(x: Vec, y: Vec) -> R.Tuple(Half, R.Tuple(Half, Vec)):
        z = R.memory.view(x, R.shape([2]), "float32", 8)
        w = R.memory.view(y, R.shape([2]), "float32", 4)
        return (z, (w, y))

    @R.function
    def calls_for_views(x: R.Tensor((8,), "float32"), y: Vec):
        a = R.memory.view(x, R.shape([4]), "float32", 16)
        t = Module.tail(a, y)
        return t

    @R.function
    def symbolic_tail(x: R.Tensor(("n", 4), "float32")) -> Vec:
        n = T.int64()
        y = R.memory.view(x, R.shape([4]), "float32", n * 4)
        return y

    @R.function
    def calls_for_a_symbol(x: R.Tensor((3, 4), "float32")):
        y = Module.symbolic_tail(x)
        return y

    @R.function
    def computed_ranges(x: Vec):
        y = R.add(x, x)
        z = R.memory.view(y, R.shape([2]), "float32", 8)
        return (z, y)

    @R.function
    def calls_for_computed_ranges(x: Vec):
        y = Module.computed_ranges(x)
        z = R.memory.view(y[0], R.shape([1]), "float32", 4)
        return (y, z)

    @R.function
    def either(c: Bool, x: Vec, y: Vec) -> Vec:
        if c:
            z = x
        else:
            z = y
        return z

    @R.function
    def calls_with_one_twice(c: Bool, x: R.Tensor((8,), "float32")):
        y = R.memory.view(x, R.shape([4]), "float32", 0)
        z = R.memory.view(x, R.shape([4]), "float32", 16)
        a = Module.either(c, y, y)
        b = Module.either(c, y, z)
        return (a, b)

    @R.function
    def fresh_or_constant(c: Bool, x: Vec) -> Vec:
        if c:
            z = R.add(x, x)
        else:
            z = R.const([1.0, 2.0, 3.0, 4.0], "float32")
        return z

    @R.function
    def calls_a_caller(c: Bool, x: Vec):
        y = Module.fresh_or_constant(c, x)
        z = Module.either(c, x, y)
        return z

    @R.function
    def calls_two_in_turn(c: Bool, x: Vec, y: Vec):
        a = Module.either(c, x, y)
        b = Module.fresh_or_constant(c, x)
        d = Module.either(c, x, x)
        return (a, b, d)

    @R.function
    def calls_for_a_reshape(x: Vec):
        t = Module.reshape(x)
        return t

    @R.function
    def any_of(o: R.Any) -> R.Any:
        return o

    @R.function
    def second_of_any(o: R.Any) -> R.Tuple(Vec, Vec):
        t = R.match_cast(o, R.Tuple(Vec, Vec))
        return t

    @R.function
    def shows_a_tuple(o: R.Any) -> R.Tuple(Vec, Vec):
        return o

    @R.function
    def hides_a_tuple(t: R.Tuple(Vec, Vec)) -> R.Any:
        return t

    @R.function
    def calls_with_any(x: Vec, y: Vec):
        pair = (x, y)
        a = Module.any_of(pair)
        b = Module.second_of_any(pair)
        o = Module.hides_a_tuple(pair)
        t = R.match_cast(o, R.Tuple(Vec, Vec))
        return (a, b, t)

    @R.function
    def calls_with_a_size(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        y = R.call_pure_packed("any", x, n, ty_args=Vec)
        pair = (y, n)
        return pair[0]

    @R.function
    def recursive(c: Bool, x: Vec, y: Vec) -> Vec:
        if c:
            z = R.add(x, x)
        else:
            z = Module.recursive(c, y, x)
        return z

    @R.function
    def calls_its_caller(x: Vec, y: Vec) -> Vec:
        t = Module.is_called_back(x, y)
        return t[0]

    @R.function
    def is_called_back(x: Vec, y: Vec) -> R.Tuple(Vec, Vec):
        z = Module.calls_its_caller(x, y)
        return (x, z)

    @R.function
    def closure(x: Vec, y: Vec, z: Vec):
        @R.function
        def inner(a: Vec) -> Vec:
            b = R.add(a, y)
            return b

        result = inner(x)
        return result

    @R.function
    def closure_of_a_tuple(c: Bool, t: R.Tuple(Vec, Vec), x: Vec, y: Vec):
        @R.function
        def inner(a: Vec) -> Vec:
            second = t[1]
            b = R.add(a, second)
            return b

        if c:
            z = inner(x)
        else:
            z = x
        return z

    @R.function
    def closure_given(f: R.Callable((Vec,), Vec), x: Vec, y: Vec):
        z = f(x)
        return z

    @R.function
    def closure_made(x: Vec, y: Vec, z: Vec):
        f = R.make_closure(Module.either, (x,))
        w = R.invoke_pure_closure(f, (y,), ty_args=Vec)
        return w

    @R.function(pure=False)
    def closure_invoked(f: R.Any, x: Vec, y: Vec):
        z = R.invoke_closure(f, (x,), ty_args=Vec)
        return z

    @R.function
    def function_as_a_value(c: Bool, x: Vec, y: Vec):
        f = Module.either
        z = f(c, x, x)
        return z

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

    @R.function(pure=False)
    def extern_called_directly(x: Vec, y: Vec):
        z = R.call_packed("any", x, ty_args=Vec)
        return z

    @R.function(pure=False)
    def extern_with_context(x: Vec, y: Vec):
        z = R.call_builtin_with_ctx("any", (x,), ty_args=Vec)
        return z

    @R.function
    def python_function(x: Vec, y: Vec):
        z = R.call_py_func(R.str("any"), (x,), out_ty=Vec)
        return z

    @R.function
    def extern_of_a_number():
        x = R.call_pure_packed("any", 3, R.str("word"), ty_args=Vec)
        return x

    @R.function
    def extern_of_any(x: Vec, y: Vec):
        o = R.call_pure_packed("any", x, ty_args=R.Any)
        t = R.match_cast(o, R.Tuple(Vec, Vec))
        return t

    @R.function
    def declared(x: Vec, y: Vec, t: R.Tuple(Vec, Vec)):
        R.func_attr(
            {
                "ta.extern_alias": {
                    "fresh": "fresh",
                    "first": "arg0",
                    "second": "arg1",
                    "tenth": "arg9",
                    "may": "may",
                }
            }
        )
        a = R.call_pure_packed("fresh", x, y, ty_args=R.Tuple(Vec, Vec))
        b = R.call_pure_packed("first", x, y, ty_args=Vec)
        c = R.call_pure_packed("second", x, t, ty_args=R.Tuple(Vec, Vec))
        d = R.call_pure_packed("tenth", x, y, ty_args=Vec)
        e = R.call_pure_packed("may", x, ty_args=Vec)
        f = R.call_pure_packed("another", x, ty_args=Vec)
        return (a, b, c, d, e, f)

    @R.function(pure=False)
    def declared_and_called_directly(x: Vec, y: Vec):
        R.func_attr({"ta.extern_alias": {"fresh": "fresh", "second": "arg1"}})
        a = R.call_packed("fresh", x, y, ty_args=Vec)
        b = R.call_packed("second", x, y, ty_args=Vec)
        return (a, b)

    @R.function
    def declares_for_itself(x: Vec, y: Vec) -> Vec:
        R.func_attr({"ta.extern_alias": {"any": "arg1"}})
        z = R.call_pure_packed("any", x, y, ty_args=Vec)
        return z

    @R.function
    def calls_one_that_declares(x: Vec, y: Vec):
        a = Module.declares_for_itself(x, y)
        b = R.call_pure_packed("any", x, y, ty_args=Vec)
        return (a, b)

    @R.function
    def extern_into_a_buffer(x: Vec):
        y = R.call_dps_packed("any", (x,), out_ty=Vec)
        return y

    @R.function
    def in_place(x: Vec, y: Vec):
        z = R.call_tir_inplace(Module.add_into, (x, y), out_ty=Vec, inplace_indices=[0])
        return z

    @R.function
    def in_place_in_a_branch(c: Bool, x: Vec, y: Vec):
        if c:
            z = R.call_tir_inplace(Module.add_into, (x, y), out_ty=Vec, inplace_indices=[0])
        else:
            z = y
        return z

    @R.function
    def in_place_of_a_view(x: R.Tensor((8,), "float32"), y: Vec):
        z = R.memory.view(x, R.shape([4]), "float32", 16)
        w = R.call_tir_inplace(Module.add_into, (y, z), out_ty=Vec, inplace_indices=[1])
        return w

    @R.function
    def one_in_place_one_not(x: Vec, y: Vec):
        z = R.call_tir_inplace(
            Module.add_into_and_copy, (x, y), out_ty=[Vec, Vec], inplace_indices=[0, -1]
        )
        return z


# For each tensor of the result, what it may lie in and, unless that is 0, the byte where it begins:
# a question mark where that is not known.
EXPECTED = {
    "computes": ["fresh", "fresh"],
    "two_computed": ["fresh", "fresh"],
    "parameter": ["y", "x"],
    "constant": ["constant"],
    "reshape": ["fresh", "fresh", "fresh"],
    "view": ["fresh x+8"],  # ensure_zero_offset copies where it has to
    "view_without_offset": ["x"],
    "view_of_a_view": ["x+12"],
    "views_at_symbols": ["x+n * 4", "x+n * 4 + 4", "x+n * 4 + 4 + at"],
    "view_of_somewhere": ["fresh+8 x+?"],
    "reshape_of_a_view": ["fresh"],
    "match_cast": ["x", "x+8"],
    "cast_to_a_tuple": ["o+?", "o+?", "o+?"],
    "cast_within_a_tuple": ["x", "o+?", "o+?", "o+?"],
    "cast_there_and_back": ["x+? y+?", "x+? y+?", "x+? y+?"],
    "tuples": ["t.1.1", "t.0", "t.1.0", "t.1.1", "fresh"],
    "branches": ["fresh x"],
    "branches_with_tuples": ["x y", "fresh y"],
    "branches_within_branches": ["x y z"],
    "branches_at_one_place": ["x+n * 4 + 8"],
    "branches_at_two_places": ["x+?"],
    "branches_at_two_symbols": ["x+?"],
    "branch_with_a_tuple_of_a_parameter": ["t.0 x", "t.1 x"],
    "branches_of_two_lengths": ["x+? y+?", "x+? y+?"],
    "branch_of_any": ["o+? x+?", "o+? x+?"],
    "callee": ["t.1", "fresh", "x"],
    "calls": ["y", "fresh", "z", "z", "fresh", "x"],
    "calls_for_views": ["x+24", "y+4", "y"],
    "calls_for_a_symbol": ["x+?"],  # the callee's symbols mean nothing to its caller
    "computed_ranges": ["fresh+8", "fresh"],
    "calls_for_computed_ranges": ["fresh+8", "fresh", "fresh+12"],
    "calls_with_one_twice": ["x", "x+?"],
    "calls_a_caller": ["constant fresh x"],
    "calls_two_in_turn": ["x y", "constant fresh", "x"],
    "calls_for_a_reshape": ["fresh", "fresh", "fresh"],
    "shows_a_tuple": ["o+?", "o+?"],
    "calls_with_any": ["x+? y+?", "x+? y+?", "x+? y+?", "x", "y"],
    "calls_with_a_size": ["fresh x+?"],
    "recursive": ["c+? fresh fresh x+? y+?"],
    "calls_its_caller": ["x"],
    "closure": ["fresh x+? y+?"],
    "closure_of_a_tuple": ["fresh t.0+? t.1+? x+?"],
    "closure_given": ["f+? fresh x+?"],
    "closure_made": ["fresh fresh+? x+? y+?"],
    "closure_invoked": ["f+? fresh x+?"],
    "function_as_a_value": ["c+? fresh x+?"],
    "extern": ["fresh x+? y+?", "fresh x+? y+?"],
    "extern_of_a_tuple": ["fresh fresh+? x+?"],
    "extern_in_place": ["fresh x+? y+?"],
    "extern_called_directly": ["fresh x+?"],
    "extern_with_context": ["fresh x+?"],
    "python_function": ["fresh x+?"],
    "extern_of_a_number": ["fresh"],
    "extern_of_any": ["fresh+? x+?", "fresh+? x+?"],
    "declared": [
        *("fresh", "fresh"),
        "x+?",
        *("t.0+? t.1+?", "t.0+? t.1+?"),
        "fresh x+? y+?",  # it has no tenth argument
        "fresh x+?",
        "fresh x+?",
    ],
    "declared_and_called_directly": ["fresh", "y+?"],
    "calls_one_that_declares": ["y+?", "fresh x+? y+?"],
    "extern_into_a_buffer": ["fresh"],
    "in_place": ["x"],
    "in_place_in_a_branch": ["x y"],
    "in_place_of_a_view": ["x+16"],
    "one_in_place_one_not": ["x", "fresh"],
}


def result_of(name, **options):
    return leaves(AliasClasses(Module, Module[name], **{"elided": False, **options}).result)


def described(name, **options):
    """The roots of each tensor of a function's result; a parameter by name, a field by a dot."""
    params = Module[name].params

    def word(root, begin):
        found = root.kind
        if root.kind == "param":
            param, *fields = root.site
            found = ".".join([params[param].name, *map(str, fields)])
        if begin is None:
            return f"{found}+?"
        begin = re.sub(r"T.int64\((\d+)\)", r"\1", str(begin))
        return found if begin == "0" else f"{found}+{begin}"

    return [
        " ".join(sorted(word(*place) for place in leaf.items()))
        for leaf in result_of(name, **options)
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_places_of_the_result(name):
    assert described(name) == EXPECTED[name]


ELIDED = {
    "reshape": ["x", "fresh", "fresh"],
    "reshape_of_a_view": ["x+8"],
    "calls_for_a_reshape": ["x", "fresh", "fresh"],
    "view": ["fresh x+8"],
}


@pytest.mark.parametrize("name", ELIDED)
def test_a_reshape_is_a_view_once_it_is_elided(name):
    assert described(name, elided=True) == ELIDED[name]


# Only what both branches give.
ON_EVERY_PATH = {
    "branches": [""],
    "branches_with_tuples": ["", ""],
    "branches_within_branches": [""],
    "branches_at_one_place": ["x+n * 4 + 8"],
    "branches_at_two_places": ["x+?"],
    "branch_with_a_tuple_of_a_parameter": ["", ""],
    "branches_of_two_lengths": ["x+?", "x+?"],
    "branch_of_any": ["", ""],
    "calls_with_one_twice": ["", ""],  # of `either` nothing is sure
    "parameter": ["y", "x"],
}


@pytest.mark.parametrize("name", ON_EVERY_PATH)
def test_places_on_every_path(name):
    assert described(name, on_every_path=True) == ON_EVERY_PATH[name]


# Pairs of outputs that may share storage.
SHARED = {
    "computes": [(0, 1)],
    "two_computed": [],
    "parameter": [],
    "reshape": [],
    "tuples": [(0, 3)],
    "views_at_symbols": [(0, 1), (0, 2), (1, 2)],
    "branches_with_tuples": [(0, 1)],
    "calls": [(2, 3)],  # the fresh results of two calls are two storages
    "calls_for_views": [(1, 2)],
    "extern": [(0, 1)],
    "declared": [(2, 5), (2, 6), (2, 7), (3, 4), (5, 6), (5, 7), (6, 7)],
    "declared_and_called_directly": [],
    "one_in_place_one_not": [],
}


def pairs(name, **options):
    outputs = result_of(name, **options)
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


def test_a_function_that_only_the_module_names_as_extern():
    """What a global variable stands for may be a packed function too."""
    builder = relax.BlockBuilder()
    vec = relax.TensorType((4,), "float32")
    packed = relax.ExternFunc("any", relax.FuncType([vec], vec))
    x = relax.Var("x", vec)
    with builder.function("main", [x]):
        y = builder.emit(relax.Call(builder.add_func(packed, "packed"), [x]))
        builder.emit_func_output(y)
    mod = builder.get()
    (leaf,) = leaves(AliasClasses(mod, mod["main"], elided=False).result)
    assert sorted(root.kind for root in leaf) == ["fresh", "param"]


# Where roots lie

TwoDevices = [I.vdevice("llvm"), I.vdevice("llvm", 1), I.vdevice("llvm", 1, "global.texture")]


@I.ir_module
class Devices:
    I.module_global_infos({"vdevice": TwoDevices})

    @T.prim_func(private=True, s_tir=True)
    def twice(
        A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((2,), "int8")
    ):
        for i in range(4):
            B[i] = A[i] + A[i]

    @T.prim_func(private=True, s_tir=True)
    def twice_in_place(A: T.Buffer((4,), "float32"), B: T.Buffer((2,), "int8")):
        for i in range(4):
            A[i] = A[i] + A[i]

    @R.function
    def computed(x: R.Tensor((4,), "float32", "llvm:1")):
        y = R.add(x, x)
        return y

    @R.function
    def tuple_computed(x: Vec):
        y = R.call_tir(
            Devices.twice,
            (x,),
            out_ty=[R.Tensor((4,), "float32", "llvm:2"), R.Tensor((2,), "int8", "llvm:1")],
        )
        return y

    @R.function
    def one_in_place_one_not(x: Vec):
        y = R.call_tir_inplace(
            Devices.twice_in_place,
            (x,),
            out_ty=[Vec, R.Tensor((2,), "int8", "llvm:1")],
            inplace_indices=[0, -1],
        )
        return y

    @R.function
    def allocated():
        y = R.builtin.alloc_tensor(R.shape([4]), "float32", 1, "global.texture")
        return y

    @R.function
    def several(x: Vec) -> R.Tuple(R.Tensor((4,), "float32", "llvm:1"), Half):
        a = R.add(x, x)
        b = R.strided_slice(a, [0], [0], [2])
        c = R.to_vdevice(a, "llvm:1")
        return (c, b)

    @R.function
    def called(x: Vec):
        y = Devices.several(x)
        return y

    @R.function
    def called_to_allocate():
        y = Devices.allocated()
        return y

    @R.function
    def called_in_branches(c: Bool, x: Vec):
        if c:
            y = Devices.called(x)
        else:
            z = Devices.several(x)
            y = z
        return y


# For each fresh root of the result: its memory, and the type that it was made as.
MADE = {
    "computed": [(1, "global", "(4,) float32")],
    "tuple_computed": [(2, "global.texture", "(4,) float32"), (1, "global", "(2,) int8")],
    "one_in_place_one_not": [(1, "global", "(2,) int8")],
    "allocated": [(1, "global.texture", "(4,) float32")],
    "called_to_allocate": [(1, "global.texture", "(4,) float32")],
    "called": [(1, "global", "(4,) float32"), (0, "global", "(2,) float32")],
    "called_in_branches": [
        *[(1, "global", "(4,) float32")] * 2,
        *[(0, "global", "(2,) float32")] * 2,
    ],
}


@pytest.mark.parametrize("name", MADE)
def test_what_a_root_was_made_as(name):
    classes = AliasClasses(Devices, Devices[name], elided=False)
    found = []
    for leaf in leaves(classes.result):
        for root in leaf:
            if root.kind == "fresh":
                memory, ty = classes.memory_of(root), classes.type_of(root)
                shape = tuple(map(int, ty.shape.values))
                found.append((memory.device, memory.scope, f"{shape} {ty.dtype}"))
    assert found == MADE[name]


def test_memory_of_a_type():
    on_texture = Devices["tuple_computed"].ret_ty.fields[0]
    assert memory_of_type(Devices, on_texture) == Memory(2, "global.texture")
    assert memory_of_type(Devices, Module["parameter"].params[0].ty) == Memory(0, "global")
    assert memory_of_type(Devices, relax.TupleType([on_texture])) == Memory(0, "global")
    # A device that the module does not list is taken for its first.
    assert memory_of_type(Module, on_texture) == Memory(0, "global.texture")


# Who may write over its arguments


@pytest.mark.parametrize("name", ["in_place", "in_place_in_a_branch", "extern_in_place"])
def test_what_writes_in_place(name):
    function = Module[name]
    pure = relax.Function(function.params, function.body, function.ret_ty)
    assert may_write_in_place(tvm.IRModule({"main": pure}))


def test_what_does_not_write_in_place():
    names = ["computes", "branches", "extern", "add_into"]
    assert not may_write_in_place(tvm.IRModule({name: Module[name] for name in names}))


def test_an_impure_function_may_write_in_place():
    assert may_write_in_place(tvm.IRModule({"main": Module["extern_called_directly"]}))
    forced = Module["computes"].with_attr("relax.force_pure", 1)
    assert may_write_in_place(tvm.IRModule({"main": forced}))
