"""Say in the graph that a kernel's results are ranges of what it reads: `memory.view`."""

import tvm
from tvm import relax, sym, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import AliasClasses, may_write_in_place
from ..analysis.bindings import bindings_of, is_call
from ..analysis.flat_memory import keeps_bytes_in_place
from ..analysis.liveness import Liveness
from ..analysis.moves import element_count, moves
from ..analysis.offsets import demands_zero_offset
from ..analysis.places import leaves, roots_of
from ..analysis.reshape_only import is_reshape_only
from ..analysis.symbols import call_symbols, has_byte_ranges, in_caller, output_types
from ..planning.profile import Profile
from ..values import item_bytes


def ranges_viewed(kernel):
    """The ranges that a kernel's outputs are, where it does nothing but copy them out.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
        In destination-passing style.

    Returns
    -------
    dict of int to (int, Expr), or None
        For each output, by its position among the parameters, the parameter that it is a range of
        and the element there with which it begins.
    """
    found, analyzer = {}, sym.Analyzer()
    position = {param: i for i, param in enumerate(kernel.params)}
    for move in moves(kernel) or ():
        if move.source not in position or move.dest not in position:
            return _as_reshape(kernel)
        whole = move.dest_begin is not None and analyzer.can_prove_equal(move.dest_begin, 0)
        whole = whole and analyzer.can_prove_equal(move.count, element_count(move.dest))
        output = position[move.dest]
        if not whole or output in found:
            return None
        found[output] = position[move.source], move.source_begin
    sources = {source for source, _ in found.values()}
    return found if found and not sources & found.keys() else None


def _as_reshape(kernel):
    """The same of a reshape in several steps, through buffers of its own."""
    if not is_reshape_only(kernel):
        return None
    source, output = (
        i for i, param in enumerate(kernel.params) if isinstance(param.ty, tirx.BufferType)
    )
    return {output: (source, tirx.const(0, "int64"))}


@tvm.transform.module_pass(opt_level=0, name="IntroduceViews")
class IntroduceViews:
    """Replace calls of kernels that only copy ranges out by views of what they read.

    A reshape always becomes one. A slice or a split becomes views where that does not raise the
    most bytes live: a view keeps all of what it is a range of. None is introduced in a module that
    writes in place, and none that what cannot take an offset would meet.

    Parameters
    ----------
    flat_scopes : frozenset of str
        Memory scopes of the target where a reshape leaves every byte in its place.
    ranges : bool
        Whether slices and splits count, besides reshapes.
    """

    def __init__(self, flat_scopes, ranges=True):
        self.flat_scopes, self.ranges = flat_scopes, ranges

    def transform_module(self, mod, _context):
        """Return the module with the views in place of the calls."""
        if may_write_in_place(mod):
            return mod
        kernels = {
            name: viewed
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc)
            and (viewed := ranges_viewed(function)) is not None
        }
        reshapes = {name for name in kernels if is_reshape_only(mod[name])}
        if not self.ranges:
            kernels = {name: kernels[name] for name in reshapes}
        changed = {}
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function) and kernels:
                views = _Chosen(mod, function, kernels, reshapes, self.flat_scopes).views
                changed[name] = _Viewer(mod, views).visit_expr(function)
        mod = mod.clone()
        mod.update(changed)
        return mod


class _Chosen:
    """The calls of a function that become views.

    Attributes
    ----------
    views : dict of Var to list of (Expr, TensorType, Expr)
        For each output of the call that a variable is bound to: what it is a view of, its type, and
        the byte at which it begins.
    """

    def __init__(self, mod, function, kernels, reshapes, flat_scopes):
        self._mod, self._kernels, self._flat_scopes = mod, kernels, flat_scopes
        self._classes = AliasClasses(mod, function, elided=True)
        self._demanding = demands_zero_offset(mod, function, self._classes)
        self._returned = roots_of(self._classes.result)
        liveness = Liveness(mod, function, self._classes)
        self._profile = Profile(function, self._classes, liveness)
        self._inside = set()  # roots that begin inside what they are a view of
        self.views = {}
        calls = [
            (binding, views)
            for binding in bindings_of(function.body)
            if is_call(binding.value, "relax.call_tir")
            and binding.value.args[0] in kernels
            and (views := self._views(binding.value)) is not None
        ]
        # The reshapes first: what ranges may raise is the peak that is left without them.
        for wanted in (True, False):
            self._choose(calls, reshapes, wanted)

    def _choose(self, calls, reshapes, wanted):
        """Choose among the calls of kernels that are, or are not, reshapes."""
        for binding, views in calls:
            results = leaves(self._classes.places[binding.var])
            if (binding.value.args[0] in reshapes) == wanted:
                good = self._can_take(results, views) and (wanted or self._pays(results, views))
                if good and (self._share(results, views) or wanted):
                    self.views[binding.var] = views
            if binding.var in self.views:
                for leaf, (source, _, begin) in zip(results, views):
                    self._inside.update(leaf if self._begins_inside(source, begin) else ())

    def _views(self, call):
        """What the call's results are views of, or None where memory or symbols forbid it."""
        kernel, arguments = self._mod[call.args[0]], list(call.args[1])
        symbols = call_symbols(kernel, call)
        views = []
        for output, ty in enumerate(output_types(call), start=len(arguments)):
            source, begin = self._kernels[call.args[0]][output]
            begin = in_caller(begin, symbols)
            source = arguments[source]
            if begin is None or not keeps_bytes_in_place(source.ty, ty, self._flat_scopes):
                return None
            if not has_byte_ranges(ty):
                return None
            begin = sym.Analyzer().simplify(begin * item_bytes(ty.dtype))
            views.append((source, ty, begin))
        return views

    def _can_take(self, results, views):
        """Whether all that use the results can do so where they would begin."""
        inside = {
            self._profile.class_of(root)
            for leaf, (source, _, begin) in zip(results, views)
            if self._begins_inside(source, begin)
            for root in leaf
        }
        return not inside or inside.isdisjoint(map(self._profile.class_of, self._demanding))

    def _pays(self, results, views):
        """Whether the output policy would not have the same results copied again."""
        returned = sum(not leaf.keys().isdisjoint(self._returned) for leaf in results)
        return returned < min(2, len(views))

    def _begins_inside(self, source, begin):
        """Whether a view may begin after the first byte of its storage."""
        places = self._classes.of(source)
        at_zero = isinstance(begin, tirx.IntImm) and int(begin) == 0
        at_zero = at_zero and all(isinstance(at, int) and at == 0 for at in places.values())
        return not at_zero or not self._inside.isdisjoint(places)

    def _share(self, results, views):
        """Whether the results can lie in what they are views of without raising the peak."""
        sources = {root for source, *_ in views for root in self._classes.of(source)}
        if len(sources) != 1:
            return not any(root.kind == "fresh" for root in sources)
        return self._profile.merge([root for leaf in results for root in leaf], *sources)


@mutator
class _Viewer(PyExprMutator):
    def __init__(self, mod, views):
        super().__init__(mod)
        self._views = views

    def visit_var_binding_(self, binding):
        views = self._views.get(binding.var)
        if views is None:
            super().visit_var_binding_(binding)
            return
        made = [
            relax.op.memory.view(self.visit_expr(source), ty.shape, ty.dtype, begin)
            for source, ty, begin in views
        ]
        if isinstance(binding.var.ty, relax.TupleType):
            made = relax.Tuple([self.builder_.emit(view) for view in made])
        else:
            (made,) = made
        made = self.builder_.normalize(made)
        self.builder_.emit_normalized(relax.VarBinding(binding.var, made))
