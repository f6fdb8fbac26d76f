"""Which results are written over which arguments, and that the programs stay right."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.properties import PROVED
from tvm_aliasing.output_policies import ALLOWED
from tvm_aliasing.passes.introduce_destinations import _asked
from tvm_aliasing.passes.introduce_views import IntroduceViews
from tvm_aliasing.planning.destinations import Destinations

FLAT = frozenset({"global"})
X = np.arange(32, dtype="float32").reshape(4, 8) / 8
PROGRAMS = {}


def program(expected, *inputs, **written):
    """Add a module to `PROGRAMS`.

    With its inputs, what NumPy makes of them, and by the name of each result that is written over
    something the name of that, or a pair of it and the byte where both begin.
    """

    def add(module):
        wanted = {name: on if isinstance(on, tuple) else (on, 0) for name, on in written.items()}
        PROGRAMS[module.__name__] = module, inputs, expected(*inputs), wanted
        return module

    return add


def overwrites(module, policy="copy", *, over=True, name="main"):
    """By the name of each result that is written over something that of it, and the byte."""
    mod = tvm.transform.Sequential(
        [transform.LegalizeOps(), IntroduceViews(FLAT, policy, True, PROVED)]
    )(module)
    found = Destinations(
        mod,
        mod[name],
        policy,
        joining={},
        updating={},
        overwriting=_asked(mod, PROVED.overwritable),
        over=over,
    )
    made_by = found.classes.binding_of

    def name_of(root):
        if root.kind == "param":
            return mod[name].params[root.site[0]].name
        var = made_by[root].var
        return f"{var.name}{root.site[1]}" if isinstance(var.ty, relax.TupleType) else var.name

    return {name_of(root): (name_of(o.base), o.begin) for root, o in found.overwrites.items()}


@program(lambda x: np.exp(np.tanh(x)), X, b="a")
@I.ir_module
class DiesHere:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        return b


@program(lambda x: np.cos(np.sin(np.exp(np.tanh(x)))), X, b="a", c="a", d="a")
@I.ir_module
class Chain:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.sin(b)
        d = R.cos(c)
        return d


@program(lambda x: np.exp(np.tanh(x)) + np.tanh(x), X, c="b")
@I.ir_module
class ReadLater:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.add(b, a)
        return c


@program(lambda x: np.exp(np.tanh(x)) + np.tanh(x)[1], X, c="b")
@I.ir_module
class AViewIsReadLater:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        v = R.memory.view(a, R.shape([8]), R.dtype("float32"), 32)
        b = R.exp(a)
        c = R.add(b, v)
        return c


@program(lambda c, x: np.exp(np.tanh(x)), np.asarray(True), X, b="a")
@I.ir_module
class ReadInTheOtherBranch:
    """`d` could be too: the analysis does not see that `y` is no `b` where `d` is made."""

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        if c:
            b = R.exp(a)
            y = b
        else:
            d = R.sin(a)
            y = d
        return y


@program(lambda c, x: np.exp(np.tanh(x)) + np.tanh(x), np.asarray(True), X, e="a")
@I.ir_module
class ReadAfterTheBranches:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        if c:
            b = R.exp(a)
            y = b
        else:
            d = R.sin(a)
            y = d
        e = R.add(a, y)
        return e


@program(lambda x: 2 * np.tanh(x), X, b="a")
@I.ir_module
class SameTensorTwice:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.add(a, a)
        return b


def _with_transposed(x):
    a = np.tanh(x)
    b = a + a.T
    return b + (2 * x).T


@program(_with_transposed, X.reshape(8, 4)[:4], e="b")
@I.ir_module
class OverOneOfTwo:
    """Only the first argument is read where the result is written; it must not be the second."""

    @T.prim_func(s_tir=True, private=True)
    def add_transposed(
        a: T.Buffer((4, 4), "float32"),
        b: T.Buffer((4, 4), "float32"),
        c: T.Buffer((4, 4), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 4):
            with T.sblock("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] + b[vj, vi]

    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        cls = OverOneOfTwo
        a = R.tanh(x)
        b = R.call_tir(cls.add_transposed, (a, a), out_ty=R.Tensor((4, 4), "float32"))
        d = R.add(x, x)
        e = R.call_tir(cls.add_transposed, (b, d), out_ty=R.Tensor((4, 4), "float32"))
        return e


@program(lambda x: (np.tanh(x) + np.sin(x)) * (np.tanh(x) - np.sin(x)), X, t1="a", e="t0")
@I.ir_module
class TwoOutputs:
    """The first is stored while both arguments are still to be read for the second."""

    @T.prim_func(s_tir=True, private=True)
    def both(
        a: T.Buffer((4, 8), "float32"),
        b: T.Buffer((4, 8), "float32"),
        c: T.Buffer((4, 8), "float32"),
        d: T.Buffer((4, 8), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] + b[vi, vj]
        for i, j in T.grid(4, 8):
            with T.sblock("difference"):
                vi, vj = T.axis.remap("SS", [i, j])
                d[vi, vj] = a[vi, vj] - b[vi, vj]

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = TwoOutputs
        a = R.tanh(x)
        b = R.sin(x)
        t = R.call_tir(
            cls.both,
            (a, b),
            out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")],
        )
        c = t[0]
        d = t[1]
        e = R.multiply(c, d)
        return e


@program(lambda x: (np.tanh(x) + 1) * (np.sin(x) + 1), X, t0="a", t1="b", e="a")
@I.ir_module
class TwoOutputsOfTheirOwn:
    """Each lies over an argument that the other has nothing to do with."""

    @T.prim_func(s_tir=True, private=True)
    def both(
        a: T.Buffer((4, 8), "float32"),
        b: T.Buffer((4, 8), "float32"),
        c: T.Buffer((4, 8), "float32"),
        d: T.Buffer((4, 8), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vi, vj] = a[vi, vj] + T.float32(1)
                d[vi, vj] = b[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = TwoOutputsOfTheirOwn
        a = R.tanh(x)
        b = R.sin(x)
        t = R.call_tir(
            cls.both,
            (a, b),
            out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")],
        )
        c = t[0]
        d = t[1]
        e = R.multiply(c, d)
        return e


@program(lambda x: (np.exp(np.tanh(x)), np.tanh(x)), X)
@I.ir_module
class BothReturned:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        return b, a


@program(lambda x: np.sin(np.exp(np.tanh(x)[2:])).sum(0), X, b=("a", 64), c=("a", 64))
@I.ir_module
class Range:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        b = R.exp(h)
        c = R.sin(b)
        d = R.sum(c, axis=0)
        return d


@program(lambda x: np.exp(np.tanh(x)[2:]), X)
@I.ir_module
class RangeReturned:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        b = R.exp(h)
        return b


@program(lambda x: np.exp(np.tanh(x)[:2]), X)
@I.ir_module
class FirstRangeReturned:
    """It begins with the storage and does not fill it."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.strided_slice(a, axes=[0], begin=[0], end=[2])
        b = R.exp(h)
        return b


@program(lambda x: np.exp(np.tanh(x)[:2]) * np.tanh(x)[1:3], X, c="b")
@I.ir_module
class RangesThatOverlap:
    """A later read has half of the bytes that would be written."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.strided_slice(a, axes=[0], begin=[0], end=[2])
        m = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        b = R.exp(h)
        c = R.multiply(b, m)
        return c


@program(lambda x: np.tanh(x)[:2] * np.tanh(x)[1:3], X)
@I.ir_module
class ArgumentsThatOverlap:
    """The kernel itself reads, by its other argument, half of the bytes that would be written."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.strided_slice(a, axes=[0], begin=[0], end=[2])
        m = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        b = R.multiply(h, m)
        return R.memory.view(b, R.shape([2, 8]), R.dtype("float32"), 0)


@program(lambda: np.exp(X))
@I.ir_module
class Constant:
    @R.function
    def main():
        a = R.const(X)
        b = R.exp(a)
        return b


@program(np.exp, X)
@I.ir_module
class Parameter:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        b = R.exp(x)
        return b


@program(lambda x, y: np.exp(x) + y, X, X, b="x", c="x")
@I.ir_module
class DonatedParameter:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        R.func_attr({"ta.donated": ["x"]})
        b = R.exp(x)
        c = R.add(y, b)
        return c


@program(lambda x: np.tanh(x) + x, X, b="x")
@I.ir_module
class DonatedFirst:
    """It takes no bytes of the function's own, so it comes before an earlier argument."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        R.func_attr({"ta.donated": ["x"]})
        a = R.tanh(x)
        b = R.add(a, x)
        return b


@program(lambda x: np.cos(np.sin(np.tanh(x))), X, b="a")
@I.ir_module
class Inner:
    """The caller's `a` is the parameter of `inner`, which does not know that it dies."""

    @R.function(private=True)
    def inner(p: R.Tensor((4, 8), "float32")):
        q = R.sin(p)
        return q

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = Inner
        a = cls.inner(R.tanh(x))
        b = R.cos(a)
        return b


KEPT = tvm.runtime.tensor(X)


@tvm.register_global_func("overwrites.kept", override=True)
def _kept():
    return KEPT


@tvm.register_global_func("overwrites.made", override=True)
def _made():
    return tvm.runtime.tensor(X)


@program(lambda: np.exp(X))
@I.ir_module
class WhatAFunctionKeeps:
    """Nobody says that the function forgets what it returns."""

    @R.function
    def main():
        a = R.call_pure_packed("overwrites.kept", ty_args=R.Tensor((4, 8), "float32"))
        b = R.exp(a)
        return b


@program(lambda: np.exp(X))
@I.ir_module
class WhatAFunctionKeepsInside:
    @R.function(private=True)
    def inner():
        q = R.call_pure_packed("overwrites.kept", ty_args=R.Tensor((4, 8), "float32"))
        return q

    @R.function
    def main():
        cls = WhatAFunctionKeepsInside
        a = cls.inner()
        b = R.exp(a)
        return b


@program(lambda: np.exp(X), b="a")
@I.ir_module
class WhatAFunctionMakes:
    @R.function
    def main():
        R.func_attr({"ta.extern_alias": {"overwrites.made": "fresh"}})
        a = R.call_pure_packed("overwrites.made", ty_args=R.Tensor((4, 8), "float32"))
        b = R.exp(a)
        return b


@tvm.register_global_func("overwrites.same", override=True)
def _same(tensor):
    return tensor


@program(lambda x: np.exp(np.tanh(x)) + np.tanh(x), X, c="b")
@I.ir_module
class MayBeTheArgument:
    """What the function returns may be `a`, so that `a` is read when that is."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        v = R.call_pure_packed("overwrites.same", a, ty_args=R.Tensor((4, 8), "float32"))
        b = R.exp(a)
        c = R.add(b, v)
        return c


@tvm.register_global_func("overwrites.forward", override=True)
def _forward(source, target):
    assert source.numpy().shape == (2, 8)
    target.copyfrom(source)


@program(lambda x: np.exp(np.tanh(x)[2:]), X)
@I.ir_module
class DemandsOffsetZero:
    """A packed function reads from the first byte of the storage: the range would be wrong."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        b = R.exp(h)
        return R.call_dps_packed("overwrites.forward", (b,), out_ty=R.Tensor((2, 8), "float32"))


@program(lambda x: np.tanh(x).astype("float16"), X)
@I.ir_module
class NarrowerElements:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.astype(a, "float16")
        return b


@program(lambda x: (10 * x).astype("int32"), X, b="a")
@I.ir_module
class OtherType:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.multiply(x, R.const(10.0, "float32"))
        b = R.astype(a, "int32")
        return b


def _raises(x):
    a = np.repeat(np.tanh(x), 8, axis=0)
    b = np.exp(a[:1])
    d = np.repeat(np.sin(x), 8, axis=0)
    return b + np.exp(d).sum(0, keepdims=True)


@program(_raises, X, e="d", f="s")
@I.ir_module
class RaisesTheLoad:
    """`b` would keep all of `a` where `d` and `e` are live, each as large as `a`."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.repeat(R.tanh(x), 8, axis=0)
        h = R.memory.view(a, R.shape([1, 8]), R.dtype("float32"), 0)
        b = R.exp(h)
        d = R.repeat(R.sin(x), 8, axis=0)
        e = R.exp(d)
        s = R.sum(e, axis=0, keepdims=True)
        f = R.add(s, b)
        return f


def _wide(x):
    a = np.tanh(x)
    return np.exp(a) + a.mean()


@program(lambda x: (np.tanh(x) + 1) * (np.tanh(x) + 2), X, t0="a", e="a")
@I.ir_module
class TwoOutputsOfOneTensor:
    """There is room for one of them."""

    @T.prim_func(s_tir=True, private=True)
    def both(
        a: T.Buffer((4, 8), "float32"),
        b: T.Buffer((4, 8), "float32"),
        c: T.Buffer((4, 8), "float32"),
        d: T.Buffer((4, 8), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                e: T.let[T.float32] = a[vi, vj] + b[vi, vj]
                c[vi, vj] = e * T.float32(0.5) + T.float32(1)
                d[vi, vj] = e * T.float32(0.5) + T.float32(2)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = TwoOutputsOfOneTensor
        a = R.tanh(x)
        t = R.call_tir(
            cls.both,
            (a, a),
            out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")],
        )
        c = t[0]
        d = t[1]
        e = R.multiply(c, d)
        return e


@program(lambda x: 2 * np.tanh(x) + 2, X, t0="a")
@I.ir_module
class OneOfTwoOutputsUnused:
    """What nobody reads is written all the same, and here last."""

    @T.prim_func(s_tir=True, private=True)
    def both(
        a: T.Buffer((4, 8), "float32"),
        b: T.Buffer((4, 8), "float32"),
        c: T.Buffer((4, 8), "float32"),
        d: T.Buffer((4, 8), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(4, 8):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                e: T.let[T.float32] = a[vi, vj] + b[vi, vj]
                d[vi, vj] = e + T.float32(2)
                c[vi, vj] = e + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        cls = OneOfTwoOutputsUnused
        a = R.tanh(x)
        t = R.call_tir(
            cls.both,
            (a, a),
            out_ty=[R.Tensor((4, 8), "float32"), R.Tensor((4, 8), "float32")],
        )
        d = t[1]
        return d


@program(_wide, X, b="a", c="a")
@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        m = R.mean(R.tanh(x))
        a = R.tanh(x)
        b = R.exp(a)
        c = R.add(m, b)
        return c


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_written_over_what(name):
    module, _, _, wanted = PROGRAMS[name]
    assert overwrites(module) == wanted


@pytest.mark.parametrize("policy", ALLOWED)
@pytest.mark.parametrize(("name", "begin"), [("RangeReturned", 64), ("FirstRangeReturned", 0)])
def test_an_output_may_be_a_range_where_the_policy_says_so(name, begin, policy):
    module, *_ = PROGRAMS[name]
    wanted = {"b": ("a", begin)} if policy in ("view", "alias_params") else {}
    assert overwrites(module, policy) == wanted


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_donated_parameters_where_nothing_else_is_asked_for(name):
    module, *_ = PROGRAMS[name]
    found = overwrites(module, over=False)
    assert found.keys() == ({"b", "c"} if name == "DonatedParameter" else {"b"} & found.keys())
    assert {on for on, _ in found.values()} <= {"x"}


def test_a_called_function_writes_over_none_of_its_parameters():
    module, *_ = PROGRAMS["Inner"]
    assert overwrites(module, name="inner") == {}


@I.ir_module
class TwoDevices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @T.prim_func(s_tir=True, private=True)
    def more(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
        for i, j in T.grid(4, 8):
            with T.sblock("more"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 8), "float32", "llvm:0")):
        cls = TwoDevices
        a = R.call_tir(cls.more, (x,), out_ty=R.Tensor((4, 8), "float32", "llvm:0"))
        b = R.call_tir(cls.more, (a,), out_ty=R.Tensor((4, 8), "float32", "llvm:1"))
        c = R.call_tir(cls.more, (b,), out_ty=R.Tensor((4, 8), "float32", "llvm:1"))
        return c


def test_a_result_lies_over_nothing_on_another_device():
    assert overwrites(TwoDevices) == {"c": ("b", 0)}


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_when_run_twice(name, planner):
    module, inputs, expected, _ = PROGRAMS[name]
    built = ta.build(module, "alias:views+inplace+donate", planner=planner, fused=False)
    assert agrees(built.run(*inputs), expected)
    assert agrees(built.run(*inputs), expected)
