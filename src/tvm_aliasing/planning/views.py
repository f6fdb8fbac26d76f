"""Which slices, splits and reshapes need not run, because their results can be views."""

from tvm import sym, tirx

from ..analysis.alias_classes import AliasClasses
from ..analysis.bindings import bindings_of, is_call
from ..analysis.byte_ranges import has_byte_ranges
from ..analysis.flat_memory import keeps_bytes_in_place
from ..analysis.liveness import Liveness
from ..analysis.offsets import demands_zero_offset
from ..analysis.outputs import Outputs, are_as_long, is_donated
from ..analysis.places import leaves
from ..analysis.symbols import call_symbols, in_caller, output_types
from ..output_policies import may_be_part
from .profile import Profile


class Views:
    """The calls of a function that become views.

    A reshape always does, where memory is flat and who reads it can take it where it begins. A
    slice or a split does where that does not raise the most bytes live, and where the output policy
    does not have as many results copied again as kernels are saved.

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
    policy : str
        The output policy.

    Attributes
    ----------
    chosen : dict of Var to list of (Expr, TensorType, Expr)
        For each output of the call that a variable is bound to: what it is a view of, its type, and
        the byte at which it begins.
    """

    def __init__(self, mod, function, kernels, reshapes, flat_scopes, policy):
        self._mod, self._function, self._kernels = mod, function, kernels
        self._reshapes, self._flat_scopes, self._policy = reshapes, flat_scopes, policy
        self._classes = AliasClasses(mod, function, elided=True)
        self._demanding = demands_zero_offset(mod, function, self._classes)
        self._outputs = Outputs(self._classes)
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
        # The reshapes first: what ranges may raise is the peak that is left without them. What is
        # returned last, since it holds to the end what it is a range of.
        for kind in ("reshape", "inner range", "returned range"):
            self._choose(calls, kind)

    def _choose(self, calls, kind):
        """Choose among the calls of a kind."""
        for binding, views in calls:
            results = leaves(self._classes.places[binding.var])
            if binding.var not in self.chosen and self._kind(binding.value, results) == kind:
                if self._can_take(results, views) and self._pays(kind, results, views):
                    self.chosen[binding.var] = views
            if binding.var in self.chosen:
                for leaf, (source, _, begin) in zip(results, views):
                    self._inside.update(leaf if self._begins_inside(source, begin) else ())

    def _kind(self, call, results):
        if call.args[0] in self._reshapes:
            return "reshape"
        returned = any(self._outputs_in(leaf) for leaf in results)
        return "returned range" if returned else "inner range"

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

    def _pays(self, kind, results, views):
        """Whether to have views of a kind; from then on they share storage."""
        if kind == "reshape":
            self._share(results, views)
            return True
        copied = self._copied(results, views)
        return len(copied) < min(2, len(views)) and self._share(results, views, copied)

    def _copied(self, results, views):
        """The types of what the output policy would have copied again, one for each output."""
        return [
            ty
            for leaf, (source, ty, _) in zip(results, views)
            if not self._may_hold_outputs(source)
            for _ in self._outputs_in(leaf)
        ]

    def _outputs_in(self, leaf):
        """The outputs that share the storage of a result."""
        classes = set(map(self._profile.class_of, leaf))
        return [
            i
            for i, places in enumerate(self._outputs.places)
            if not classes.isdisjoint(map(self._profile.class_of, places))
        ]

    def _may_hold_outputs(self, source):
        """Whether outputs may be ranges of what a value lies in."""
        class_of, type_of = self._profile.class_of, self._outputs.type_of
        whole = {
            class_of(root)
            for root in self._outputs.whole
            if are_as_long(type_of(root), type_of(class_of(root)))
        }
        return all(
            may_be_part(
                self._policy,
                root,
                of_output=root in whole,
                donated=is_donated(self._function, root),
            )
            for root in map(class_of, self._classes.of(source))
        )

    def _begins_inside(self, source, begin):
        """Whether a view may begin after the first byte of its storage."""
        places = self._classes.of(source)
        at_zero = isinstance(begin, tirx.IntImm) and int(begin) == 0
        at_zero = at_zero and all(isinstance(at, int) and at == 0 for at in places.values())
        return not at_zero or not self._inside.isdisjoint(places)

    def _share(self, results, views, copied=()):
        """Whether the results can lie in what they are views of without raising the peak."""
        sources = {root for source, *_ in views for root in self._classes.of(source)}
        if len(sources) != 1:
            return not any(root.kind == "fresh" for root in sources)
        roots = [root for leaf in results for root in leaf]
        return self._profile.merge(roots, *sources, copied=sum(map(self._profile.size, copied)))
