"""The output policy: copies of the outputs that share more storage than it allows."""

import itertools

import tvm
from tvm import relax

from ..analysis.alias_classes import AliasClasses
from ..analysis.outputs import Outputs, is_donated
from ..attributes import SOURCE_ALIAS
from ..output_policies import policies, undeclared
from .copies import emit_copy


def outputs_to_copy(mod, function, policy):
    """Which outputs share storage in a way that neither the policy nor the source allows.

    Of two outputs that share storage the later one is copied, and a mere range of it in any case.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
    policy : str

    Returns
    -------
    set of int
        Positions of tensors in the result, counted from 0 through nested tuples.
    """
    outputs = Outputs(AliasClasses(mod, function, elided=True))
    declared = function.attrs.get(SOURCE_ALIAS, ()) if function.attrs else ()
    demanding = undeclared(outputs, policy, declared, lambda root: is_donated(function, root))
    copied = {sharing.output for sharing in demanding if sharing.kind != "output"}
    for sharing in demanding:
        if sharing.kind == "output" and copied.isdisjoint((sharing.output, sharing.other)):
            copied.add(sharing.output)
    return copied


@tvm.transform.module_pass(opt_level=0, name="CopyAliasingOutputs")
class CopyAliasingOutputs:
    """Return a copy of each output that shares storage though neither policy nor source allows it.

    Parameters
    ----------
    policy : str
        One of `output_policies.ALLOWED`.
    """

    def __init__(self, policy):
        self.policy = policy

    def transform_module(self, mod, _context):
        """Return the module with the copies appended to each function that needs them."""
        builder, policy_of = relax.BlockBuilder(mod), policies(mod, self.policy)
        for name in _callees_first(mod):
            # What a callee copies already, its callers need not copy again.
            positions = outputs_to_copy(builder.get(), mod[name], policy_of[name])
            if positions:
                builder.update_func(name, _copy_outputs(builder, mod[name], positions))
        return builder.get()


def _callees_first(mod):
    """The names of a module's Relax functions, each after those that it calls."""
    visited, ordered = set(), []

    def visit(name):
        if name not in visited and isinstance(mod[name], relax.Function):
            visited.add(name)
            for callee in relax.analysis.all_global_vars(mod[name]):
                visit(callee)
            ordered.append(name)

    for name in mod.get_global_vars():
        visit(name)
    return ordered


def _copy_outputs(builder, function, positions):
    """Append copies of some of a function's outputs to its body."""
    count = itertools.count()
    copies = {}  # a variable that is returned twice is copied once
    builder.begin_scope(list(function.params))
    builder._begin_binding_block()

    def rebuild(value, ty):
        if isinstance(ty, relax.TupleType):
            fields = (
                value.fields[i]
                if isinstance(value, relax.Tuple)
                else builder.emit(relax.TupleGetItem(value, i))
                for i in range(len(ty.fields))
            )
            return relax.Tuple([rebuild(*pair) for pair in zip(fields, ty.fields)])
        if next(count) not in positions:
            return value
        if value not in copies:
            copies[value] = emit_copy(builder, value)
        return copies[value]

    result = rebuild(function.body.body, function.ret_ty)
    copies = builder._end_block()
    body = builder.normalize(relax.SeqExpr([*function.body.blocks, copies], result))
    builder.end_scope()
    return relax.Function(
        function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span
    )
