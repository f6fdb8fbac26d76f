"""Copies for those that cannot take a tensor at an offset: packed functions, `If`, and others."""

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import AliasClasses, may_write_in_place
from ..analysis.bindings import bindings_of
from ..analysis.offsets import begins_inside, read_from_first_byte
from .copies import emit_copy


@tvm.transform.module_pass(opt_level=0, name="CopyForExterns")
class CopyForExterns:
    """Copy a tensor that may begin inside its storage where that is read from its first byte.

    A copy kernel takes it at its offset, like every kernel. Nothing is copied in a module that
    writes in place: a write to the copy would be lost.
    """

    def transform_module(self, mod, _context):
        """Return the module with the copies before the calls."""
        if may_write_in_place(mod):
            return mod
        copier = _Copier(mod)
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                copied = tensors_to_copy(mod, function)
                if copied:
                    copier.builder_.update_func(name, copier.copy(function, copied))
        return copier.builder_.get()


def tensors_to_copy(mod, function):
    """The variables that a binding reads from their first byte though they may begin elsewhere.

    What has no type of a tensor, such as an object of a packed function, cannot be copied.

    Returns
    -------
    dict of Var to list of (Var, places)
        By the variable of the binding; the places as `AliasClasses` has them.
    """
    classes = AliasClasses(mod, function, elided=True)
    found = {}
    for binding in bindings_of(function.body):
        read = [
            (var, classes.of(var))
            for var in read_from_first_byte(mod, binding.value)
            if begins_inside(classes.of(var)) and not isinstance(var.ty, relax.AnyType)
        ]
        if read:
            found[binding.var] = read
    return found


@mutator
class _Copier(PyExprMutator):
    def copy(self, function, copied):
        """A function with the copies in it."""
        self._copied = copied
        self._copies = {}
        return self.visit_expr(function)

    def visit_var_binding_(self, binding):
        for var, places in self._copied.get(binding.var, ()):
            self._copies[var] = self._with_copies(self.visit_expr(var), places)
        super().visit_var_binding_(binding)
        self._copies = {}

    def visit_var_(self, var):
        return self._copies.get(var, super().visit_var_(var))

    def visit_dataflow_var_(self, var):
        return self._copies.get(var, super().visit_dataflow_var_(var))

    def _with_copies(self, value, places):
        """A value with copies in place of the tensors in it that may begin elsewhere."""
        if isinstance(value.ty, relax.TupleType):
            fields = [
                self._with_copies(self.builder_.emit(relax.TupleGetItem(value, i)), field)
                for i, field in enumerate(places)
            ]
            return self.builder_.emit(relax.Tuple(fields))
        if isinstance(value.ty, relax.TensorType) and begins_inside(places):
            return emit_copy(self.builder_, value)
        return value
