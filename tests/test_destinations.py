"""Which operands of a concat are computed where it would move them to."""

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.joins import pieces_joined
from tvm_aliasing.analysis.properties import PROVED
from tvm_aliasing.output_policies import ALLOWED
from tvm_aliasing.passes.introduce_destinations import _asked
from tvm_aliasing.planning.destinations import Destinations

X = np.arange(32, dtype="float32").reshape(4, 8) / 8
PROGRAMS = {}


def program(expected, *inputs, **places):
    """Add a module to `PROGRAMS`.

    With its inputs, what NumPy makes of them, and by the name of each operand that is computed in
    place that of the result it lies in, and the byte there.
    """

    def add(module):
        PROGRAMS[module.__name__] = module, inputs, expected(*inputs), places
        return module

    return add


def places(module, policy="copy"):
    mod = transform.LegalizeOps()(module)
    found = Destinations(
        mod,
        mod["main"],
        policy,
        joining=_asked(mod, pieces_joined),
        updating={},
        overwriting=_asked(mod, PROVED.overwritable),
        over=True,
    )
    made_by = found.classes.binding_of
    return {
        made_by[root].var.name: (var.name, plain(begin))
        for root, (var, begin) in found.places.items()
    }


def plain(begin):
    return int(begin) if isinstance(begin, tirx.IntImm) else str(begin)


@program(lambda x: np.concatenate([np.tanh(x), np.sin(x)]), X, a=("c", 0), b=("c", 128))
@I.ir_module
class Concat:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.sin(x)
        c = R.concat([a, b], axis=0)
        return c


@program(lambda x: np.concatenate([np.tanh(x), np.sin(x), np.tanh(x)]), X, a=("c", 0), b=("c", 128))
@I.ir_module
class OperandTwice:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.sin(x)
        c = R.concat([a, b, a], axis=0)
        return c


@program(lambda x: np.concatenate([x, np.exp(np.tanh(x))]), X, a=("c", 128))
@I.ir_module
class OverwrittenBefore:
    """What is written over the operand's storage moves with it."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.exp(a)
        c = R.concat([x, b], axis=0)
        return c


@program(
    lambda x: (np.concatenate([np.sin(x), np.tanh(x)]), np.exp(np.tanh(x)).sum(0)),
    X,
    s=("c", 0),
)
@I.ir_module
class OverwrittenAfter:
    """`d` is written over `a`, while `c` still holds what `a` was."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        s = R.sin(x)
        c = R.concat([s, a], axis=0)
        d = R.exp(a)
        e = R.sum(d, axis=0)
        return c, e


def _result_overwritten(x):
    a, s = np.tanh(x), np.sin(x)
    return np.exp(np.concatenate([a, s])), a.sum(0)


@program(_result_overwritten, X, s=("c", 128))
@I.ir_module
class ResultOverwritten:
    """`e` is written over `c`, and `a` is read after that."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        s = R.sin(x)
        c = R.concat([a, s], axis=0)
        e = R.exp(c)
        f = R.sum(a, axis=0)
        return e, f


def _read_while_overwritten(x):
    a, s = np.tanh(x[:1]), np.sin(x)
    return np.concatenate([a, s]) + a


@program(_read_while_overwritten, X, s=("c", 32))
@I.ir_module
class ReadWhileTheResultIsOverwritten:
    """The kernel that is written over `c` reads `a` for every row."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        r = R.strided_slice(x, axes=[0], begin=[0], end=[1])
        a = R.tanh(r)
        s = R.sin(x)
        c = R.concat([a, s], axis=0)
        e = R.add(c, a)
        return e


def _outer_overwritten(x):
    a, s, t = np.tanh(x), np.sin(x), np.cos(x)
    return np.exp(np.concatenate([t, a, s])), a.sum(0)


@program(_outer_overwritten, X, c=("o", 128), s=("o", 256), t=("o", 0))
@I.ir_module
class OuterResultOverwritten:
    """`e` is written over `o`, of which `c` is a range, and `a` is read after that."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        s = R.sin(x)
        c = R.concat([a, s], axis=0)
        t = R.cos(x)
        o = R.concat([t, c], axis=0)
        e = R.exp(o)
        f = R.sum(a, axis=0)
        return e, f


@program(lambda x: (np.tanh(x), np.concatenate([np.sin(x), np.tanh(x)])), X, s=("c", 0))
@I.ir_module
class Returned:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        s = R.sin(x)
        c = R.concat([s, a], axis=0)
        return a, c


@program(
    lambda x: np.exp(np.concatenate([np.sin(x), np.tanh(x)])),
    X,
    s=("c", 0),
)
@I.ir_module
class ReadFromTheFirstByte:
    """A packed function reads `a`, which therefore begins a storage."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        u = R.call_dps_packed("destinations.copy", (a,), out_ty=R.Tensor((4, 8), "float32"))
        s = R.sin(x)
        c = R.concat([s, a], axis=0)
        v = R.call_dps_packed("destinations.ignore", (u,), out_ty=R.Tensor((8, 8), "float32"))
        e = R.exp(c)
        w = R.multiply(v, R.const(0.0, "float32"))
        return R.add(e, w)


@tvm.register_global_func("destinations.copy", override=True)
def _copy(source, target):
    target.copyfrom(source)


@tvm.register_global_func("destinations.ignore", override=True)
def _ignore(_source, target):
    target.copyfrom(np.zeros((8, 8), "float32"))


@program(lambda c, x: np.concatenate([np.tanh(x), np.sin(x)]), np.asarray(True), X, s=("j", 128))
@I.ir_module
class MadeBeforeTheBranch:
    """`a` would keep the buffer of a branch where the other branch is taken."""

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        if c:
            s = R.sin(x)
            j = R.concat([a, s], axis=0)
            y = R.add(j, R.const(0.0, "float32"))
        else:
            y = R.repeat(a, 2, axis=0)
        return y


@program(lambda x: np.concatenate([np.tanh(x)[:2], np.sin(x)]), X, s=("c", 64))
@I.ir_module
class PartOfWhatIsMade:
    """All of `a` does not fit where its half belongs."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        h = R.memory.view(a, R.shape([2, 8]), R.dtype("float32"), 0)
        s = R.sin(x)
        c = R.concat([h, s], axis=0)
        return c


@program(lambda x, z: np.concatenate([np.tanh(x), np.exp(z)]), X, X[:2], b=("c", 128))
@I.ir_module
class SizeCastLater:
    """When `a` is made, nobody knows how large `c` will be."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), z: R.Tensor(dtype="float32", ndim=2)):
        m = T.int64()
        a = R.tanh(x)
        y = R.match_cast(z, R.Tensor((m, 8), "float32"))
        b = R.exp(y)
        c = R.concat([a, b], axis=0)
        return c


@program(
    lambda x, z: np.concatenate([np.exp(z), np.tanh(x)]),
    X,
    X[:2],
    a=("c", "m * T.int64(32)"),
    b=("c", 0),
)
@I.ir_module
class SizeCastBefore:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), z: R.Tensor(dtype="float32", ndim=2)):
        m = T.int64()
        y = R.match_cast(z, R.Tensor((m, 8), "float32"))
        a = R.tanh(x)
        b = R.exp(y)
        c = R.concat([b, a], axis=0)
        return c


@program(lambda x, z: np.tanh(x).sum(0) + x, X, X[:0])
@I.ir_module
class JoinedWithNothing:
    """The result is as long as `a`, and is written over it: `a` cannot lie in it as well."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), z: R.Tensor((0, 8), "float32")):
        a = R.tanh(x)
        c = R.concat([a, z], axis=0)
        d = R.sum(c, axis=0)
        return R.add(x, d)


@pytest.mark.parametrize("name", PROGRAMS)
def test_which_operands_are_computed_in_place(name):
    module, _, _, wanted = PROGRAMS[name]
    assert places(module) == wanted


@pytest.mark.parametrize("policy", ALLOWED)
def test_an_operand_that_is_returned_moves_where_the_policy_says_so(policy):
    module, *_ = PROGRAMS["Returned"]
    assert ("a" in places(module, policy)) == (policy != "copy")


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_when_run(name, planner):
    module, inputs, expected, _ = PROGRAMS[name]
    built = ta.build(module, "alias:dest+inplace", planner=planner, fused=False)
    for _ in range(2):
        assert agrees(built.run(*inputs), expected)
