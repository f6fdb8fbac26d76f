"""Updates that need not run, because what they put in is computed where it belongs."""

import inspect
import re

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op, transform
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.joins import pieces_joined, pieces_updated
from tvm_aliasing.analysis.properties import PROVED
from tvm_aliasing.passes.introduce_destinations import _asked
from tvm_aliasing.passes.introduce_views import IntroduceViews
from tvm_aliasing.planning.destinations import Destinations

FLAT = frozenset({"global"})
X = np.arange(32, dtype="float32").reshape(4, 8) / 8
Y = X[:1] - 1
PROGRAMS = {}


def updated(cache, *rows):
    cache = cache.copy()
    for at, row in rows:
        cache[at : at + len(row)] = row
    return cache


def program(expected, *inputs, donated=("x",), places=(), runs=1):
    """Add a program to `PROGRAMS`, written by a function that is given a block builder.

    With its inputs, what NumPy makes of them, what is donated, for each piece that is computed in
    place its name, that of what it lies in and the byte, and how many updates are still run.
    """

    def add(write):
        builder = relax.BlockBuilder()
        names = list(inspect.signature(write).parameters)[1:]
        params = [
            relax.Var(name, relax.TensorType(array.shape, str(array.dtype)))
            for name, array in zip(names, inputs)
        ]
        with builder.function("main", params):
            builder.emit_func_output(write(builder, *params))
        added = builder.finalize(), inputs, expected(*inputs), donated, set(places), runs
        PROGRAMS[write.__name__] = added
        return write

    return add


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


@T.prim_func(s_tir=True, private=True)
def put_two(
    cache: T.Buffer((4, 8), "float32"),
    row: T.Buffer((1, 8), "float32"),
    other: T.Buffer((1, 8), "float32"),
    out: T.Buffer((4, 8), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    for i, j in T.grid(4, 8):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = cache[vi, vj]
    for j in range(8):
        with T.sblock("first"):
            vj = T.axis.spatial(8, j)
            out[2, vj] = row[0, vj]
    for j in range(8):
        with T.sblock("second"):
            vj = T.axis.spatial(8, j)
            out[0, vj] = other[0, vj]


@T.prim_func(s_tir=True, private=True)
def put_over(
    cache: T.Buffer((4, 8), "float32"),
    row: T.Buffer((1, 8), "float32"),
    other: T.Buffer((1, 8), "float32"),
    out: T.Buffer((4, 8), "float32"),
):
    """The second row goes where the first has gone."""
    T.func_attr({"tirx.noalias": True})
    for i, j in T.grid(4, 8):
        with T.sblock("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vi, vj] = cache[vi, vj]
    for j in range(8):
        with T.sblock("first"):
            vj = T.axis.spatial(8, j)
            out[2, vj] = row[0, vj]
    for j in range(8):
        with T.sblock("second"):
            vj = T.axis.spatial(8, j)
            out[2, vj] = other[0, vj]


@T.prim_func(s_tir=True, private=True)
def put_first(
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
            out[0, vj] = row[0, vj]


@tvm.register_global_func("updates.copy", override=True)
def _copy(source, target):
    target.copyfrom(source)


def call(builder, kernel, cache, *rows):
    name = builder.add_func(kernel, "put")
    return builder.emit(op.call_tir(name, [cache, *rows], cache.ty), "u")


@program(lambda x, z: updated(x, (2, np.exp(z))), X, Y, places=[("r", "x", 64)], runs=0)
def one_piece(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    return call(builder, put, x, r)


@program(
    lambda x, z: updated(x, (2, np.exp(z)), (0, np.sin(z))),
    X,
    Y,
    places=[("r", "x", 64), ("s", "x", 0)],
    runs=0,
)
def two_pieces(builder, x, z):
    r, s = builder.emit(op.exp(z), "r"), builder.emit(op.sin(z), "s")
    return call(builder, put_two, x, r, s)


@program(lambda x, z: updated(x, (2, np.sin(z))), X, Y)
def pieces_that_overlap(builder, x, z):
    """The order in which they are made would decide."""
    s, r = builder.emit(op.sin(z), "s"), builder.emit(op.exp(z), "r")
    return call(builder, put_over, x, r, s)


@program(lambda x, z: updated(x, (2, np.exp(z)), (0, np.exp(z))), X, Y)
def one_piece_twice(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    return call(builder, put_two, x, r, r)


@program(lambda x, z: updated(x, (2, z)), X, Y)
def a_piece_that_is_a_parameter(builder, x, z):
    return call(builder, put, x, z)


@program(lambda x, z: updated(x, (2, np.exp(z)), (0, z)), X, Y)
def one_of_two_is_a_parameter(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    return call(builder, put_two, x, r, z)


@program(lambda x, z: (updated(x, (2, np.exp(z))), np.sin(np.exp(z))), X, Y)
def piece_read_later(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    u = call(builder, put, x, r)
    return relax.Tuple([u, builder.emit(op.sin(r), "s")])


@program(lambda x, z: (np.sin(updated(x, (2, np.exp(z)))), np.exp(z).sum(0)), X, Y)
def piece_read_when_its_place_is_overwritten(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    e = builder.emit(op.sin(call(builder, put, x, r)), "e")
    return relax.Tuple([e, builder.emit(op.sum(r, axis=0), "s")])


@program(lambda x, z: (updated(x, (2, np.exp(z))), np.exp(z)), X, Y)
def piece_returned(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    return relax.Tuple([call(builder, put, x, r), r])


@program(
    lambda x, z: (updated(x, (2, np.exp(z))), np.sin(np.exp(z))),
    X,
    Y,
    places=[("r", "x", 64)],
    runs=0,
)
def piece_read_before(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    s = builder.emit(op.sin(r), "s")
    return relax.Tuple([call(builder, put, x, r), s])


@program(lambda x, z: (updated(x, (2, np.exp(z))), np.tanh(x)), X, Y)
def base_read_between(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    t = builder.emit(op.tanh(x), "t")
    return relax.Tuple([call(builder, put, x, r), t])


@program(
    lambda x, z: (updated(x, (2, np.exp(z))), np.tanh(x[:1])),
    X,
    Y,
    places=[("r", "x", 64)],
    runs=0,
)
def other_bytes_of_the_base_read_between(builder, x, z):
    first = builder.emit(op.strided_slice(x, [0], [0], [1]), "first")
    r = builder.emit(op.exp(z), "r")
    t = builder.emit(op.tanh(first), "t")
    return relax.Tuple([call(builder, put, x, r), t])


@program(lambda x: updated(x, (2, np.exp(x[2:3] * x[2:3].sum()))), X)
def piece_made_of_the_bytes_that_it_replaces(builder, x):
    """Written there, it would be read while it is made."""
    row = builder.emit(op.strided_slice(x, [0], [2], [3]), "row")
    s = builder.emit(op.sum(row, keepdims=True), "s")
    r = builder.emit(op.exp(builder.emit(op.multiply(row, s))), "r")
    return call(builder, put, x, r)


@program(lambda x, z: updated(x, (2, np.exp(z))), X, Y, donated=())
def parameter_that_is_not_donated(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    return call(builder, put, x, r)


@program(
    lambda x, z: updated(np.tanh(x), (2, np.exp(z))),
    X,
    Y,
    donated=(),
    places=[("r", "a", 64)],
    runs=0,
)
def base_made_before(builder, x, z):
    a = builder.emit(op.tanh(x), "a")
    r = builder.emit(op.exp(z), "r")
    return call(builder, put, a, r)


@program(lambda x, z: updated(np.tanh(x), (2, np.exp(z))), X, Y, donated=())
def base_made_after(builder, x, z):
    r = builder.emit(op.exp(z), "r")
    a = builder.emit(op.tanh(x), "a")
    return call(builder, put, a, r)


@program(lambda x, z: updated(x, (2, np.sin(z))), X, Y, places=[("r", "x", 64)])
def one_after_the_other(builder, x, z):
    """The second row is made while the first has not been replaced: that update is run."""
    r = builder.emit(op.exp(z), "r")
    s = builder.emit(op.sin(z), "s")
    return call(builder, put, call(builder, put, x, r), s)


@program(
    lambda x, z: np.concatenate([updated(np.tanh(x), (2, np.exp(z))), x]),
    X,
    Y,
    donated=(),
    places=[("a", "c", 0), ("r", "a", 64)],
    runs=0,
)
def base_that_is_joined(builder, x, z):
    """The piece lies in the base, and that in the result of a concat."""
    a = builder.emit(op.tanh(x), "a")
    r = builder.emit(op.exp(z), "r")
    u = call(builder, put, a, r)
    return builder.emit(op.concat([u, x], axis=0), "c")


def _read_by_a_function(x, z):
    return np.exp(z), np.concatenate([x, updated(np.tanh(x), (0, np.exp(z)))])


@program(_read_by_a_function, X, Y, donated=(), places=[("r", "a", 0)], runs=0)
def piece_that_begins_a_storage(builder, x, z):
    """A packed function reads `r`, so that what `r` lies in cannot move to where `c` goes on."""
    a = builder.emit(op.tanh(x), "a")
    r = builder.emit(op.exp(z), "r")
    w = builder.emit(op.call_dps_packed("updates.copy", [r], z.ty), "w")
    u = call(builder, put_first, a, r)
    return relax.Tuple([w, builder.emit(op.concat([x, u], axis=0), "c")])


def destinations(name):
    module, _, _, donated, *_ = PROGRAMS[name]
    mod = tvm.transform.Sequential(
        [transform.LegalizeOps(), IntroduceViews(FLAT, "copy", True, PROVED)]
    )(module)
    mod["main"] = mod["main"].with_attr("ta.donated", list(donated))
    return Destinations(
        mod,
        mod["main"],
        "copy",
        joining=_asked(mod, pieces_joined),
        updating=_asked(mod, pieces_updated),
        overwriting=_asked(mod, PROVED.overwritable),
        over=True,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_which_pieces_are_computed_in_place(name):
    *_, wanted, _ = PROGRAMS[name]
    found = destinations(name)
    made_by = found.classes.binding_of
    places = {
        (made_by[root].var.name, var.name, int(begin))
        for root, (var, begin) in found.places.items()
    }
    assert places == wanted


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_when_run(name, planner):
    module, inputs, expected, donated, _, runs = PROGRAMS[name]
    built = ta.build(module, planner=planner, fused=False, donate=donated)
    for _ in range(2):
        assert agrees(built.run(*inputs), expected)
    assert len(re.findall(r"\bput\w*\(", built.stages["planned"]["main"].script())) == runs
