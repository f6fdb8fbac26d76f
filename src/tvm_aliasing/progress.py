"""What is being done, shown on a terminal."""

import sys


def progress(text):
    """Show a line on standard error where that is a terminal; the next overwrites it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
