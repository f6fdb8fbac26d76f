"""K0 annotation beside aliasing in the IR, as passes on TVM."""

from .approaches import approaches
from .build import build
from .cases import run_isolated
from .compare import compare
from .errors import AliasingError, InputError, NoDeviceError, UnsupportedError, VerifyError
from .models import load_model
from .pipeline import pipeline
from .verify import verify
from .workloads import workload, workloads

__all__ = [
    "AliasingError",
    "InputError",
    "NoDeviceError",
    "UnsupportedError",
    "VerifyError",
    "approaches",
    "build",
    "compare",
    "load_model",
    "pipeline",
    "run_isolated",
    "verify",
    "workload",
    "workloads",
]
