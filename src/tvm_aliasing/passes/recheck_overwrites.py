"""After fusion and scheduling: prove again that what is overwritten has been read."""

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import AliasClasses
from ..analysis.bindings import bindings_of, is_call
from ..analysis.byte_ranges import may_overlap
from ..analysis.in_place import overwritable
from ..analysis.symbols import output_types
from ..attributes import NAMES_MERGED
from .copies import emit_copy_into


def overwrites_unproved(mod, call, classes):
    """Whether a `call_tir_inplace` overwrites an argument that its kernel may still read.

    Parameters
    ----------
    mod : tvm.IRModule
    call : relax.Call
    classes : AliasClasses
        Of the function that calls.

    Returns
    -------
    bool
    """
    proved = overwritable(mod[call.args[0]])
    arguments = list(call.args[1])
    written = {int(index) for index in call.attrs.inplace_indices}
    return any(
        other not in written
        and isinstance(argument.ty, relax.TensorType)
        and other not in proved.get(place, ())
        and may_overlap(arguments[place], argument, classes)
        for place in written
        for other, argument in enumerate(arguments)
    )


@tvm.transform.module_pass(opt_level=0, name="RecheckOverwrites")
class RecheckOverwrites:
    """Compute elsewhere, and copy into place, what can no longer be written over an argument.

    The proof belongs to the kernel as it is run. Another order of its loops, or another kernel
    fused with it, may read an element after it has been overwritten. A call as this project makes
    it: the places are its last arguments.
    """

    def transform_module(self, mod, _context):
        """Return the module with copies where a proof no longer holds."""
        checker = _Rechecker(mod)
        for name, function in mod.functions_items():
            if not isinstance(function, relax.Function):
                continue
            classes = AliasClasses(mod, function, elided=True)
            unproved = {
                binding.var
                for binding in bindings_of(function.body)
                if is_call(binding.value, "relax.call_tir_inplace")
                and overwrites_unproved(mod, binding.value, classes)
            }
            if unproved:
                function = checker.check(function, unproved)
            # `FuseTIR` has dropped renamings.
            checker.builder_.update_func(name, function.with_attr(NAMES_MERGED, True))
        return checker.builder_.get()


@mutator
class _Rechecker(PyExprMutator):
    def check(self, function, unproved):
        """A function with its unproved overwrites done in two steps."""
        self._unproved = unproved
        return self.visit_expr(function)

    def visit_var_binding_(self, binding):
        if binding.var not in self._unproved:
            super().visit_var_binding_(binding)
            return
        call, types = self.visit_expr(binding.value), output_types(binding.value)
        arguments = list(call.args[1])
        read, places = arguments[: -len(types)], arguments[-len(types) :]
        computed = self.builder_.emit(relax.op.call_tir(call.args[0], read, call.ty_args[0]))
        if len(types) == 1:
            made = emit_copy_into(self.builder_, computed, places[0])
        else:
            parts = [self.builder_.emit(relax.TupleGetItem(computed, i)) for i in range(len(types))]
            made = relax.Tuple(
                [emit_copy_into(self.builder_, *pair) for pair in zip(parts, places)]
            )
        self.builder_.emit_normalized(relax.VarBinding(binding.var, self.builder_.normalize(made)))
