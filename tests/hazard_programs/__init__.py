"""Programs with one hazard each, and their twins without: what a verifier is judged by.

Each structure is one way in which a hazard of a kind comes about; it writes a program and its twin
from one seed. They are modules as an approach leaves them after `introduced` or `planned`, written
binding by binding or made of a right plan with a fault planted.
"""

from . import (  # noqa: F401  # each registers its structures
    devices,
    externs,
    live_writes,
    offsets,
    outputs,
    overlaps,
    planted,
    promises,
    storages,
    textures,
    undonated,
)
from .registry import (
    KINDS,
    SEEDS,
    HazardProgram,
    Program,
    hazard_program,
    hazard_programs,
    shows,
    structures,
)

__all__ = [
    "KINDS",
    "SEEDS",
    "HazardProgram",
    "Program",
    "hazard_program",
    "hazard_programs",
    "shows",
    "structures",
]
