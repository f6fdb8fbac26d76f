"""Silence for libraries that print on their own account."""

import contextlib
import io
import os
import sys


@contextlib.contextmanager
def silenced():
    """Drop what is printed inside, by Python and by C++, on stdout and stderr.

    TVM's ONNX importer prints on stdout, where the command line writes JSON, and TVM's C++ part
    logs on file descriptor 2 when an import fails. What failed reaches the user as an exception.

    Yields
    ------
    io.StringIO
        What Python code printed on stdout.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [(fd, os.dup(fd)) for fd in (1, 2)]
    printed = io.StringIO()
    try:
        with (
            open(os.devnull, "w") as null,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(null),
        ):
            for fd, _ in saved:
                os.dup2(null.fileno(), fd)
            yield printed
    finally:
        for fd, copy in saved:
            os.dup2(copy, fd)
            os.close(copy)
