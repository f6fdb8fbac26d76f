"""What can be said of a kernel about aliasing, without a word about the graph: K0 and K0+.

Two who answer: the body, which proves it, and the attributes, which an earlier pass has set. Those
who use a property ask one or the other, and do the same with the answer.
"""

from collections.abc import Callable
from typing import NamedTuple

from tvm import tirx

from ..attributes import MAY_OVERWRITE, RESHAPE_ONLY, VIEW_OF
from .in_place import overwritable
from .ranges import ranges_viewed
from .reshape_only import is_reshape_only


class Properties(NamedTuple):
    """Questions about a PrimFunc.

    Attributes
    ----------
    reshape_only : callable
        Whether it copies its whole input, in order, to its whole output.
    viewed : callable
        What `ranges_viewed` returns: which bytes of an input each output is.
    overwritable : callable
        What `overwritable` returns: which inputs each output may lie over.
    """

    reshape_only: Callable
    viewed: Callable
    overwritable: Callable


#: What the bodies prove.
PROVED = Properties(is_reshape_only, ranges_viewed, overwritable)


def annotations(kernel):
    """The attributes that say what a kernel's body proves.

    Returns
    -------
    dict of str to value
        None for what is not to be said.
    """
    viewed = ranges_viewed(kernel)
    over = {output: inputs for output, inputs in overwritable(kernel).items() if inputs}
    return {
        RESHAPE_ONLY: True if is_reshape_only(kernel) else None,
        VIEW_OF: _by_output(viewed) if viewed else None,
        MAY_OVERWRITE: _by_output(over) if over else None,
    }


def _by_output(answers):
    return {str(output): list(answer) for output, answer in answers.items()}


def _declared(kernel, key):
    said = kernel.attrs.get(key) if kernel.attrs else None
    return said if said else {}


def _declares_reshape_only(kernel):
    return bool(_declared(kernel, RESHAPE_ONLY))


def _declared_views(kernel):
    found = {int(o): (int(i), _byte(begin)) for o, (i, begin) in _declared(kernel, VIEW_OF).items()}
    return found or None


def _byte(begin):
    """A byte as `ranges_viewed` has it, also where somebody has written a plain number."""
    return tirx.const(int(begin), "int64") if isinstance(begin, int | tirx.IntImm) else begin


def _declared_overwrites(kernel):
    return {
        int(output): tuple(map(int, inputs))
        for output, inputs in _declared(kernel, MAY_OVERWRITE).items()
    }


#: What the attributes say.
DECLARED = Properties(_declares_reshape_only, _declared_views, _declared_overwrites)
