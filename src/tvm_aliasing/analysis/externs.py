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
        One that is not named may return any of its arguments.
    """
    return dict(function.attrs.get(EXTERN_ALIAS, {})) if function.attrs else {}


def check_declared_aliases(mod):
    """Refuse a module that declares what nobody understands.

    Raises
    ------
    InputError
    """
    for name, function in mod.functions_items():
        if not isinstance(function, relax.Function):
            continue
        declared = function.attrs.get(EXTERN_ALIAS, {}) if function.attrs else {}
        words = declared.items() if hasattr(declared, "items") else [(EXTERN_ALIAS, declared)]
        for packed, word in words:
            if not isinstance(word, str) or not _WORDS.fullmatch(word):
                raise InputError(
                    f"{name.name_hint} declares {packed!r} as {word!r}: "
                    f"{EXTERN_ALIAS} takes fresh, may, or arg0, arg1, ..."
                )
