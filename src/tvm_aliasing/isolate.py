"""Work in a process of its own, for programs that may kill it.

The child reads one JSON request from standard input and writes JSON lines to what was its standard
output; anything that a program or TVM prints goes to standard error.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading

from . import errors

#: Task name -> the function that does it: called with the request, yields results.
_TASKS = {
    "case": ("tvm_aliasing.cases", "case_results"),
    "rows": ("tvm_aliasing.compare", "row_results"),
}


class Died(Exception):
    """The child ended before it was done; the message says how."""


def results_of(task, request, timeout=None):
    """Do a task in a process of its own.

    Parameters
    ----------
    task : str
        A key of the table of tasks.
    request : dict
        What the task's function is called with; JSON.
    timeout : float, optional
        Seconds until the process is killed.

    Yields
    ------
    object
        Each result as it comes.

    Raises
    ------
    Died
        The process was killed or ended early.
    AliasingError
        Raised by the task, raised again here.
    """
    with tempfile.TemporaryFile() as noise:
        child = subprocess.Popen(
            [sys.executable, "-m", "tvm_aliasing.isolate", task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
        )
        expired = threading.Event()
        timer = threading.Timer(timeout or 0, lambda: (expired.set(), child.kill()))
        if timeout:
            timer.start()
        try:
            with child.stdin as stdin:
                json.dump(request, stdin)
            for line in child.stdout:
                message = json.loads(line)
                if "error" in message:
                    raise getattr(errors, message["error"])(message["text"])
                yield message["result"]
            code = child.wait()
        finally:
            timer.cancel()
            child.kill()
            child.wait()
            child.stdout.close()
        if code:
            raise Died(f"no answer in {timeout} s" if expired.is_set() else _cause(code, noise))


def _cause(code, noise):
    """How a process ended, with the last line that it printed where it was not killed."""
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    noise.seek(0)
    lines = noise.read().decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else f"exit code {code}"


def main():
    """Serve one request."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    module, function = _TASKS[sys.argv[1]]
    try:
        for result in getattr(importlib.import_module(module), function)(**json.load(sys.stdin)):
            print(json.dumps({"result": result}), file=results, flush=True)
    except errors.AliasingError as error:
        print(
            json.dumps({"error": type(error).__name__, "text": str(error)}),
            file=results,
            flush=True,
        )


if __name__ == "__main__":
    main()
