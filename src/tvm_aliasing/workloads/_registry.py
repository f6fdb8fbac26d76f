"""The list of workloads: functions register themselves here and are called when asked for."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import tvm

from ..errors import InputError


@dataclass(frozen=True, eq=False)
class Workload:
    """A Relax module with weights, inputs and the result that it must have.

    Attributes
    ----------
    name : str
        The name that `workload` takes.
    description : str
        One sentence: what the workload shows.
    mod : tvm.IRModule
        Relax before legalisation. ``main`` takes the inputs, then the weights by name.
    params : dict of str to numpy.ndarray
        The weights, float32.
    inputs : tuple of numpy.ndarray
        The inputs in the order of ``main``'s first parameters, float32.
    expected : numpy.ndarray or nested tuple of numpy.ndarray
        The result, nested as that of ``main``, computed by NumPy in float64 and rounded to
        float32.
    dims : dict of str to int
        Upper bound of each symbolic dimension, by name; empty if all shapes are static.
    """

    name: str
    description: str
    mod: tvm.IRModule
    params: dict
    inputs: tuple
    expected: np.ndarray | tuple
    dims: dict = field(default_factory=dict)


@dataclass(frozen=True)
class _Entry:
    description: str
    dims: dict
    build: Callable


_entries: dict[str, _Entry] = {}


def register(name, description, dims=None):
    """Make a function known as the workload `name`.

    Parameters
    ----------
    name : str
        The name that `workload` takes.
    description : str
        One sentence: what the workload shows.
    dims : dict of str to int, optional
        Upper bound of each symbolic dimension, by name.

    Returns
    -------
    decorator
        For a function without arguments that returns ``(mod, params, inputs, expected)`` as
        described in `Workload`. The function is left as it is.
    """
    if name in _entries:
        raise ValueError(f"two workloads are named {name!r}")

    def decorate(build):
        _entries[name] = _Entry(description, dict(dims or {}), build)
        return build

    return decorate


def workloads():
    """Return the names of all workloads, sorted."""
    return sorted(_entries)


def workload(name):
    """Return the workload called `name`; it is built on the first call.

    Parameters
    ----------
    name : str
        One of `workloads`.

    Returns
    -------
    Workload
        A copy of its own: the caller may change the module and the arrays.

    Raises
    ------
    InputError
        If there is no such workload.
    """
    if name not in _entries:
        raise InputError(f"no workload {name!r}; known are: {', '.join(workloads())}")
    entry = _entries[name]
    mod, params, inputs, expected = _built(name)
    return Workload(
        name=name,
        description=entry.description,
        # Functions cannot be changed in place, so a copy of the module's table is enough.
        mod=mod.clone(),
        params={key: value.copy() for key, value in params.items()},
        inputs=_copied(inputs),
        expected=_copied(expected),
        dims=dict(entry.dims),
    )


@cache
def _built(name):
    return _entries[name].build()


def _copied(value):
    if isinstance(value, tuple):
        return tuple(_copied(item) for item in value)
    return value.copy()
