"""What a program declares of the packed functions that it calls: attribute `ta.extern_alias`."""

import re

from tvm import relax

from ..attributes import EXTERN_ALIAS
from ..errors import InputError

_WORDS = re.compile(r"fresh|may|arg\d+")


def declared_aliases(function):
    """What the results of the packed functions that a function calls may share storage with.

    Parameters
    ----------
    function : tvm.relax.Function

    Returns
    -------
    dict of str to str
        By the name of a packed function `fresh`, `may`, or `arg` and the number of an argument.
        One of which nothing is declared, or nothing of these, may return any of its arguments.
    """
    return {packed: word for packed, word in _declarations(function) if _is_word(word)}


def check_declared_aliases(mod):
    """Refuse a module that declares what nobody understands.

    Raises
    ------
    InputError
    """
    for name, function in mod.functions_items():
        if isinstance(function, relax.Function):
            for packed, word in _declarations(function):
                if not _is_word(word):
                    raise InputError(
                        f"{name.name_hint} declares {packed!r} as {word!r}: {EXTERN_ALIAS} is a "
                        "dict of names of packed functions to fresh, may, or arg0, arg1, ..."
                    )


def _declarations(function):
    """Pairs of a packed function's name and what is declared of it, whatever that is."""
    declared = function.attrs.get(EXTERN_ALIAS, {}) if function.attrs else {}
    return declared.items() if hasattr(declared, "items") else [(EXTERN_ALIAS, [declared])]


def _is_word(word):
    return isinstance(word, str) and _WORDS.fullmatch(word) is not None
