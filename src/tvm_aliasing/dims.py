"""Symbolic dimensions and the sizes that callers give for them."""

from numbers import Integral

from tvm import relax

from .errors import InputError


def check_sizes(dims):
    """Raise InputError unless `dims` maps names to integers of at least 1."""
    if not isinstance(dims, dict):
        raise InputError(f"dims is {dims!r}: give a dict of name to size")
    for name, size in dims.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size < 1:
            raise InputError(f"dimension {name} must be an integer of at least 1, not {size!r}")


def check_dims(source, needed, dims):
    """Raise InputError unless `dims` names known dimensions only, with sizes of at least 1.

    Parameters
    ----------
    source : str
        The file, for the message.
    needed : dict of str to str
        The dynamic dimensions by name; the value says where each occurs.
    dims : dict of str to int
    """
    check_sizes(dims)
    for name in dims:
        if name not in needed:
            known = ", ".join(needed) or "none, all its shapes are fixed"
            raise InputError(f"{source} has no dimension {name!r}; its dynamic dimensions: {known}")


def require_dims(source, needed, dims):
    """Raise InputError if a dimension of `needed` has no size in `dims`."""
    missing = {name: where for name, where in needed.items() if name not in dims}
    if missing:
        places = ", ".join(f"{name} ({where})" for name, where in missing.items())
        flags = " ".join(f"--dim {name}=4" for name in missing)
        raise InputError(
            f"{source} has dynamic dimensions without a size: {places}; give each one, for"
            f" example {flags}"
        )


def symbolic_dims(func):
    """Return the symbolic dimensions of a function's parameters and where each occurs first."""
    found = {}
    for param in func.params:
        for var in relax.analysis.tir_vars_in_type(param.ty):
            found.setdefault(var.name, f"in {param.name}")
    return found
