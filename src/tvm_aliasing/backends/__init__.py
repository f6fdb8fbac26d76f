"""Targets: from what a caller writes to TVM's target, its device and its memory."""

import tvm

from ..errors import InputError, UnsupportedError
from .backend import Backend
from .llvm import LLVM

BACKENDS = {backend.kind: backend for backend in (LLVM,)}


def resolve_target(target):
    """TVM's target for what a caller wrote.

    Parameters
    ----------
    target : str, dict or tvm.target.Target

    Returns
    -------
    tvm.target.Target

    Raises
    ------
    InputError
        TVM knows no such target.
    UnsupportedError
        TVM knows it, this project does not build for it yet.
    """
    if not isinstance(target, tvm.target.Target):
        try:
            target = tvm.target.Target(target)
        except (ValueError, TypeError, RuntimeError) as error:
            known = ", ".join(sorted(BACKENDS))
            raise InputError(f"unknown target {target!r}: use one of {known}") from error
    backend_of(target)
    return target


def backend_of(target):
    """The `Backend` of a TVM target."""
    backend = BACKENDS.get(target.kind.name)
    if backend is None:
        known = ", ".join(sorted(BACKENDS))
        raise UnsupportedError(f"target {target.kind.name} is not there yet: use one of {known}")
    return backend


__all__ = ["BACKENDS", "Backend", "backend_of", "resolve_target"]
