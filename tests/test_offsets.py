"""Which tensors may begin inside a storage, who meets them, and who cannot take them."""

# ruff: noqa: F841 - what a call of a kernel is bound to nobody reads

import pytest
import tvm
from tvm import relax, tirx
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.analysis.alias_classes import AliasClasses, Root
from tvm_aliasing.analysis.bindings import bindings_of
from tvm_aliasing.analysis.offsets import (
    ALIGNMENT,
    begins_inside,
    demands_zero_offset,
    kernel_offsets,
    multiple_of,
    read_from_first_byte,
)
from tvm_aliasing.passes.plan_storage import PlanArena, PlanTokens

Vec = R.Tensor((4,), "float32")
Long = R.Tensor((64,), "float32")
Bool = R.Tensor((), "bool")


@I.ir_module
class Source:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @T.prim_func(private=True, s_tir=True)
    def add_into(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + B[i]

    @R.function
    def kernels(x: Vec, y: Long):
        a = R.call_tir(Source.twice, (x,), out_ty=Vec)
        b = R.memory.view(y, R.shape([4]), "float32", 64)
        c = R.call_tir(Source.twice, (b,), out_ty=Vec)
        d = R.call_tir_inplace(Source.add_into, (c, a), out_ty=Vec, inplace_indices=[0])
        e = R.reshape(d, (2, 2))
        return (x, e)

    @R.function
    def renamings(x: Vec, y: Vec, t: R.Tuple(Vec, Vec)):
        n = T.int64()
        a = x
        b = (a, y)
        c = b[0]
        d = t[1]
        e = R.match_cast(c, R.Tensor((n,), "float32"))
        f = R.const([1.0, 2.0, 3.0, 4.0], "float32")
        return (e, d, f)

    @R.function(pure=False)
    def planned(x: Vec, y: Vec):
        a = Source.twice(x, y)
        return y

    @R.function
    def extern(x: Vec, y: Vec, z: Vec):
        a = R.call_tir(Source.twice, (y,), out_ty=Vec)
        b = R.call_pure_packed("any", a, z, ty_args=Vec)
        return x

    @R.function
    def extern_of_a_view(x: Long, y: Long):
        a = R.memory.view(x, R.shape([32]), "float32", 128)
        b = R.memory.view(a, R.shape([4]), "float32", 64)
        c = R.call_pure_packed("any", b, ty_args=Vec)
        return (c, y)

    @R.function
    def extern_of_a_tuple(t: R.Tuple(Vec, R.Tuple(Vec, Vec)), x: Vec):
        a = t[1]
        b = R.call_pure_packed("any", a, ty_args=Vec)
        c = (x, b)
        return c

    @R.function
    def extern_into_a_buffer(x: Vec, y: Vec):
        a = R.call_dps_packed("any", (x,), out_ty=Vec)
        return (a, y)

    @R.function(pure=False)
    def extern_called_directly(x: Vec, y: Vec):
        a = R.call_packed("any", x, ty_args=Vec)
        return (a, y)

    @R.function
    def zero_offset_ensured(x: Vec):
        a = R.memory.ensure_zero_offset(x)
        return a

    @R.function
    def condition(c: Bool, x: Vec, y: Vec):
        if c:
            z = R.call_pure_packed("any", x, ty_args=Vec)
        else:
            z = R.call_tir(Source.twice, (y,), out_ty=Vec)
        return z

    @R.function
    def closure(x: Vec, y: Vec, z: Vec):
        @R.function
        def inner(a: Vec) -> Vec:
            return y

        b = inner(x)
        return (b, z)

    @R.function
    def demands_second(x: Vec, y: Vec) -> Vec:
        a = R.call_tir(Source.twice, (x,), out_ty=Vec)
        b = R.call_pure_packed("any", y, ty_args=Vec)
        return a

    @R.function
    def demands_of_a_tuple(t: R.Tuple(Vec, Vec)) -> Vec:
        a = Source.demands_second(t[0], t[1])
        return a

    @R.function
    def demands_a_reshape(x: Vec) -> Vec:
        a = R.reshape(x, (2, 2))
        b = R.call_pure_packed("any", a, ty_args=Vec)
        return x

    @R.function
    def demands_its_own(x: Vec) -> Vec:
        a = R.call_tir(Source.twice, (x,), out_ty=Vec)
        b = R.call_pure_packed("any", a, ty_args=Vec)
        return x

    @R.function
    def calls(x: Vec, y: Vec):
        a = R.call_tir(Source.twice, (x,), out_ty=Vec)
        b = Source.demands_second(x, a)
        return (b, y)

    @R.function
    def calls_a_caller(x: Vec, y: Vec, z: Vec):
        t = (x, y)
        a = Source.demands_of_a_tuple(t)
        return (a, z)

    @R.function
    def calls_what_demands_nothing(x: Vec, y: Long):
        a = Source.kernels(x, y)
        return a

    @R.function
    def calls_for_a_reshape(x: Vec, y: Vec):
        a = Source.demands_a_reshape(x)
        return (a, y)

    @R.function
    def calls_what_demands_its_own(x: Vec):
        a = Source.demands_its_own(x)
        return a

    @R.function
    def calls_its_caller(x: Vec) -> Vec:
        a = Source.is_called_back(x)
        return a

    @R.function
    def is_called_back(x: Vec) -> Vec:
        a = Source.calls_its_caller(x)
        return a

    @R.function
    def recursive(c: Bool, x: Vec, y: Vec) -> Vec:
        if c:
            z = Source.recursive(c, y, y)
        else:
            z = R.call_tir(Source.twice, (x,), out_ty=Vec)
        return z


def name_of(function, classes, root):
    """The parameter that a root is of, a field by a dot, or the variable that it is made for."""
    if root.kind == "param":
        param, *fields = root.site
        return ".".join([function.params[param].name, *map(str, fields)])
    return classes.binding_of[root].var.name


# What has to begin its storage, since something reads it from the first byte of that.
DEMANDS = {
    "kernels": [],
    "renamings": [],
    "planned": [],
    "extern": ["a", "z"],
    "extern_of_a_view": ["x"],
    "extern_of_a_tuple": ["t.1.0", "t.1.1"],
    "extern_into_a_buffer": ["x"],
    "extern_called_directly": ["x"],
    "zero_offset_ensured": ["x"],
    "condition": ["c", "x"],
    "closure": ["x", "y"],
    "demands_second": ["y"],
    "demands_of_a_tuple": ["t.1"],
    "calls": ["a"],
    "calls_a_caller": ["x", "y"],  # a tuple is given whole
    "calls_what_demands_nothing": [],
    "calls_for_a_reshape": ["x"],
    "demands_its_own": ["a"],
    "calls_what_demands_its_own": [],
    "calls_its_caller": ["x"],
    "recursive": ["c", "y"],  # of what it is given again nothing is known
}


@pytest.mark.parametrize("name", DEMANDS)
def test_what_must_begin_its_storage(name):
    function = Source[name]
    classes = AliasClasses(Source, function, elided=True)
    found = demands_zero_offset(Source, function, classes)
    assert sorted({name_of(function, classes, root) for root in found}) == DEMANDS[name]


# For each binding that reads from the first byte of something, of what.
READ = {
    "kernels": {},
    "renamings": {},
    "planned": {},
    "extern": {"b": ["a", "z"]},
    "extern_of_a_view": {"c": ["b"]},
    "extern_of_a_tuple": {"b": ["a"]},
    "condition": {"z": ["c"], "z_then": ["x"]},
    "calls": {"b": ["a"]},
    "calls_a_caller": {"a": ["t"]},
    "recursive": {"z": ["c"], "z_then": ["c", "y"]},
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_from_its_first_byte(name):
    read = {
        binding.var.name: [var.name for var in read_from_first_byte(Source, binding.value)]
        for binding in bindings_of(Source[name].body)
    }
    assert {var: names for var, names in read.items() if names} == READ[name]


def test_a_size_is_not_read_from_its_first_byte():
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n,), "float32"))
    call = relax.op.call_pure_packed("any", x, n, ty_args=x.ty)
    assert [var.name for var in read_from_first_byte(Source, call)] == ["x"]


N = tirx.Var("n", "int64")
ROOT, OTHER = Root("fresh", (0,)), Root("param", (0,))


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ({}, False),
        ({ROOT: 0}, False),
        ({ROOT: 8}, True),
        ({ROOT: None}, True),
        ({ROOT: N * 4}, True),
        ({ROOT: 0, OTHER: 8}, True),
        ([{ROOT: 0}, [{OTHER: 0}, {}]], False),
        ([{ROOT: 0}, [{OTHER: 0}, {OTHER: 4}]], True),
    ],
)
def test_begins_inside(places, expected):
    assert begins_inside(places) is expected


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (0, 0),
        (4, 4),
        (64, 64),
        (96, 32),
        (128, 64),
        (6, 2),
        (7, 1),
        (N, 1),
        (N * 16, 16),
        (N * 16 + 8, 8),
        (N * 128, 64),
        (N * 128 + 64, 64),
        (tirx.const(0, "int64"), 0),
        (tirx.const(24, "int64"), 8),
    ],
    ids=str,
)
def test_multiple_of(begin, expected):
    assert multiple_of(begin) == expected


# Which kernels meet which offsets


@I.ir_module
class Planned:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @T.prim_func(private=True, s_tir=True)
    def thrice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i] + A[i]

    @R.function(pure=False)
    def no_offsets(x: Vec, y: Long):
        a = Planned.twice(x, R.memory.view(y, R.shape([4]), "float32", 0))
        b = Planned.twice(R.const([1.0, 2.0, 3.0, 4.0], "float32"), x)
        return x

    @R.function(pure=False)
    def allocated(x: Vec):
        s = R.memory.alloc_storage(R.shape([256]), 0, "global", "uint8")
        a = R.memory.alloc_tensor(s, 64, R.shape([4]), "float32")
        b = R.memory.alloc_tensor(s, 96, R.shape([4]), "float32")
        c = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")
        d = Planned.twice(x, a)
        e = Planned.thrice(a, b)
        f = Planned.twice(b, c)
        return x

    @R.function(pure=False)
    def viewed(x: Long, y: Vec):
        a = R.memory.view(x, R.shape([32]), "float32", 128)
        b = R.memory.view(a, R.shape([4]), "float32", 16)
        c = R.memory.view(x, R.shape([4]), "float32", 192)
        d = Planned.twice(c, y)
        e = Planned.twice(y, b)
        return y

    @R.function(pure=False)
    def viewed_within_a_storage(y: Vec):
        s = R.memory.alloc_storage(R.shape([1024]), 0, "global", "uint8")
        a = R.memory.alloc_tensor(s, 32, R.shape([64]), "float32")
        b = R.memory.alloc_tensor(s, 128, R.shape([64]), "float32")
        c = R.memory.view(a, R.shape([4]), "float32", 64)
        d = R.memory.view(b, R.shape([4]), "float32", 16)
        e = Planned.twice(c, y)
        f = Planned.thrice(d, y)
        return y

    @R.function(pure=False)
    def two_alignments(x: Long, y: Vec):
        a = R.memory.view(x, R.shape([4]), "float32", 32)
        b = R.memory.view(x, R.shape([4]), "float32", 48)
        c = Planned.twice(a, y)
        d = Planned.twice(y, y)
        e = Planned.twice(b, y)
        return y

    @R.function(pure=False)
    def at_a_symbol(x: R.Tensor(("n", 64), "float32"), y: Vec):
        n = T.int64()
        a = R.memory.view(x, R.shape([4]), "float32", n * 16)
        b = Planned.twice(a, y)
        return y

    @R.function(pure=False)
    def reshaped(x: Long, y: Vec):
        a = R.memory.view(x, R.shape([2, 2]), "float32", 32)
        b = R.reshape(a, (4,))
        c = Planned.twice(b, y)
        return y

    @R.function(pure=False)
    def somewhere(x: Vec, y: Vec):
        a = R.call_packed("any", x, ty_args=Vec)
        b = Planned.twice(a, y)
        return y

    @R.function(pure=False)
    def in_branches(c: Bool, x: Long, y: Vec):
        if c:
            a = R.memory.view(x, R.shape([4]), "float32", 32)
            b = Planned.thrice(a, y)
            z = a
        else:
            z = R.memory.view(x, R.shape([4]), "float32", 64)
        d = Planned.twice(z, y)
        return y

    @R.function(pure=False)
    def called(x: Vec, y: Vec) -> Vec:
        a = Planned.twice(x, y)
        return y

    @R.function(pure=False)
    def calls(x: Long, y: Vec):
        a = R.memory.view(x, R.shape([4]), "float32", 32)
        b = Planned.called(a, y)
        return y

    @R.function(pure=False)
    def calls_again(x: Long, y: Vec):
        a = R.memory.view(x, R.shape([4]), "float32", 80)
        b = Planned.called(y, a)
        c = Planned.called(a, y)
        return y

    @R.function(pure=False)
    def called_with_a_tuple(t: R.Tuple(Vec, R.Tuple(Vec, Long)), y: Vec) -> Vec:
        i = t[1]
        a = i[0]
        b = Planned.twice(t[0], y)
        c = Planned.thrice(a, y)
        return y

    @R.function(pure=False)
    def calls_with_a_tuple(x: Long, y: Vec):
        a = R.memory.view(x, R.shape([4]), "float32", 32)
        b = Planned.called_with_a_tuple((y, (a, x)), y)
        return y

    @R.function(pure=False)
    def first_of_three(x: Long, y: Vec) -> Vec:
        a = R.memory.view(x, R.shape([4]), "float32", 8)
        b = Planned.twice(a, y)
        return y

    @R.function(pure=False)
    def second_of_three(x: Long, y: Vec) -> Vec:
        a = Planned.first_of_three(x, y)
        return y

    @R.function(pure=False)
    def third_of_three(x: R.Tensor((128,), "float32"), y: Vec):
        a = R.memory.view(x, R.shape([64]), "float32", 4)
        b = Planned.second_of_three(a, y)
        return y

    @R.function(pure=False)
    def z_of_three(x: Long, y: Vec) -> Vec:
        a = R.memory.view(x, R.shape([4]), "float32", 8)
        b = Planned.twice(a, y)
        return y

    @R.function(pure=False)
    def y_of_three(x: Long, y: Vec) -> Vec:
        a = Planned.z_of_three(x, y)
        return y

    @R.function(pure=False)
    def a_of_three(x: R.Tensor((128,), "float32"), y: Vec):
        a = R.memory.view(x, R.shape([64]), "float32", 4)
        b = Planned.y_of_three(a, y)
        return y

    @R.function(pure=False)
    def recursive(c: Bool, x: R.Tensor(dtype="float32", ndim=1), y: Vec) -> Vec:
        a = R.memory.view(x, R.shape([4]), "float32", 32)
        b = Planned.twice(a, y)
        if c:
            d = R.memory.view(x, R.shape([4]), "float32", 16)
            z = Planned.recursive(c, d, y)
        else:
            z = y
        return z

    @R.function
    def tail(x: Long) -> Vec:
        a = R.memory.view(x, R.shape([4]), "float32", 48)
        return a

    @R.function(pure=False)
    def made(x: Vec) -> Vec:
        a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        b = Planned.thrice(x, a)
        return a

    @R.function(pure=False)
    def uses_results(x: Long, y: Vec):
        a = Planned.tail(x)
        b = Planned.twice(a, y)
        c = Planned.made(y)
        d = Planned.thrice(c, y)
        return y


def planned(*names):
    """A module with some of the functions and all kernels."""
    return tvm.IRModule(
        {
            var: function
            for var, function in Planned.functions_items()
            if isinstance(function, tirx.PrimFunc) or var.name_hint in names
        }
    )


# For each kernel that meets an offset, by parameter, what all its offsets are multiples of.
OFFSETS = {
    ("no_offsets",): {},
    ("allocated",): {"twice": {0: 32, 1: 64}, "thrice": {0: 64, 1: 32}},
    ("viewed",): {"twice": {0: 64, 1: 16}},
    ("viewed_within_a_storage",): {"twice": {0: 32}, "thrice": {0: 16}},
    ("two_alignments",): {"twice": {0: 16}},
    ("at_a_symbol",): {"twice": {0: 16}},
    ("reshaped",): {"twice": {0: 32}},
    ("somewhere",): {"twice": {0: 4}},
    ("in_branches",): {"twice": {0: 4}, "thrice": {0: 32}},
    ("called",): {},
    ("called", "calls"): {"twice": {0: 32}},
    ("called", "calls", "calls_again"): {"twice": {0: 16, 1: 16}},
    ("called_with_a_tuple", "calls_with_a_tuple"): {"thrice": {0: 32}},
    # One pass over the functions is not enough, in whatever order.
    ("first_of_three", "second_of_three"): {"twice": {0: 8}},
    ("first_of_three", "second_of_three", "third_of_three"): {"twice": {0: 4}},
    ("z_of_three", "y_of_three", "a_of_three"): {"twice": {0: 4}},
    ("recursive",): {"twice": {0: 16}},
    ("tail", "made", "uses_results"): {"twice": {0: 16}},
}


@pytest.mark.parametrize("names", OFFSETS, ids=", ".join)
def test_kernel_offsets(names):
    found = kernel_offsets(planned(*names))
    assert {kernel.name_hint: params for kernel, params in found.items()} == OFFSETS[names]


@I.ir_module
class Chain:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @T.prim_func(private=True, s_tir=True)
    def widen(A: T.Buffer((4,), "float32"), B: T.Buffer((48,), "float32")):
        for i in range(48):
            B[i] = A[i % 4]

    @T.prim_func(private=True, s_tir=True)
    def narrow(A: T.Buffer((48,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @R.function
    def main(x: Vec):
        wide = R.call_tir(Chain.widen, (x,), out_ty=R.Tensor((48,), "float32"))
        a = R.call_tir(Chain.narrow, (wide,), out_ty=Vec)
        b = R.call_tir(Chain.twice, (a,), out_ty=Vec)
        c = R.call_tir(Chain.twice, (b,), out_ty=Vec)
        d = R.call_tir(Chain.twice, (c,), out_ty=Vec)
        return d


@pytest.mark.parametrize(
    ("planner", "expected"), [(PlanTokens, {}), (PlanArena, {0: ALIGNMENT, 1: ALIGNMENT})]
)
def test_kernels_of_what_a_planner_made(planner, expected):
    """In an arena `b` and `c` lie one after the other where `wide` was."""
    passes = [transform.ToNonDataflow(), transform.CallTIRRewrite(), planner()]
    found = kernel_offsets(tvm.transform.Sequential(passes)(Chain))
    assert found.get(Chain.get_global_var("twice"), {}) == expected
