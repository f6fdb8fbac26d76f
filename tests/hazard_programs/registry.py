"""What a program is, and the table of all that are known."""

from dataclasses import dataclass
from functools import cache

import tvm

from .builder import Builder

#: As section 3 of the design has them.
KINDS = (
    "write-live",
    "overlap",
    "undominated-storage",
    "undonated-write",
    "undeclared-output-alias",
    "offset-abi",
    "noalias-overlap",
    "mixed-storage",
    "nonflat-elision",
    "extern-alias",
)
#: How many programs there are of a structure.
SEEDS = range(4)

_STRUCTURES = {kind: {} for kind in KINDS}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A module, and what is to come of it.

    Attributes
    ----------
    mod : tvm.IRModule
    options : dict
        Keyword arguments for `verify`.
    inputs : tuple of ndarray
    expected : ndarray or tuple
        What NumPy makes of them; None where the program cannot be run.
    planned : bool
        Whether tensors have storages.
    """

    mod: tvm.IRModule
    options: dict
    inputs: tuple
    expected: object
    planned: bool


@dataclass(frozen=True, kw_only=True)
class HazardProgram(Program):
    """A program with a hazard.

    Attributes
    ----------
    kind : str
    structure : str
        How the hazard comes about.
    seed : int
    shows : str
        What a run of it comes to: `wrong`, `fails` (TVM raises, or the process dies), or nothing
        where the structure says why it cannot be run.
    right : Program
        Its twin, without the hazard.
    """

    kind: str
    structure: str
    seed: int
    shows: str
    right: Program


@dataclass(frozen=True)
class _Structure:
    write: object
    shows: str
    stages: tuple[str, ...]


def structure(kind, shows, *stages):
    """Register a function that writes programs, with a fault or without.

    It is called with a `Builder` and whether a fault is wanted. It writes its program with that;
    or it returns a module with the builder's `options`, `inputs` and `expected` set.

    Parameters
    ----------
    kind : str
    shows : str
        As in `HazardProgram`.
    *stages : str
        `introduced`, `planned` or both: seed by seed in turn.
    """

    def add(write):
        name = write.__name__.replace("_", " ")
        _STRUCTURES[kind][name] = _Structure(write, shows, stages)
        return write

    return add


def structures(kind):
    """The names of the structures of a kind."""
    return list(_STRUCTURES[kind])


def shows(kind, structure):
    """What a run of a structure's programs comes to, as in `HazardProgram`."""
    return _STRUCTURES[kind][structure].shows


@cache
def hazard_program(kind, structure, seed):
    """One program."""
    found = _STRUCTURES[kind][structure]
    made = _program(found, (kind, structure, seed), fault=True)
    right = _program(found, (kind, structure, seed), fault=False)
    return HazardProgram(
        **vars(made), kind=kind, structure=structure, seed=seed, shows=found.shows, right=right
    )


def _program(structure, seed, fault):
    stage = structure.stages[seed[-1] % len(structure.stages)]
    builder = Builder(seed, planned=stage == "planned")
    mod = structure.write(builder, fault) or builder.module()
    return Program(
        mod=mod,
        options=builder.options,
        inputs=builder.inputs,
        expected=builder.expected,
        planned=builder.planned,
    )


def hazard_programs(kind):
    """Yield the programs of a kind."""
    for name in structures(kind):
        for seed in SEEDS:
            yield hazard_program(kind, name, seed)
