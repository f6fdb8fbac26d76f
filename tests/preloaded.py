"""Processes of their own in which a small C library stands before the runtime."""

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def compiled(name, folder):
    """Compile `native/<name>.c` and return the library's path."""
    library = folder / f"{name}.so"
    options = ["-x", "c", "-shared", "-fPIC", "-O2", "-Wall", "-Werror"]
    source = TESTS / "native" / f"{name}.c"
    subprocess.run(["g++", *options, str(source), "-o", str(library), "-ldl"], check=True)
    return library


def told_by(code, *arguments, libraries=()):
    """What a process prints as JSON in its last line: two threads, the libraries preloaded."""
    environment = {
        **os.environ,
        "TVM_NUM_THREADS": "2",
        "LD_PRELOAD": ":".join(map(str, libraries)),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=TESTS,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
