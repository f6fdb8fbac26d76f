"""A kernel that copies a tensor, and its call."""

from tvm import relax, tirx, topi


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
