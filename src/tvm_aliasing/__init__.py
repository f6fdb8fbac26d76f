"""K0 annotation beside aliasing in the IR, as passes on TVM."""

import os

# TVM reads it once, when its threads start. Workspace bytes and latency depend on it, so it is
# fixed; a value that the user sets stays, and records say which it was.
os.environ.setdefault("TVM_NUM_THREADS", "2")

from .approaches import approaches
from .build import build
from .cases import run_isolated
from .compare import compare
from .errors import AliasingError, InputError, NoDeviceError, UnsupportedError, VerifyError
from .models import load_model
from .pipeline import pipeline
from .verify import Hazard, verify
from .workloads import workload, workloads

__all__ = [
    "AliasingError",
    "Hazard",
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
