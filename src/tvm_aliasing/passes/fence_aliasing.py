"""Early aliasing behind a fence: what it is about stays out of fusion groups, and stays."""

import itertools

import tvm
import tvm_ffi
from tvm import ir, relax

from ..analysis.bindings import is_call, operator_of
from ..analysis.expressions import variables
from ..analysis.operators import ALLOCATIONS, IN_PLACE, TIE, VIEWS
from ..attributes import RESHAPE_ONLY, VIEW_OF
from .keep_moves_apart import OPAQUE


@tvm.transform.module_pass(opt_level=0, name="FenceAliasing")
class FenceAliasing:
    """Keep fusion away from bindings that are about aliasing, and keep those bindings.

    They get blocks of their own between dataflow blocks, so that no read moves over a write. What
    is written into a buffer has no use that TVM's passes see, and they would drop it: it is tied to
    the result by a call that passes it on. Kernels that are only marked as views are made opaque to
    `FuseOps`.
    """

    def transform_module(self, mod, _context):
        """Return the module with the fence."""
        fenced = {}
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                fenced[name] = _with_body(function, _fenced(function.body))
            elif function.attrs and (RESHAPE_ONLY in function.attrs or VIEW_OF in function.attrs):
                fenced[name] = function.with_attr("op_pattern", OPAQUE)
        mod = mod.clone()
        mod.update(fenced)
        return _typed(mod)


@tvm.transform.module_pass(opt_level=0, name="RemoveFence")
class RemoveFence:
    """Take the ties of `FenceAliasing` away, which would keep storage live to the end."""

    def transform_module(self, mod, _context):
        """Return the module without them."""
        mod = mod.clone()
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                mod[name] = _with_body(function, _untied(function.body))
        return _typed(mod)


def is_about_aliasing(binding):
    """Whether a binding makes a buffer or a view, or writes in place."""
    return operator_of(binding.value) in (*ALLOCATIONS, *VIEWS, *IN_PLACE)


def _typed(mod):
    """A module with the types that a rebuilt body lacks."""
    return relax.transform.Normalize()(mod)


def _with_body(function, body):
    return relax.Function(
        function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span
    )


def _in_branches(bindings, change):
    """Bindings with the bodies of their branches changed."""
    for binding in bindings:
        value = binding.value
        if isinstance(value, relax.If):
            branches = change(value.true_branch), change(value.false_branch)
            binding = relax.VarBinding(binding.var, relax.If(value.cond, *branches, value.span))
        yield binding


def _fenced(body):
    """A body with its dataflow blocks parted and what nothing uses tied to its result."""
    blocks = []
    for block in body.blocks:
        bindings = list(_in_branches(block.bindings, _fenced))
        if isinstance(block, relax.DataflowBlock):
            blocks += [
                (relax.BindingBlock if apart else relax.DataflowBlock, list(group))
                for apart, group in itertools.groupby(bindings, is_about_aliasing)
            ]
        else:
            blocks.append((relax.BindingBlock, bindings))
    crossing = _crossing(blocks, body.body)

    def in_new_vars(node):
        return tvm_ffi.structural_map(node, (ir.Var, lambda var: crossing.get(var, var)))

    parted = [kind(list(map(in_new_vars, bindings))) for kind, bindings in blocks]
    return _tied(relax.SeqExpr(parted, in_new_vars(body.body)))


def _crossing(blocks, result):
    """For each dataflow variable that is used outside the block that binds it, one that can be."""
    block_of = {binding.var: i for i, (_, bindings) in enumerate(blocks) for binding in bindings}
    crossing = {var for var, i in block_of.items() if blocks[i][0] is relax.BindingBlock}
    crossing.update(variables(result))
    for i, (_, bindings) in enumerate(blocks):
        for binding in bindings:
            crossing.update(var for var in variables(binding.value) if block_of.get(var) != i)
    return {
        var: relax.Var(var.name, var.ty) for var in crossing if isinstance(var, relax.DataflowVar)
    }


def _tied(body):
    bindings = [binding for block in body.blocks for binding in block.bindings]
    used, unused = set(variables(body.body)), []
    for binding in reversed(bindings):
        # A use by what has no use itself is none.
        if binding.var not in used and operator_of(binding.value) in IN_PLACE:
            unused.insert(0, binding.var)
            used.add(binding.var)
        if binding.var in used:
            used.update(variables(binding.value))
    if not unused:
        return body
    tie = relax.op.call_pure_packed(TIE, body.body, *unused, ty_args=body.body.ty)
    result = relax.Var("result", body.body.ty)
    return relax.SeqExpr(
        [*body.blocks, relax.BindingBlock([relax.VarBinding(result, tie)])], result
    )


def _untied(body):
    """A body without the ties in it."""
    blocks = [(type(block), list(_in_branches(block.bindings, _untied))) for block in body.blocks]
    value_of = {binding.var: binding.value for _, bindings in blocks for binding in bindings}
    tie = value_of.get(body.body)
    if not is_call(tie, "relax.call_pure_packed") or tie.args[0].global_symbol != TIE:
        return relax.SeqExpr([kind(bindings) for kind, bindings in blocks], body.body)
    kept = [
        kind([binding for binding in bindings if not binding.value.same_as(tie)])
        for kind, bindings in blocks
    ]
    return relax.SeqExpr(kept, tie.args[1])
