"""The planners `token` and `arena`: tensors to storages, on the one alias analysis."""

import tvm
from tvm import relax
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..planning.allocations import allocations
from ..planning.storages import arena_storages, token_storages


def storages_before(storages, function, liveness):
    """Where each storage is allocated: before what it holds, on every path to it.

    Parameters
    ----------
    storages : list of Storage
    function : tvm.relax.Function
    liveness : Liveness

    Returns
    -------
    dict of Var to list of Storage
        By the variable of the binding that the allocation goes before.
    """
    before = {}
    for storage in storages:
        first = storage.held[0][0]
        if first.path == storage.path:
            var = first.var
        else:  # branches share it: before the `If` that parts them
            branching, _ = first.path[len(storage.path)]
            var = liveness.points[branching].binding.var
        before.setdefault(var, []).append(storage)
    return before


@mutator
class _Planner(PyExprMutator):
    def __init__(self, mod, storages, before):
        super().__init__(mod)
        self._before = before
        self._offsets = {a.var: offset for storage in storages for a, offset in storage.held}
        self._storage_of = {}  # allocation's variable -> its storage's, once that is allocated

    def visit_var_binding_(self, binding):
        self._allocate_before(binding)
        if binding.var not in self._offsets:
            super().visit_var_binding_(binding)
            return
        shape, dtype, device, _scope = binding.value.args
        storage, offset = self._storage_of[binding.var], self._offsets[binding.var]
        tensor = relax.op.memory.alloc_tensor(storage, offset, shape, dtype, device)
        tensor = self.builder_.normalize(tensor)
        self.builder_.emit_normalized(relax.VarBinding(binding.var, tensor))

    def visit_match_cast_(self, binding):
        self._allocate_before(binding)
        super().visit_match_cast_(binding)

    def _allocate_before(self, binding):
        for storage in self._before.get(binding.var, ()):
            size = relax.ShapeExpr([storage.size])
            allocated = relax.op.memory.alloc_storage(
                size, storage.memory.device, storage.memory.scope, storage.dtype
            )
            var = self.builder_.emit(allocated, "storage")
            self._storage_of |= {allocation.var: var for allocation, _ in storage.held}


class _Plan:
    """Give the tensors of each Relax function places in storages.

    Runs after `ToNonDataflow` and `CallTIRRewrite`. What no planner may move keeps its
    `builtin.alloc_tensor`, which TVM lowers to a storage of its own.
    """

    def transform_module(self, mod, _context):
        """Return the module with `memory.alloc_storage` and `memory.alloc_tensor` in place."""
        planned = {}
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                found, liveness = allocations(mod, function)
                storages = type(self).storages(found)
                before = storages_before(storages, function, liveness)
                planned[name] = _Planner(mod, storages, before).visit_expr(function)
        mod = mod.clone()
        mod.update(planned)
        return mod


@tvm.transform.module_pass(opt_level=0, name="PlanTokens")
class PlanTokens(_Plan):
    """One storage a token, as TVM's planner has it: each tensor begins its storage."""

    storages = staticmethod(token_storages)


@tvm.transform.module_pass(opt_level=0, name="PlanArena")
class PlanArena(_Plan):
    """One arena for each device and memory scope: tensors lie in its storages at byte offsets."""

    storages = staticmethod(arena_storages)
