"""Relax modules from Python files and from TVM's JSON."""

import gc
import re
import subprocess
import sys
import traceback
import types

import numpy as np
import tvm
from tvm import relax

from ..dims import check_dims, require_dims, symbolic_dims
from ..errors import InputError, UnsupportedError
from .inputs import seeded_inputs
from .model import Model
from .quiet import silenced

# Run in a process of its own: TVM crashes on some files, for one with nodes that refer in a circle.
_PROBE = """
import sys, tvm
from tvm import relax
mod = tvm.ir.load_json(sys.stdin.read())
if isinstance(mod, tvm.IRModule):
    relax.analysis.check_well_formed(mod)
"""


def load_py(path, dims):
    """Run a Python file and take the Relax module that it defines.

    The file is run on its own, under a module name of its own. What it prints is dropped. It may
    define, at module level:

    * one IRModule, for example a class decorated with ``@I.ir_module``. If there are several, the
      one named ``mod`` is taken. Its function ``main`` is the model.
    * ``params``: a dict of arrays by the names of the parameters of ``main`` that are weights.
    * ``inputs``: a tuple of arrays for the other parameters of ``main``, in their order; a nested
      tuple for a tuple parameter. Without it they are seeded random arrays.
    * ``expected``: the result, an array, or a tuple as nested as the result of ``main``.

    Arrays are NumPy arrays.

    Parameters
    ----------
    path : pathlib.Path
    dims : dict of str to int

    Returns
    -------
    Model
    """
    defined = execute_file(path)
    mod = _only_module(path, defined)
    return _model(path, mod, dims, *map(defined.get, ("params", "inputs", "expected")))


def execute_file(path):
    """Run a Python file that may hold TVMScript and return what it defines.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict

    Raises
    ------
    InputError
        There is no such file, or it raises.
    """
    if not path.is_file():
        raise InputError(f"no such file: {path}")
    module = types.ModuleType(f"_tvm_aliasing_model_{path.stem}")
    module.__file__ = str(path)
    with silenced():
        problem = _execute(path, module)
        if problem:
            # The traceback holds TVM's parser in a reference cycle, and the block builder in it
            # logs when it is released: that must happen in here.
            gc.collect()
    if problem:
        raise InputError(problem)
    return vars(module)


def load_json(path, dims):
    """Load a module written by ``tvm.ir.save_json``.

    Parameters
    ----------
    path : pathlib.Path
    dims : dict of str to int

    Returns
    -------
    Model
    """
    not_a_module = f"{path.name} is not a module written by tvm.ir.save_json"
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise InputError(not_a_module) from err
    probe = subprocess.run(
        [sys.executable, "-c", _PROBE], input=text, capture_output=True, encoding="utf-8"
    )
    if probe.returncode != 0:
        raise InputError(not_a_module)
    mod = tvm.ir.load_json(text)
    if not isinstance(mod, tvm.IRModule):
        raise InputError(f"{not_a_module}, but holds a {type(mod).__name__}")
    return _model(path, mod, dims)


def _execute(path, module):
    """Run the file and return what went wrong, in a line, or None."""
    # TVMScript looks up the source of a class through sys.modules.
    sys.modules[module.__name__] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    except (Exception, SystemExit) as err:
        message = (str(err).strip() or "no message").splitlines()[0].removeprefix("error: ")
        place = f"{path.name}, line {_line(path, err)}"
        return f"{place}: {type(err).__name__}: {message}"
    finally:
        del sys.modules[module.__name__]
    return None


def _line(path, err):
    """Return the number of the line of the file that an exception comes from."""
    if isinstance(err, SyntaxError) and err.lineno:
        return err.lineno
    # TVMScript raises from the decorator and names the line in the message.
    in_script = re.search(rf"--> {re.escape(str(path))}:(\d+):", str(err))
    if in_script:
        return int(in_script[1])
    frames = traceback.extract_tb(err.__traceback__)
    return next((f.lineno for f in reversed(frames) if f.filename == str(path)), 1)


def _only_module(path, defined):
    if isinstance(defined.get("mod"), tvm.IRModule):
        return defined["mod"]
    found = {name: value for name, value in defined.items() if isinstance(value, tvm.IRModule)}
    if not found:
        raise InputError(f"{path.name} defines no Relax module (an IRModule at module level)")
    if len(found) > 1:
        names = ", ".join(found)
        raise InputError(f"{path.name} defines several modules ({names}): name the one to use mod")
    return next(iter(found.values()))


def _model(path, mod, dims, params=None, inputs=None, expected=None):
    """Check what the file gave against ``main`` and fill in the rest."""
    try:
        relax.analysis.well_formed(mod)
    except (ValueError, TypeError) as err:
        reason = str(err).splitlines()[0]
        raise InputError(f"{path.name}: the module is not well formed: {reason}") from err
    entry = next((f for v, f in mod.functions_items() if v.name_hint == "main"), None)
    if not isinstance(entry, relax.Function):
        raise UnsupportedError(f"{path.name}: the module has no Relax function main")
    params = {} if params is None else params
    _check_params(path, params, [param.name for param in entry.params])
    known = symbolic_dims(entry)
    check_dims(path.name, known, dims)
    # Made even if the file has inputs of its own: it shows whether main can be called at all.
    sizes = dict.fromkeys(known, 1) | dims
    seeded = seeded_inputs(entry, params, sizes)
    if inputs is None:
        require_dims(path.name, known, dims)
        inputs = seeded
    elif not isinstance(inputs, tuple) or len(inputs) != len(seeded):
        raise InputError(
            f"{path.name}: inputs must be a tuple of {len(seeded)}, one for each parameter of main"
            " that is not in params"
        )
    for value in (*params.values(), inputs, *([] if expected is None else [expected])):
        _check_arrays(path, value)
    return Model(path.stem, mod, params, inputs, expected, dims)


def _check_params(path, params, names):
    if not isinstance(params, dict):
        raise InputError(f"{path.name}: params must be a dict of arrays by parameter name")
    for name in params:
        if name not in names:
            raise InputError(
                f"{path.name}: params names {name!r}, but main has only {', '.join(names)}"
            )


def _check_arrays(path, value):
    if isinstance(value, tuple):
        for part in value:
            _check_arrays(path, part)
    elif not isinstance(value, np.ndarray):
        raise InputError(
            f"{path.name}: params, inputs and expected must hold NumPy arrays, not"
            f" {type(value).__name__}"
        )
