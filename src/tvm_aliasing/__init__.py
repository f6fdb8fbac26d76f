"""K0 annotation beside aliasing in the IR, as passes on TVM."""

from .approaches import approaches
from .build import build
from .errors import AliasingError, InputError, NoDeviceError, UnsupportedError, VerifyError
from .pipeline import pipeline
from .workloads import workload, workloads
