"""Relax modules to compare the approaches on, each with inputs and a NumPy reference.

To add a workload, add one file to this folder. It holds a function that returns
``(mod, params, inputs, expected)`` under the decorator ``register`` of `_registry.py`;
`residual.py` is a short example. Every file whose name does not begin with an underscore is
imported here, which only registers its functions: a workload is built when `workload` is first
asked for it.
"""

import importlib
import pkgutil

from ._registry import Workload, workload, workloads

__all__ = ["Workload", "workload", "workloads"]

for _file in pkgutil.iter_modules(__path__):
    if not _file.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_file.name}")
