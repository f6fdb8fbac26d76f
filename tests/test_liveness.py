"""When each storage of a function is live, by hand for small functions."""

# ruff: noqa: F841 - some of these functions make what nobody reads

import pytest
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.analysis.alias_classes import AliasClasses
from tvm_aliasing.analysis.liveness import Liveness, meet
from tvm_aliasing.analysis.places import leaves

Vec = R.Tensor((4,), "float32")
Half = R.Tensor((2,), "float32")
Bool = R.Tensor((), "bool")


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @R.function
    def straight_line(x: Vec, y: Vec):
        a = R.add(x, x)
        b = R.add(a, x)
        c = R.add(b, b)
        return c

    @R.function
    def dead(x: Vec):
        a = R.add(x, x)
        b = R.add(x, x)
        return b

    @R.function
    def returned_early(x: Vec):
        a = R.add(x, x)
        b = R.add(x, x)
        c = R.add(b, b)
        return (a, (c, x))

    @R.function
    def views(x: Vec):
        a = R.add(x, x)
        v = R.memory.view(a, R.shape([2]), "float32", 8)
        w = R.memory.view(v, R.shape([1]), "float32", 4)
        b = R.add(x, x)
        c = R.add(w, w)
        return c

    @R.function
    def renamed(x: Vec):
        a = R.add(x, x)
        b = a
        c = R.add(x, x)
        n = T.int64()
        d = R.match_cast(b, R.Tensor((n,), "float32"))
        e = R.add(d, c)
        return e

    @R.function(pure=False)
    def allocated(x: Vec):
        a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        b = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        c = Module.twice(x, b)
        d = Module.twice(b, a)
        return a

    @R.function(pure=False)
    def planned(x: Vec):
        s = R.memory.alloc_storage(R.shape([64]), 0, "global", "uint8")
        a = R.memory.alloc_tensor(s, 0, R.shape([4]), "float32")
        b = Module.twice(x, a)
        c = R.add(a, a)
        return c

    @R.function
    def extern(x: Vec):
        a = R.add(x, x)
        v = R.call_pure_packed("any", a, ty_args=Vec)
        b = R.add(x, x)
        c = R.add(v, b)
        return c

    @R.function
    def extern_of_any(x: Vec):
        a = R.add(x, x)
        token = R.call_pure_packed("any", a, ty_args=R.Any)
        b = R.add(x, x)
        c = R.call_pure_packed("any", token, ty_args=Vec)
        d = R.add(c, b)
        return d

    @R.function
    def extern_declared(x: Vec):
        R.func_attr({"ta.extern_alias": {"fresh": "fresh"}})
        a = R.add(x, x)
        v = R.call_pure_packed("fresh", a, ty_args=Vec)
        b = R.add(v, v)
        return b

    @R.function
    def fields(x: Vec):
        a = R.add(x, x)
        b = R.add(x, x)
        t = (a, (b, x))
        u = t[0]
        c = R.add(u, u)
        v = t[1]
        w = v[1]
        d = R.add(c, w)
        return d

    @R.function
    def closure(x: Vec, y: Vec):
        a = R.add(x, x)

        @R.function
        def inner(p: Vec) -> Vec:
            q = R.add(p, a)
            return q

        b = R.add(x, x)
        c = inner(b)
        d = R.add(c, c)
        return d

    @R.function
    def one_branch(c: Bool, x: Vec):
        a = R.add(x, x)
        b = R.add(x, x)
        if c:
            d = R.add(a, a)
            y = R.add(d, d)
        else:
            e = R.add(x, x)
            f = R.add(e, b)
            y = R.add(f, f)
        g = R.add(y, y)
        return g

    @R.function
    def over_branches(c: Bool, x: Vec):
        a = R.add(x, x)
        if c:
            d = R.add(x, x)
            y = R.add(d, a)
        else:
            e = R.add(x, x)
            y = R.add(e, e)
        g = R.add(y, a)
        return g

    @R.function
    def out_of_a_branch(c: Bool, x: Vec):
        if c:
            d = R.add(x, x)
            e = R.add(x, x)
            y = d
        else:
            f = R.add(x, x)
            y = R.add(f, f)
        g = R.add(x, x)
        h = R.add(y, g)
        return h

    @R.function
    def condition(x: Vec, c: Bool):
        a = R.logical_not(c)
        b = R.add(x, x)
        if a:
            y = R.add(b, x)
        else:
            y = R.add(b, b)
        return y

    @R.function
    def nested(c: Bool, d: Bool, x: Vec):
        a = R.add(x, x)
        if c:
            b = R.add(x, x)
            if d:
                e = R.add(b, b)
                y = R.add(e, e)
            else:
                f = R.add(a, a)
                y = R.add(f, x)
            g = R.add(y, y)
            z = R.add(g, g)
        else:
            h = R.add(x, x)
            z = R.add(h, h)
        return z

    @R.function
    def two_ifs(c: Bool, x: Vec):
        a = R.add(x, x)
        if c:
            y = R.add(a, a)
        else:
            y = R.add(x, x)
        b = R.add(y, y)
        if c:
            z = R.add(b, a)
        else:
            z = R.add(b, b)
        return z

    @R.function(pure=False)
    def written_in_both_branches(c: Bool, x: Vec):
        a = R.builtin.alloc_tensor(R.shape([4]), "float32", 0)
        if c:
            d = Module.twice(x, a)
            e = R.add(x, x)
            y = R.add(e, x)
        else:
            f = R.add(x, x)
            g = Module.twice(f, a)
            y = R.add(f, x)
        b = R.add(y, a)
        return b

    @R.function
    def two(x: Vec, y: Vec) -> R.Tuple(Vec, Vec):
        p = R.add(x, y)
        q = R.add(x, y)
        return (p, q)

    @R.function
    def tail(x: Vec) -> Half:
        p = R.memory.view(x, R.shape([2]), "float32", 8)
        return p

    @R.function
    def calls(x: Vec):
        a = R.add(x, x)
        t = Module.two(a, x)
        b = R.add(x, x)
        c = t[0]
        d = R.add(c, b)
        return d

    @R.function
    def calls_for_a_view(x: Vec):
        a = R.add(x, x)
        v = Module.tail(a)
        b = R.add(x, x)
        c = R.add(v, v)
        return c

    @R.function
    def calls_in_vain(x: Vec):
        a = R.add(x, x)
        v = Module.tail(a)
        b = R.add(x, x)
        return b

    @R.function
    def calls_in_a_branch(c: Bool, x: Vec):
        a = R.add(x, x)
        if c:
            y = Module.tail(a)
        else:
            y = Module.tail(x)
        d = R.add(y, y)
        return d


def analysed(name):
    classes = AliasClasses(Module, Module[name], elided=True)
    return classes, Liveness(Module, Module[name], classes)


def labels(liveness):
    """The points by the variables bound there.

    An `If` has a question mark, results of a called function an asterisk.
    """
    found = []
    for point in liveness.points:
        if point.binding is None:
            last = len(found) + 1 == len(liveness.points)
            found.append("return" if last else found[-1] + "*")
        else:
            branching = isinstance(point.binding.value, relax.If)
            found.append(point.binding.var.name + ("?" if branching else ""))
    return found


def lives(name):
    """For each variable that has a root of its own, the points at which that is live.

    A field of a tuple by a dot, a gap between two ranges by a bar.
    """
    classes, liveness = analysed(name)
    points, found, seen = labels(liveness), {}, set()
    for var, places in classes.places.items():
        roots = [next(iter(leaf)) for leaf in leaves(places) if len(leaf) == 1]
        for i, root in enumerate(roots):
            if root not in seen:
                seen.add(root)
                word = var.name if len(roots) == 1 else f"{var.name}.{i}"
                ranges = (points[begin:end] for begin, end in liveness.live(root))
                assert word not in found
                found[word] = " | ".join(map(" ".join, ranges))
    return found


# The points at which each storage is live, by the variable that it is made for.
LIVES = {
    "straight_line": {"x": "a b", "y": "", "a": "a b", "b": "b c", "c": "c return"},
    "dead": {"x": "a b", "a": "a", "b": "b return"},
    "returned_early": {
        "x": "a b c return",
        "a": "a b c return",
        "b": "b c",
        "c": "c return",
    },
    "views": {"x": "a v w b", "a": "a v w b c", "b": "b", "c": "c return"},
    "renamed": {"x": "a b c", "a": "a b c d e", "c": "c d e", "e": "e return"},
    # Allocating is no use.
    "allocated": {"x": "c", "a": "d return", "b": "c d"},
    "planned": {"x": "b", "s": "", "a": "b c", "c": "c return"},
    # What the result of a packed function may be is kept as long as that.
    "extern": {"x": "a v b", "a": "a v b c", "b": "b c", "c": "c return"},
    "extern_of_any": {
        "x": "a token b",
        "a": "a token b c d",
        "b": "b c d",
        "d": "d return",
    },
    "extern_declared": {"x": "a", "a": "a v", "v": "v b", "b": "b return"},
    # To make a tuple reads all of it, to take a field of it only that.
    "fields": {
        "x": "a b t u c v w d",
        "a": "a b t u c",
        "b": "b t u c v",
        "c": "c v w d",
        "d": "d return",
    },
    # A closure keeps what it captures.
    "closure": {"x": "a inner b", "y": "", "a": "a inner b c d", "b": "b c d", "d": "d return"},
    # Results of a called function begin to live after the call, those that are arguments live on.
    "calls": {
        "x": "a t t* b",
        "a": "a t",
        "t.0": "t* b c d",
        "t.1": "t*",
        "b": "b c d",
        "d": "d return",
    },
    "calls_for_a_view": {"x": "a v v* b", "a": "a v v* b c", "b": "b", "c": "c return"},
    "calls_in_vain": {"x": "a v v* b", "a": "a v", "b": "b return"},
    "calls_in_a_branch": {
        "c": "y?",
        "x": "a y? y_then y_then* y_else y_else* d",
        "a": "a y? y_then y_then* y_else y_else* d",
        "d": "d return",
    },
    # What only one branch reads is not live in the other, nor what comes out of one.
    "one_branch": {
        "c": "y?",
        "x": "a b y? | e",
        "a": "a b y? d",
        "b": "b y? | e f",
        "d": "d y_then",
        "y_then": "y_then | g",
        "e": "e f",
        "f": "f y_else",
        "y_else": "y_else g",
        "g": "g return",
    },
    "over_branches": {
        "c": "y?",
        "x": "a y? d | e",
        "a": "a y? d y_then e y_else g",
        "d": "d y_then",
        "y_then": "y_then | g",
        "e": "e y_else",
        "y_else": "y_else g",
        "g": "g return",
    },
    "out_of_a_branch": {
        "c": "y?",
        "x": "d e f y_else g",
        "d": "d e | g h",
        "e": "e",
        "f": "f y_else",
        "y_else": "y_else g h",
        "g": "g h",
        "h": "h return",
    },
    "condition": {
        "x": "b y? y_then",
        "c": "a",
        "a": "a b y?",
        "b": "b y? y_then y_else",
        "y_then": "y_then | return",
        "y_else": "y_else return",
    },
    "nested": {
        "c": "z?",
        "d": "y?",
        "x": "a z? b y? | f y_else | h",
        "a": "a z? b y? | f",
        "b": "b y? e",
        "e": "e y_then",
        "y_then": "y_then | g",
        "f": "f y_else",
        "y_else": "y_else g",
        "g": "g z_then",
        "z_then": "z_then | return",
        "h": "h z_else",
        "z_else": "z_else return",
    },
    "two_ifs": {
        "c": "y? y_then y_else b z?",
        "x": "a y? | y_else",
        "a": "a y? y_then y_else b z? z_then",
        "y_then": "y_then | b",
        "y_else": "y_else b",
        "b": "b z? z_then z_else",
        "z_then": "z_then | return",
        "z_else": "z_else return",
    },
    # Before it is written in a branch it is not live there.
    "written_in_both_branches": {
        "c": "y?",
        "x": "d e y_then f g y_else",
        "a": "d e y_then | g y_else b",
        "e": "e y_then",
        "y_then": "y_then | b",
        "f": "f g y_else",
        "y_else": "y_else b",
        "b": "b return",
    },
}


@pytest.mark.parametrize("name", LIVES)
def test_live_ranges(name):
    assert lives(name) == LIVES[name]


def test_points_and_the_branches_that_lead_to_them():
    _, liveness = analysed("nested")
    outer, inner = labels(liveness).index("z?"), labels(liveness).index("y?")
    then, other = ((outer, True),), ((outer, False),)
    assert [(label, point.path) for label, point in zip(labels(liveness), liveness.points)] == [
        ("a", ()),
        ("z?", ()),
        ("b", then),
        ("y?", then),
        ("e", (*then, (inner, True))),
        ("y_then", (*then, (inner, True))),
        ("f", (*then, (inner, False))),
        ("y_else", (*then, (inner, False))),
        ("g", then),
        ("z_then", then),
        ("h", other),
        ("z_else", other),
        ("return", ()),
    ]


@pytest.mark.parametrize("name", ["straight_line", "nested", "calls", "calls_in_a_branch"])
def test_each_variable_has_its_point(name):
    _, liveness = analysed(name)
    for var, point in liveness.point_of.items():
        assert liveness.points[point].binding.var.same_as(var)
    bound = [point for point in liveness.points if point.binding is not None]
    assert len(bound) == len(liveness.point_of)


def test_uses_in_order():
    _, liveness = analysed("one_branch")
    for uses in liveness.uses.values():
        assert uses == sorted(set(uses))


def test_live_over_any_uses():
    """Points: 0 a, 1 the `If`, 2 and 3 the first branch, 4 and 5 the second, 6 g, 7 return."""
    _, liveness = analysed("over_branches")
    assert liveness.live_over([]) == ()
    assert liveness.live_over([0, 1]) == ((0, 2),)
    assert liveness.live_over([6, 7]) == ((6, 8),)
    assert liveness.live_over([0, 3]) == ((0, 4),)
    assert liveness.live_over([0, 4]) == ((0, 2), (4, 5))
    assert liveness.live_over([0, 6]) == ((0, 7),)
    assert liveness.live_over([2, 5]) == ((2, 3), (5, 6))
    assert liveness.live_over([3, 7]) == ((3, 4), (6, 8))


MEET = [
    ((), (), True),
    ((), ((1, True),), True),
    (((1, True),), ((1, True),), True),
    (((1, True),), ((1, False),), False),
    (((1, True),), ((7, False),), True),
    (((1, True),), ((1, True), (3, False)), True),
    (((1, True), (3, True)), ((1, True), (3, False)), False),
    (((1, True), (3, True)), ((1, False),), False),
]


@pytest.mark.parametrize(("path", "other", "expected"), MEET)
def test_whether_one_run_can_take_both_paths(path, other, expected):
    assert meet(path, other) is meet(other, path) is expected
