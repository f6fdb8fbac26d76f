"""A kernel that copies a tensor, and calls of kernels that are given where to write."""

from tvm import relax, tirx, topi

from ..analysis.symbols import output_types


def emit_copy(builder, value):
    """Emit the copy of a tensor into storage of its own.

    Parameters
    ----------
    builder : relax.BlockBuilder
    value : relax.Expr

    Returns
    -------
    relax.Expr

    Raises
    ------
    ValueError
        The rank or the dtype of the tensor is not known.
    """
    ty = value.ty
    if not isinstance(ty, relax.TensorType) or ty.ndim < 0 or ty.dtype is None:
        raise ValueError(
            f"a value of type {ty} may alias another and cannot be copied: "
            "give it a rank and a dtype with match_cast"
        )
    if not isinstance(ty.shape, relax.ShapeExpr):
        sizes = [tirx.Var(f"size{i}", "int64") for i in range(ty.ndim)]
        value = builder.match_cast(value, relax.TensorType(sizes, ty.dtype, ty.vdevice))
    return builder.emit(builder.call_te(topi.identity, value, primfunc_name_hint="copy"))


def emit_copy_into(builder, value, place):
    """Emit the copy of a tensor into a place of its type; the result is that place.

    Parameters
    ----------
    builder : relax.BlockBuilder
    value, place : relax.Expr

    Returns
    -------
    relax.Expr
    """
    copy = builder.call_te(topi.identity, value, primfunc_name_hint="copy")
    return builder.emit(with_places(copy, [place]), "copied")


def with_places(call, places):
    """A `call_tir` as a call that is given the places of its results, as last arguments."""
    kernel, arguments = call.args[0], list(call.args[1])
    indices = list(range(len(arguments), len(arguments) + len(places)))
    types = output_types(call)
    return relax.op.call_tir_inplace(
        kernel,
        relax.Tuple([*arguments, *places]),
        indices,
        types if isinstance(call.ty_args[0], relax.TupleType) else types[0],
    )
