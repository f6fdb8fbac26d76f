"""Work in a process of its own, for programs that may kill it.

The child reads one JSON request from standard input and writes JSON lines to what was its standard
output; anything that a program or TVM prints goes to standard error.
"""

import contextlib
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
    "cases": ("tvm_aliasing.cases", "forked_results"),
    "kernels": ("tvm_aliasing.measure.kernels", "kernel_results"),
    "latencies": ("tvm_aliasing.latencies", "sitting_results"),
    "offsets": ("tvm_aliasing.measure.offsets", "offset_results"),
    "rows": ("tvm_aliasing.compare", "row_results"),
    "scaling": ("tvm_aliasing.measure.scaling", "scaling_results"),
}

#: For processes that judge results: what `malloc` gives and takes back is filled, so that memory
#: which nothing has written to is not right by chance.
FILLED = {"MALLOC_PERTURB_": "1"}

# Not `-m`: the package imports this module, and Python would warn of a second copy.
_CHILD = "from tvm_aliasing.isolate import main; main()"


class Died(Exception):
    """The child ended before it was done; the message says how."""


def results_of(task, request, timeout=None, environment=None):
    """Do a task in a process of its own.

    Parameters
    ----------
    task : str
        A key of the table of tasks.
    request : dict
        What the task's function is called with; JSON.
    timeout : float, optional
        Seconds until the process is killed.
    environment : dict of str to str, optional
        Variables that the process has besides those of this one.

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
            [sys.executable, "-c", _CHILD, task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=noise,
            text=True,
            env={**os.environ, **(environment or {})},
        )
        expired = threading.Event()
        timer = threading.Timer(timeout or 0, lambda: (expired.set(), child.kill()))
        if timeout:
            timer.start()
        done = False
        try:
            with contextlib.suppress(BrokenPipeError), child.stdin as stdin:
                json.dump(request, stdin, default=str)  # a target's text makes the target again
            for line in child.stdout:
                message = json.loads(line)
                if "error" in message:
                    raise getattr(errors, message["error"])(message["text"])
                if "result" in message:
                    yield message["result"]
                done = "done" in message
            code = child.wait()
        finally:
            timer.cancel()
            child.kill()
            child.wait()
            child.stdout.close()
        if code or not done:
            raise Died(f"no answer in {timeout} s" if expired.is_set() else cause(code, noise))


def told(error):
    """An exception in a line: TVM's own say what is wrong in their last one."""
    lines = str(error).strip().splitlines() or ["no message"]
    return f"{type(error).__name__}: {lines[-1].strip()}"


def cause(code, noise):
    """How a process ended, with the last line that it printed where it was not killed.

    Parameters
    ----------
    code : int
        Its exit code, or minus the signal that killed it.
    noise : file
        What it printed, in bytes.

    Returns
    -------
    str
    """
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    noise.seek(0)
    lines = noise.read().decode(errors="replace").strip().splitlines() if code else []
    return lines[-1].strip() if lines else f"exit code {code}"


def main():
    """Serve one request."""
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def answer(**message):
        print(json.dumps(message), file=results, flush=True)

    module, function = _TASKS[sys.argv[1]]
    try:
        for result in getattr(importlib.import_module(module), function)(**json.load(sys.stdin)):
            answer(result=result)
    except errors.AliasingError as error:
        answer(error=type(error).__name__, text=str(error))
    answer(done=True)
