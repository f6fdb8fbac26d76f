"""The C++ part of the measurements: built once with the machine's compiler, then loaded."""

import ctypes
import functools
import hashlib
import os
import tempfile
from pathlib import Path

import tvm
import tvm_ffi
from tvm.support import cc

from ..errors import AliasingError
from ..files import cache_folder

SOURCE = Path(__file__).with_name("live_bytes.cc")
HEADERS = Path(__file__).with_name("include")


def build():
    """Compile `live_bytes.cc` unless that has been done for this source and these versions.

    Returns
    -------
    pathlib.Path
        The shared library.

    Raises
    ------
    AliasingError
        There is no C++ compiler, or it failed.
    """
    versions = f"{tvm.__version__} {tvm_ffi.__version__} "
    key = hashlib.sha256(versions.encode() + SOURCE.read_bytes()).hexdigest()[:16]
    library = cache_folder() / "native" / f"live_bytes-{key}.so"
    if library.exists():
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    headers = [HEADERS, tvm.libinfo.find_include_path(), *tvm_ffi.libinfo.include_paths()]
    options = ["-std=c++17", "-O2", *(f"-I{folder}" for folder in headers)]
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        built = os.path.join(folder, library.name)
        try:
            cc.create_shared(built, [str(SOURCE)], options)
        except (RuntimeError, ValueError, OSError) as error:
            reason = next((line for line in str(error).splitlines() if "error" in line), str(error))
            raise AliasingError(
                f"cannot build {SOURCE.name}: {reason.strip()}: is g++ installed?"
            ) from error
        os.replace(built, library)
    return library


@functools.cache
def load():
    """Load the library; from then on the peak of the virtual machine's bytes is known."""
    return ctypes.CDLL(str(build()), mode=ctypes.RTLD_GLOBAL)
