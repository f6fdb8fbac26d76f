"""Which storage each value of a Relax function may lie in, and where in it.

The one analysis that decides aliasing: forward, and may-alias. Each tensor has the roots that its
bytes may belong to, with the byte at which it begins in each. Two values may share bytes only
where they have a root in common; the variables that share one are an alias class. Passes and
planners ask it, at any stage from the source to the planned module.
"""

import itertools
from dataclasses import dataclass

import tvm_ffi
from tvm import ir, relax, tirx

from .bindings import bindings_of, callee_of, is_call, operator_of
from .externs import declared_aliases
from .flat_memory import memory_scope
from .operators import AT_ZERO, ELIDED, EXTERN_CALLS, IN_PLACE, TIE, VIEWS
from .places import anywhere_in, common, fill, join, mapped, roots_of, shaped_as, shifted


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
    trusting : bool
        Whether a packed function that may return an argument is taken not to.

    Attributes
    ----------
    places : dict of Var to places
    result : places
        What the function returns.
    binding_of : dict of Root to Binding
        What made each fresh root.
    made_in_callee : dict of Root to (AliasClasses, Root)
        For each root that a called function makes, what it is there.
    foreign : set of Root
        Those among the fresh ones that the program may not have made: a packed function of which
        nothing is declared may return what it keeps to itself.
    function : tvm.relax.Function
    """

    def __init__(self, mod, function, *, elided, on_every_path=False, trusting=False, _active=()):
        self.function = function
        self._mod, self._elided, self._on_every_path = mod, elided, on_every_path
        self._trusting = trusting
        self._active = (*_active, function)
        self._sites = itertools.count()
        self._binding = None
        self._externs = declared_aliases(function)
        self._summaries = {}
        self.made_in_callee = {}
        self.binding_of = {}
        self.foreign = set()
        self.places = {
            param: fill(param.ty, lambda path, i=i: {Root("param", (i, *path)): 0})
            for i, param in enumerate(function.params)
        }
        self.result = shaped_as(function.ret_ty, self.of(function.body))

    def of(self, expr):
        """The places of an expression whose variables have been visited."""
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings[:]:
                    outer, self._binding = self._binding, binding
                    self.places[binding.var] = shaped_as(binding.var.ty, self._of_binding(binding))
                    self._binding = outer
            return self.of(expr.body)
        if isinstance(expr, relax.Var):  # one of a size, or of a function inside, has no places
            return self.places.get(expr, {})
        if isinstance(expr, ir.Constant) and isinstance(expr.ty, relax.TensorType):
            return self._new("constant")  # and no number or word
        if isinstance(expr, relax.Tuple):
            return [self.of(field) for field in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            return self.of(expr.tuple_value)[expr.index]
        if isinstance(expr, relax.If):
            branches = self.of(expr.true_branch), self.of(expr.false_branch)
            return (common if self._on_every_path else join)(*branches)
        if isinstance(expr, relax.Call):
            return self._of_call(expr)
        return {}

    def memory_of(self, root):
        """The `Memory` that a root lies in, which is no constant's."""
        if root in self.made_in_callee:
            classes, inner = self.made_in_callee[root]
            return classes.memory_of(inner)
        made = self.binding_of.get(root)
        if made is not None and is_call(made.value, "relax.builtin.alloc_tensor"):
            return Memory(int(made.value.args[2]), made.value.args[3].value)
        return memory_of_type(self._mod, self.type_of(root))

    def type_of(self, root):
        """The type of a parameter, or of what a root was made as.

        The symbols in it may be a called function's.
        """
        if root in self.made_in_callee:
            classes, inner = self.made_in_callee[root]
            return classes.type_of(inner)
        made = (
            self.function.params[root.site[0]]
            if root.kind == "param"
            else self.binding_of[root].var
        )
        ty = made.ty
        for index in root.site[1:]:
            ty = ty.fields[index]
        return ty

    def _of_binding(self, binding):
        value = binding.value
        if isinstance(value, relax.Function):  # it may return what it captures
            captured = (self.places.get(var, {}) for var in relax.analysis.free_vars(value))
            return dict.fromkeys(root for places in captured for root in roots_of(places))
        return self.of(value)

    def _of_call(self, call):
        name = operator_of(call)
        if name in VIEWS:
            viewed = self.of(call.args[0])
            return {root: shifted(begin, _offset(call)) for root, begin in viewed.items()}
        if name in AT_ZERO:
            return {**self.of(call.args[0]), **self._new("fresh")}
        if name in ELIDED and (self._elided or isinstance(call.op, relax.ExternFunc)):
            return self.of(call.args[0])
        if name == "relax.call_tir_inplace":
            args, site = list(call.args[1]), next(self._sites)
            parts = [
                self.of(args[int(index)]) if index >= 0 else self._root("fresh", (site, output))
                for output, index in enumerate(call.attrs.inplace_indices)
            ]
            return parts if isinstance(call.ty, relax.TupleType) else parts[0]
        if name == "relax.call_pure_packed" and call.args[0].global_symbol == TIE:
            return self.of(call.args[1])
        callee = callee_of(call, self._mod)
        if isinstance(callee, relax.Function):
            return self._of_function_call(call, callee)
        if name in EXTERN_CALLS or (name is None and not isinstance(callee, tirx.PrimFunc)):
            return self._of_extern_call(call)
        site = next(self._sites)
        return fill(call.ty, lambda path: self._root("fresh", (site, *path)))

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
            self._summaries[call.op] = type(self)(
                self._mod,
                callee,
                elided=self._elided,
                on_every_path=self._on_every_path,
                trusting=self._trusting,
                _active=self._active,
            )
        summary, site = self._summaries[call.op], next(self._sites)

        def at_call_site(root, begin):
            # The symbols of the callee mean nothing here.
            begin = begin if isinstance(begin, int) else None
            if root.kind == "param":
                position, *path = root.site
                place = shaped_as(callee.params[position].ty, self.of(call.args[position]))
                for index in path:
                    place = place[index]
                return {outer: shifted(start, begin) for outer, start in place.items()}
            (made,) = self._root(root.kind, (site, *root.site))
            self.made_in_callee[made] = summary, root
            if root in summary.foreign:
                self.foreign.add(made)
            return {made: begin}

        def translated(leaf):
            found = {}
            for root, begin in leaf.items():
                found = join(found, at_call_site(root, begin))
            return found

        return mapped(summary.result, translated)

    def _of_extern_call(self, call):
        """What `ta.extern_alias` declares of a packed function, or all that it may do."""
        function, arguments = call.op, list(call.args)
        if isinstance(function, ir.Op) and arguments:
            function, *arguments = arguments
        if is_call(call, "relax.call_builtin_with_ctx"):  # one tuple of arguments
            arguments = list(arguments[0])
        declared = "may"
        if isinstance(function, relax.ExternFunc):
            declared = self._externs.get(function.global_symbol, "may")
            if self._trusting and declared == "may":
                declared = "fresh"
        if declared == "fresh":
            site = next(self._sites)
            return fill(call.ty, lambda path: self._root("fresh", (site, *path)))
        if declared.startswith("arg"):
            index = int(declared.removeprefix("arg"))
            if index < len(arguments):
                leaf = anywhere_in([self.of(arguments[index])])
                return fill(call.ty, lambda _path: leaf)
        return self._any_argument(call)

    def _any_argument(self, call):
        """An extern function, a closure, or a recursive call: any result may be any argument."""
        closure = [call.op] if isinstance(call.op, relax.Var) else []
        tuples = [self.of(argument) for argument in (*closure, *call.args)]
        made = self._new("fresh")
        self.foreign.update(made)
        leaf = {**made, **anywhere_in(tuples)}
        return fill(call.ty, lambda _path: leaf)


def memory_of_type(mod, ty):
    """The `Memory` of a tensor of a type; by default on the first device of scope `global`."""
    known = list(mod.global_infos.get("vdevice", ()))
    scope = memory_scope(ty)
    if isinstance(ty, relax.TensorType) and ty.vdevice is not None:
        is_it = [tvm_ffi.structural_equal(vdevice, ty.vdevice) for vdevice in known]
    else:
        is_it = [vdevice.memory_scope == scope for vdevice in known]  # as CallTIRRewrite has it
    return Memory(is_it.index(True) if any(is_it) else 0, scope)


def may_write_in_place(mod):
    """Whether a Relax function of a module may call something that writes over its arguments.

    An impure function may, whatever it calls.
    """
    return any(
        _writes_in_place(function)
        for _, function in mod.functions_items()
        if isinstance(function, relax.Function)
    )


def _writes_in_place(function):
    if not function.is_pure or (function.attrs and function.attrs.get("relax.force_pure", 0)):
        return True
    values = [binding.value for binding in bindings_of(function.body)]
    return any(
        _writes_in_place(value)
        if isinstance(value, relax.Function)
        else operator_of(value) in IN_PLACE
        for value in values
    )


def _offset(view):
    """The relative byte offset of a `memory.view`: 0 where it is left out."""
    offset = view.args[3]
    if isinstance(offset, relax.Tuple):
        return 0
    return int(offset) if isinstance(offset, tirx.IntImm) else offset
