"""Say in the graph that a kernel's results are ranges of what it reads: `memory.view`."""

import tvm
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import may_write_in_place
from ..analysis.ranges import ranges_viewed
from ..analysis.reshape_only import is_reshape_only
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
    """

    def __init__(self, flat_scopes, policy, ranges=True):
        self.flat_scopes, self.policy, self.ranges = flat_scopes, policy, ranges

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
        if not self.ranges:
            kernels = {name: kernels[name] for name in kernels if is_reshape_only(mod[name])}
        changed = {}
        for name, policy in policies(mod, self.policy).items():
            if kernels:
                views = Views(mod, mod[name], kernels, self.flat_scopes, policy).chosen
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
