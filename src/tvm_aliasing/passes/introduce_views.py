"""Say in the graph that a kernel's results are ranges of what it reads: `memory.view`."""

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import may_write_in_place
from ..analysis.properties import PROVED
from ..output_policies import policies
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
    policy : str
        The output policy.
    ranges : bool
        Whether slices and splits count, besides reshapes.
    properties : Properties
        Who says what a kernel copies: its body or its attributes.
    """

    def __init__(self, flat_scopes, policy, ranges=True, properties=PROVED):
        self.flat_scopes, self.policy = flat_scopes, policy
        self.ranges, self.properties = ranges, properties

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
        for name, policy in policies(mod, self.policy).items():
            if kernels:
                views = Views(mod, mod[name], kernels, reshapes, self.flat_scopes, policy).chosen
                changed[name] = _Viewer(mod, views).visit_expr(mod[name])
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
