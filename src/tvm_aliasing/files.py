"""Where files go that can be made again, and how a file is written."""

import os
import tempfile
from pathlib import Path


def cache_folder():
    """The folder for fetched models and compiled helpers, outside the repository.

    `TVM_ALIASING_CACHE` where that is set, else `tvm-aliasing` in `XDG_CACHE_HOME` or `~/.cache`.
    """
    chosen = os.environ.get("TVM_ALIASING_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tvm-aliasing"


def write_whole(path, data):
    """Write bytes to a file so that it is there whole or not at all.

    Raises
    ------
    OSError
    """
    path = Path(path)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(data)
            file.close()
            os.chmod(file.name, 0o644)  # temporary files are private
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
