"""`load_model`: a model from a file, by the file's suffix."""

from pathlib import Path

from ..errors import InputError, UnsupportedError
from .onnx_import import load_onnx
from .relax_files import load_json, load_py

_LOADERS = {".onnx": load_onnx, ".py": load_py, ".json": load_json}


def load_model(path, dims=None):
    """Load a model from a file.

    ========  ====================================================================================
    suffix    what the file is
    ========  ====================================================================================
    .onnx     An ONNX model; see `tvm_aliasing.models.onnx_import.load_onnx`.
    .py       A Python file that defines a Relax module; see
              `tvm_aliasing.models.relax_files.load_py`.
    .json     A Relax module written by ``tvm.ir.save_json``.
    .pt2      A program written by ``torch.export``: not there yet.
    ========  ====================================================================================

    Parameters
    ----------
    path : str or path-like
    dims : dict of str to int, optional
        A size for each dynamic dimension. An ONNX model is fixed to these sizes. In a Relax module
        the dimensions stay symbolic: the inputs are made with these sizes, which `Model.dims`
        keeps as upper bounds for planning.

    Returns
    -------
    Model
        Inputs that the file does not state are seeded random arrays: the same each time.

    Raises
    ------
    InputError
        The file is missing or not what its suffix says, or a dimension has no size.
    UnsupportedError
        TVM, or this version of the project, cannot take the model.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory, not a model file")
    if not path.is_file():
        raise InputError(f"no such file: {path}")
    suffix = path.suffix.lower()
    if suffix == ".pt2":
        raise UnsupportedError(f"{path.name}: .pt2 files (torch.export) are not there yet")
    if suffix not in _LOADERS:
        raise InputError(f"{path.name} is not a model file: expected .onnx, .py or .json")
    try:
        return _LOADERS[suffix](path, dict(dims or {}))
    except OSError as err:
        raise InputError(f"cannot read {path}: {err.strerror or err}") from err
