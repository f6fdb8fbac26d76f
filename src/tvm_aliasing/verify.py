"""Hazards of aliasing in a module."""

from .errors import UnsupportedError


def verify(mod, *, target=None, entry="main", donate=(), outputs="copy"):
    """Find the hazards of a Relax module.

    Raises
    ------
    UnsupportedError
        The verifier is not there yet.
    """
    raise UnsupportedError("verify is not there yet")
