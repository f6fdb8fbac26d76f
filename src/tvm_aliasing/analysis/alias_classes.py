"""Which storage each value of a Relax function may lie in, and where in it.

The one analysis that decides aliasing: forward, and may-alias. Each tensor has the roots that its
bytes may belong to, with the byte at which it begins in each. Two values may share bytes only
where they have a root in common; the variables that share one are an alias class. Passes and
planners ask it, at any stage from the source to the planned module.
"""

import itertools
from dataclasses import dataclass

import tvm_ffi
from tvm import ir, relax, sym, tirx
from tvm.relax.analysis import post_order_visit

from ..attributes import EXTERN_ALIAS
from .bindings import is_call

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


@dataclass(frozen=True)
class Memory:
    """Where a storage lies: the index of its virtual device in the module, and a memory scope."""

    device: int
    scope: str


class AliasClasses:
    """The places of every variable of one function.

    The places of a tensor are a dict of `Root` to the byte at which it begins there: an integer,
    an expression in symbolic sizes, or None for somewhere in it. Its size is that of its type. The
    places of a tuple are a list of those of its fields.

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
    binding_of : dict of Root to Binding
        What made each fresh root.
    """

    def __init__(self, mod, function, *, elided, on_every_path=False, _active=()):
        self._mod, self._elided, self._on_every_path = mod, elided, on_every_path
        self._active = (*_active, function)
        self._sites = itertools.count()
        self._binding = None
        self._views = _ELIDED_OPS if elided else _VIEW_OPS
        self._externs = dict(function.attrs.get(EXTERN_ALIAS, {})) if function.attrs else {}
        self._summaries = {}
        self.binding_of = {}
        self.places = {
            param: _fill(param.ty, lambda path, i=i: {Root("param", (i, *path)): 0})
            for i, param in enumerate(function.params)
        }
        self.result = self.of(function.body)

    def of(self, expr):
        """The places of an expression whose variables have been visited."""
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    outer, self._binding = self._binding, binding
                    self.places[binding.var] = self._of_binding(binding)
                    self._binding = outer
            return self.of(expr.body)
        if isinstance(expr, relax.Var):
            return self.places[expr]
        if isinstance(expr, ir.Constant):
            return self._new("constant")
        if isinstance(expr, relax.Tuple):
            return [self.of(field) for field in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            return self.of(expr.tuple_value)[expr.index]
        if isinstance(expr, relax.If):
            branches = self.of(expr.true_branch), self.of(expr.false_branch)
            return (_common if self._on_every_path else _join)(*branches)
        if isinstance(expr, relax.Call):
            return self._of_call(expr)
        return {}

    def memory_of(self, root):
        """The `Memory` that a fresh root lies in."""
        binding = self.binding_of[root]
        if is_call(binding.value, "relax.builtin.alloc_tensor"):
            return Memory(int(binding.value.args[2]), binding.value.args[3].value)
        ty = binding.var.ty
        for index in root.site[1:]:
            ty = ty.fields[index]
        return memory_of_type(self._mod, ty)

    def _of_binding(self, binding):
        value = binding.value
        if isinstance(value, relax.Function):  # it may return what it captures
            captured = (self.places.get(var, {}) for var in relax.analysis.free_vars(value))
            return dict.fromkeys(root for places in captured for root in roots_of(places))
        if isinstance(binding, relax.MatchCast):
            return _shaped_as(binding.ty, self.of(value))
        return self.of(value)

    def _of_call(self, call):
        name = call.op.name if isinstance(call.op, ir.Op) else None
        if name in self._views:
            return self._of_view(call, name)
        if name == "relax.call_tir_inplace":
            args = list(call.args[1])
            parts = [
                self.of(args[int(index)]) if index >= 0 else self._new("fresh")
                for index in call.attrs.inplace_indices
            ]
            return parts if isinstance(call.ty, relax.TupleType) else parts[0]
        if isinstance(call.op, ir.GlobalVar) and isinstance(
            self._mod.functions.get(call.op), relax.Function
        ):
            return self._of_function_call(call, self._mod[call.op])
        if name in _EXTERN_OPS or isinstance(call.op, relax.ExternFunc | relax.Var):
            return self._of_extern_call(call)
        site = next(self._sites)
        return _fill(call.ty, lambda path: self._root("fresh", (site, *path)))

    def _of_view(self, call, name):
        viewed = self.of(call.args[0])
        if name == "relax.memory.view":
            return {root: _sum(begin, _offset(call)) for root, begin in viewed.items()}
        if name == "relax.memory.ensure_zero_offset":  # a copy, where it is not at zero
            return {**viewed, **self._new("fresh")}
        return viewed

    def _new(self, kind):
        return self._root(kind, (next(self._sites),))

    def _root(self, kind, site):
        root = Root(kind, site)
        if kind == "fresh":
            self.binding_of[root] = self._binding
        return {root: 0}

    def _of_function_call(self, call, callee):
        if any(callee.same_as(active) for active in self._active):
            return self._any_argument(call)
        if call.op not in self._summaries:
            self._summaries[call.op] = AliasClasses(
                self._mod,
                callee,
                elided=self._elided,
                on_every_path=self._on_every_path,
                _active=self._active,
            ).result
        site = next(self._sites)

        def at_call_site(root, begin):
            if root.kind == "param":
                place = self.of(call.args[root.site[0]])
                for index in root.site[1:]:
                    place = place[index]
                # The symbols of the callee mean nothing here.
                begin = begin if isinstance(begin, int) else None
                return {outer: _sum(start, begin) for outer, start in place.items()}
            return self._root(root.kind, (site, *root.site))

        def translated(leaf):
            found = {}
            for root, begin in leaf.items():
                found = _join(found, at_call_site(root, begin))
            return found

        return _map(self._summaries[call.op], translated)

    def _of_extern_call(self, call):
        """What `ta.extern_alias` declares of a packed function, or all that it may do."""
        function, arguments = call.op, list(call.args)
        if isinstance(function, ir.Op) and arguments:
            function, *arguments = arguments
        declared = "may"
        if isinstance(function, relax.ExternFunc):
            declared = self._externs.get(function.global_symbol, "may")
        if declared == "fresh":
            site = next(self._sites)
            return _fill(call.ty, lambda path: self._root("fresh", (site, *path)))
        if declared.startswith("arg"):
            index = int(declared.removeprefix("arg"))
            if index < len(arguments):
                leaf = _anywhere_in([self.of(arguments[index])])
                return _fill(call.ty, lambda _path: leaf)
        return self._any_argument(call)

    def _any_argument(self, call):
        """An extern function, a closure, or a recursive call: any result may be any argument."""
        closure = [call.op] if isinstance(call.op, relax.Var) else []
        tuples = [self.of(argument) for argument in (*closure, *call.args)]
        leaf = {**self._new("fresh"), **_anywhere_in(tuples)}
        return _fill(call.ty, lambda _path: leaf)


def memory_of_type(mod, ty):
    """The `Memory` that a tensor of a type lies in; by default the first device's `global`."""
    if not isinstance(ty, relax.TensorType) or ty.vdevice is None:
        return Memory(0, "global")
    known = mod.global_infos.get("vdevice", ())
    index = next(
        (i for i, vdevice in enumerate(known) if tvm_ffi.structural_equal(vdevice, ty.vdevice)), 0
    )
    return Memory(index, ty.vdevice.memory_scope)


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
    """The places of a value's tensors, from left to right."""
    if isinstance(places, list):
        return [leaf for field in places for leaf in leaves(field)]
    return [places]


def roots_of(places):
    """The roots of all of a value's tensors, as a set."""
    return {root for leaf in leaves(places) for root in leaf}


def _fill(ty, leaf, path=()):
    """Places in the form of a type."""
    if isinstance(ty, relax.TupleType):
        return [_fill(field, leaf, (*path, i)) for i, field in enumerate(ty.fields)]
    return dict(leaf(path))


def _map(places, change):
    if isinstance(places, list):
        return [_map(field, change) for field in places]
    return change(places)


def _shaped_as(ty, places):
    """Places in the form of a type that a cast names: what was one value may be a tuple."""
    if isinstance(ty, relax.TupleType) and not isinstance(places, list):
        return [_shaped_as(field, _anywhere_in([places])) for field in ty.fields]
    return places


def _anywhere_in(places):
    return dict.fromkeys(root for value in places for root in roots_of(value))


def _join(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return [_join(left, right) for left, right in zip(one, other)]
    if isinstance(one, list) or isinstance(other, list):
        return _anywhere_in([one, other])
    joined = {**one, **other}
    for root in one.keys() & other.keys():
        joined[root] = one[root] if _same(one[root], other[root]) else None
    return joined


def _common(one, other):
    """The roots that both branches of an `If` give."""
    if isinstance(one, list) and isinstance(other, list):
        return [_common(left, right) for left, right in zip(one, other)]
    joined = _join(one, other)
    shared = roots_of(one) & roots_of(other)
    return {root: begin for root, begin in joined.items() if root in shared}


def _offset(view):
    """The relative byte offset of a `memory.view`: 0 where it is left out."""
    offset = view.args[3]
    if isinstance(offset, relax.Tuple):
        return 0
    return int(offset) if isinstance(offset, tirx.IntImm) else offset


def _sum(begin, more):
    return None if begin is None or more is None else begin + more


def _same(begin, other):
    """Whether two begins are known and equal."""
    if begin is None or other is None:
        return False
    difference = begin - other
    return difference == 0 if isinstance(difference, int) else _is_zero(difference)


def _is_zero(expr):
    return bool(sym.Analyzer().can_prove_equal(expr, 0))
