"""Which storage each value of a Relax function may lie in.

A small, forward, may-alias analysis: each value has a set of roots, and two values may share
bytes where their sets meet. It decides which outputs must be copied and draws memory maps.
"""

import itertools
from dataclasses import dataclass

from tvm import ir, relax
from tvm.relax.analysis import post_order_visit

_VIEW_OPS = (
    "relax.memory.view",
    "relax.memory.ensure_zero_offset",
)
#: `relax.reshape` means a value in a source program and a view once reshapes have been elided.
_ELIDED_OPS = (*_VIEW_OPS, "relax.reshape")
_IN_PLACE_OPS = ("relax.call_tir_inplace", "relax.call_inplace_packed")
_EXTERN_OPS = (
    "relax.call_pure_packed",
    "relax.call_inplace_packed",
    "relax.call_builtin_with_ctx",
    "relax.call_py_func",
    "relax.make_closure",
    "relax.invoke_closure",
    "relax.invoke_pure_closure",
)


@dataclass(frozen=True)
class Root:
    """A storage: `kind` is param, constant or fresh; `site` tells two of a kind apart."""

    kind: str
    site: tuple


class StorageRoots:
    """The roots of every variable of one function.

    A value's places are a frozenset of roots, or for a tuple a list of the places of its fields.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
    elided : bool
        Whether `relax.reshape` is a view, as it is once reshapes have been elided.
    on_every_path : bool
        Whether only roots count that both branches of an `If` give.

    Attributes
    ----------
    places : dict of Var to places
    result : places
        What the function returns.
    """

    def __init__(self, mod, function, *, elided, on_every_path=False, _active=()):
        self._mod, self._elided, self._on_every_path = mod, elided, on_every_path
        self._active = (*_active, function)
        self._sites = itertools.count()
        self._views = _ELIDED_OPS if elided else _VIEW_OPS
        self.places = {
            param: _fill(param.ty, lambda path, i=i: {Root("param", (i, *path))})
            for i, param in enumerate(function.params)
        }
        self.result = self.of(function.body)

    def of(self, expr):
        """The places of an expression whose variables have been visited."""
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    self.places[binding.var] = self._of_binding(binding)
            return self.of(expr.body)
        if isinstance(expr, relax.Var):
            return self.places[expr]
        if isinstance(expr, ir.Constant):
            return frozenset({self._new("constant")})
        if isinstance(expr, relax.Tuple):
            return [self.of(field) for field in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            return self.of(expr.tuple_value)[expr.index]
        if isinstance(expr, relax.If):
            branches = self.of(expr.true_branch), self.of(expr.false_branch)
            return (_common if self._on_every_path else _join)(*branches)
        if isinstance(expr, relax.Call):
            return self._of_call(expr)
        return frozenset()

    def _of_binding(self, binding):
        value = binding.value
        if isinstance(value, relax.Function):  # it may return what it captures
            captured = (
                self.places.get(var, frozenset()) for var in relax.analysis.free_vars(value)
            )
            return frozenset().union(*(leaf for places in captured for leaf in leaves(places)))
        return self.of(value)

    def _of_call(self, call):
        name = call.op.name if isinstance(call.op, ir.Op) else None
        if name in self._views:
            return self.of(call.args[0])
        if name == "relax.call_tir_inplace":
            args = list(call.args[1])
            parts = [
                self.of(args[int(index)]) if index >= 0 else frozenset({self._new("fresh")})
                for index in call.attrs.inplace_indices
            ]
            return parts if isinstance(call.ty, relax.TupleType) else parts[0]
        if isinstance(call.op, ir.GlobalVar) and isinstance(
            self._mod.functions.get(call.op), relax.Function
        ):
            return self._of_function_call(call, self._mod[call.op])
        if name in _EXTERN_OPS or isinstance(call.op, relax.ExternFunc | relax.Var):
            return self._any_argument(call)
        return _fill(call.ty, lambda _path: {self._new("fresh")})

    def _new(self, kind):
        return Root(kind, (next(self._sites),))

    def _of_function_call(self, call, callee):
        if any(callee.same_as(active) for active in self._active):
            return self._any_argument(call)
        summary = StorageRoots(
            self._mod,
            callee,
            elided=self._elided,
            on_every_path=self._on_every_path,
            _active=self._active,
        ).result

        site = next(self._sites)

        def at_call_site(root):
            if root.kind == "param":
                place = self.of(call.args[root.site[0]])
                for index in root.site[1:]:
                    place = place[index]
                return place
            return {Root(root.kind, (site, *root.site))}

        return _map(summary, lambda roots: frozenset().union(*map(at_call_site, roots)))

    def _any_argument(self, call):
        """An extern function, a closure, or a recursive call: any result may be any argument."""
        roots = {self._new("fresh")}
        closure = [call.op] if isinstance(call.op, relax.Var) else []
        for argument in (*closure, *call.args):
            for leaf in leaves(self.of(argument)):
                roots |= leaf
        return _fill(call.ty, lambda path: roots)


def may_write_in_place(mod):
    """Whether a Relax function of a module may call something that writes over its arguments.

    An impure function may, whatever it calls.
    """
    found = []

    def visit(expr):
        if isinstance(expr, relax.Call) and isinstance(expr.op, ir.Op):
            found.append(expr.op.name in _IN_PLACE_OPS)

    for _, function in mod.functions_items():
        if isinstance(function, relax.Function):
            found.append(not function.is_pure or bool(function.attrs.get("relax.force_pure", 0)))
            post_order_visit(function, visit)
    return any(found)


def leaves(places):
    """The root sets of a value's tensors, from left to right."""
    if isinstance(places, list):
        return [leaf for field in places for leaf in leaves(field)]
    return [places]


def _fill(ty, roots, path=()):
    """Places in the form of a type."""
    if isinstance(ty, relax.TupleType):
        return [_fill(field, roots, (*path, i)) for i, field in enumerate(ty.fields)]
    return frozenset(roots(path))


def _map(places, change):
    if isinstance(places, list):
        return [_map(field, change) for field in places]
    return change(places)


def _join(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return [_join(left, right) for left, right in zip(one, other)]
    return frozenset().union(*leaves(one), *leaves(other))


def _common(one, other):
    """The roots that both branches of an `If` give."""
    if isinstance(one, list) and isinstance(other, list):
        return [_common(left, right) for left, right in zip(one, other)]
    return frozenset.intersection(*leaves(one), *leaves(other))
