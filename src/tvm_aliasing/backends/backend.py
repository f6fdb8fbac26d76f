"""What the rest of the project needs to know of a target."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Backend:
    """A kind of target.

    Attributes
    ----------
    kind : str
        TVM's target kind.
    device : callable
        Returns the device that runs the target's code.
    flat_scopes : frozenset of str
        Memory scopes in which a tensor's bytes lie in row-major order, so that a reshape leaves
        each of them in its place. Texture scopes are not among them.
    schedules : callable
        From a target to the pass that schedules its kernels.
    """

    kind: str
    device: Callable
    flat_scopes: frozenset[str]
    schedules: Callable
