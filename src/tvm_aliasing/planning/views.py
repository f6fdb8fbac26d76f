"""Which slices, splits and reshapes need not run, because their results can be views."""

from tvm import sym, tirx

from ..analysis.alias_classes import AliasClasses
from ..analysis.bindings import bindings_of, is_call
from ..analysis.flat_memory import keeps_bytes_in_place
from ..analysis.liveness import Liveness
from ..analysis.offsets import demands_zero_offset
from ..analysis.places import leaves, roots_of
from ..analysis.symbols import call_symbols, has_byte_ranges, in_caller, output_types
from .profile import Profile


class Views:
    """The calls of a function that become views.

    A reshape always does, where memory is flat and who reads it can take it where it begins. A
    slice or a split does where that does not raise the most bytes live.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
        Before `CallTIRRewrite`.
    kernels : dict of GlobalVar to dict
        The kernels that copy ranges out, as `ranges_viewed` describes them.
    reshapes : set of GlobalVar
        Those among them that only reshape.
    flat_scopes : frozenset of str
        Memory scopes of the target where a reshape leaves every byte in its place.

    Attributes
    ----------
    chosen : dict of Var to list of (Expr, TensorType, Expr)
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
        self.chosen = {}
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
                    self.chosen[binding.var] = views
            if binding.var in self.chosen:
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
            views.append((source, ty, sym.Analyzer().simplify(begin)))
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
