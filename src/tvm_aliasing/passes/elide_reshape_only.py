"""K1: where execution is generated, do not run a kernel that K0 says only reshapes."""

import tvm
from tvm import ir, relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import may_write_in_place
from ..analysis.flat_memory import keeps_bytes_in_place
from ..analysis.properties import DECLARED


@mutator
class _Elider(PyExprMutator):
    def __init__(self, mod, flat_scopes):
        super().__init__(mod)
        self.flat_scopes = flat_scopes

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not self._is_marked(call):
            return call
        # Symbolic sizes stand among the arguments: the tensor is not always the only one.
        (source,) = (arg for arg in call.args[1] if isinstance(arg.ty, relax.TensorType))
        result = call.ty_args[0]
        if not keeps_bytes_in_place(source.ty, result, self.flat_scopes):
            return call
        if any(isinstance(size, tirx.IntImm) and size.value == 0 for size in result.shape):
            return call  # `relax.reshape` reads 0 as "the same as before", and there is no byte
        return relax.op.reshape(source, result.shape)

    def _is_marked(self, call):
        """Ask the annotation, and nothing else."""
        if not call.op.same_as(ir.Op.get("relax.call_tir")):
            return False
        return DECLARED.reshape_only(self.builder_.get()[call.args[0]])


@tvm.transform.module_pass(opt_level=0, name="ElideReshapeOnly")
class ElideReshapeOnly:
    """Replace each call of a `reshape_only` PrimFunc by `relax.reshape`, which lowers to a view.

    In contrast to TVM's `RewriteDataflowReshape` it proves nothing anew, and it also elides block
    outputs, code outside dataflow blocks, and several fused reshapes in a row. It elides nothing in
    a module that writes in place: a view would then see, or pass on, the write.

    Parameters
    ----------
    flat_scopes : frozenset of str
        Memory scopes of the target where a reshape leaves every byte in its place. Elsewhere the
        kernel runs.
    """

    def __init__(self, flat_scopes):
        self.flat_scopes = flat_scopes

    def transform_module(self, mod, _context):
        """Return the module with the calls replaced."""
        if may_write_in_place(mod):
            return mod
        elider = _Elider(mod, self.flat_scopes)
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                elider.builder_.update_func(name, elider.visit_expr(function))
        return elider.builder_.get()
