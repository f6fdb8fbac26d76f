"""CPU through LLVM."""

import tvm

from .backend import Backend

LLVM = Backend(
    kind="llvm",
    device=tvm.cpu,
    flat_scopes=frozenset({"global"}),
)
