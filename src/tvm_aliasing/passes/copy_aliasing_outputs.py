"""The default output policy: each output of a function has storage of its own."""

import itertools

import tvm
from tvm import relax, topi

from ..attributes import SOURCE_ALIAS
from .record_source_aliases import output_aliases


def outputs_to_copy(mod, function):
    """Which outputs would alias a parameter, a constant or another output undeclared.

    The one place that decides it. Of two outputs that share storage the later one is copied.

    Returns
    -------
    set of int
        Positions of tensors in the result, counted from 0 through nested tuples.
    """
    declared = function.attrs.get(SOURCE_ALIAS, ()) if function.attrs else ()
    undeclared = set(output_aliases(mod, function, elided=True)) - set(declared)
    return {int(pair.split("=")[0]) for pair in undeclared}


@tvm.transform.module_pass(opt_level=0, name="CopyAliasingOutputs")
class CopyAliasingOutputs:
    """Return a copy of each output that shares storage though the source does not say so."""

    def transform_module(self, mod, _context):
        """Return the module with the copies appended to each function that needs them."""
        builder = relax.BlockBuilder(mod)
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                positions = outputs_to_copy(mod, function)
                if positions:
                    builder.update_func(name, _copy_outputs(builder, function, positions))
        return builder.get()


def _copy_outputs(builder, function, positions):
    """Append copies of some of a function's outputs to its body."""
    count = itertools.count()
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
        return builder.emit(builder.call_te(topi.identity, value, primfunc_name_hint="copy"))

    result = rebuild(function.body.body, function.ret_ty)
    copies = builder._end_block()
    body = builder.normalize(relax.SeqExpr([*function.body.blocks, copies], result))
    builder.end_scope()
    return relax.Function(
        function.params, body, function.ret_ty, function.is_pure, function.attrs, function.span
    )
