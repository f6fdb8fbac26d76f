"""Symbolic sizes of a kernel in those of the function that calls it."""

import tvm_ffi
from tvm import ir, relax, tirx

from .bindings import bindings_of
from .expressions import variables


def call_symbols(kernel, call):
    """What the symbolic sizes of a kernel stand for where `call_tir` calls it.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
    call : relax.Call
        Of `call_tir`, by which a kernel gets its arguments and then its outputs.

    Returns
    -------
    dict of Var to Expr
    """
    found = {}
    types = [argument.ty for argument in call.args[1]] + output_types(call)
    for param, argument, ty in zip(kernel.params, [*call.args[1], *[None] * len(types)], types):
        if not isinstance(param.ty, tirx.BufferType):
            if argument is not None:
                found[param] = argument
        elif isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
            found |= {
                size: actual
                for size, actual in zip(param.ty.shape, ty.shape.values)
                if isinstance(size, ir.Var)
            }
    return found


def in_caller(expr, symbols):
    """An expression of a kernel in the caller's symbols, or None where one stands for nothing."""
    if isinstance(expr, tirx.IntImm):
        return expr
    if any(var not in symbols for var in variables(expr)):
        return None
    return tvm_ffi.structural_map(expr, (ir.Var, lambda var: symbols.get(var, var)))


def output_types(call):
    """The types of the tensors that a call of a kernel makes."""
    ty = call.ty_args[0]
    return list(ty.fields) if isinstance(ty, relax.TupleType) else [ty]


def points_of_symbols(function, liveness):
    """The points at which `match_cast` says what symbolic sizes are; those of parameters have none.

    Parameters
    ----------
    function : tvm.relax.Function
    liveness : Liveness
        Of that function.

    Returns
    -------
    dict of Var to int
    """
    known = {var for param in function.params for var in relax.analysis.tir_vars_in_type(param.ty)}
    found = {}
    for binding in bindings_of(function.body):
        if isinstance(binding, relax.MatchCast):
            for var in relax.analysis.tir_vars_in_type(binding.ty):
                if var not in known:
                    found.setdefault(var, liveness.point_of[binding.var])
    return found
