"""A hazard, and how its message names what is involved."""

from typing import NamedTuple

from tvm import ir, relax

#: The kinds, in the order in which the project's pages list them.
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


class Hazard(NamedTuple):
    """Something that may make a module compute wrong values, or die.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    bindings : tuple of str
        The variables involved, each as `function.variable`.
    message : str
        One sentence that names them and says what to do.
    """

    kind: str
    bindings: tuple[str, ...]
    message: str

    def __str__(self):
        return f"{self.kind}: {self.message}"


class Found(NamedTuple):
    """A hazard where a check found it.

    Attributes
    ----------
    place : Var or None
        The variable of a binding, or None for the end of the function.
    key : tuple
        Tells the faults of a function apart: each counts once.
    hazard : Hazard
    roots : frozenset of Root
        The storages that it is about.
    """

    place: object
    key: tuple
    hazard: Hazard
    roots: frozenset = frozenset()


def call_name(value):
    """What a call calls, in words."""
    if isinstance(value, relax.If):
        return "an If"
    if not isinstance(value, relax.Call):
        return "a binding"
    callee = value.op
    if isinstance(callee, ir.Op) and value.args:
        first = value.args[0]
        callee = first if isinstance(first, ir.GlobalVar | relax.ExternFunc) else callee
    if isinstance(callee, ir.GlobalVar):
        return f"the call of {callee.name_hint}"
    if isinstance(callee, relax.ExternFunc):
        return f"the call of {callee.global_symbol}"
    return callee.name if isinstance(callee, ir.Op) else "a call"
