"""Where files are kept that can be made or fetched again."""

import os
from pathlib import Path


def cache_folder():
    """The folder for fetched models and compiled helpers, outside the repository.

    `TVM_ALIASING_CACHE` where that is set, else `tvm-aliasing` in `XDG_CACHE_HOME` or `~/.cache`.
    """
    chosen = os.environ.get("TVM_ALIASING_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tvm-aliasing"
