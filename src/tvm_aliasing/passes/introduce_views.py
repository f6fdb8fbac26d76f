"""Say in the graph that a kernel's results are ranges of what it reads: `memory.view`."""

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import may_write_in_place
from ..analysis.properties import PROVED
from ..planning.views import Views


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
    properties : Properties
        Who says what a kernel copies: its body or its attributes.
    """

    def __init__(self, flat_scopes, ranges=True, properties=PROVED):
        self.flat_scopes, self.ranges, self.properties = flat_scopes, ranges, properties

    def transform_module(self, mod, _context):
        """Return the module with the views in place of the calls."""
        if may_write_in_place(mod):
            return mod
        kernels = {
            name: viewed
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc)
            and (viewed := self.properties.viewed(function)) is not None
        }
        reshapes = {name for name in kernels if self.properties.reshape_only(mod[name])}
        if not self.ranges:
            kernels = {name: kernels[name] for name in reshapes}
        changed = {}
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function) and kernels:
                views = Views(mod, function, kernels, reshapes, self.flat_scopes).chosen
                changed[name] = _Viewer(mod, views).visit_expr(function)
        mod = mod.clone()
        mod.update(changed)
        return mod


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
