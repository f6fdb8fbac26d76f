"""Functions called in forked processes: all that is imported is there already.

Importing TVM takes a second, a fork some milliseconds. The process that forks must have started no
thread: TVM starts its own with the first kernel that is run.
"""

import multiprocessing
import os
import tempfile
import time
from multiprocessing import connection

from .isolate import cause

#: How many run at a time.
AT_ONCE = 2

_FORK = multiprocessing.get_context("fork")


def call_all(function, arguments, timeout):
    """Call a function once with each of some arguments, each time in a process of its own.

    Parameters
    ----------
    function : callable
        Its result is sent back as `multiprocessing` does it.
    arguments : list of tuple
    timeout : float
        Seconds until a process is killed.

    Yields
    ------
    tuple of (int, object or None, str)
        As each ends: which, its result, and how the process died where it did.
    """
    waiting = list(enumerate(arguments))[::-1]
    running = []
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(_Call(function, *waiting.pop(), timeout))
            nearest = min(call.deadline for call in running) - time.monotonic()
            ended = connection.wait([call.process.sentinel for call in running], max(nearest, 0))
            for call in list(running):
                expired = time.monotonic() > call.deadline
                if expired or call.process.sentinel in ended:
                    running.remove(call)
                    yield call.at, *call.end(expired)
    finally:
        for call in running:
            call.process.kill()


class _Call:
    """One process that is under way."""

    def __init__(self, function, at, arguments, timeout):
        self.at = at
        self.timeout = timeout
        self.noise = tempfile.TemporaryFile()
        self.answers, sender = _FORK.Pipe(duplex=False)
        self.process = _FORK.Process(
            target=_answer, args=(function, arguments, sender, self.noise.fileno())
        )
        self.process.start()
        sender.close()
        self.deadline = time.monotonic() + timeout

    def end(self, expired):
        """The result, or None and how the process died."""
        if expired:
            self.process.kill()
        self.process.join()
        with self.noise, self.answers:
            if expired:
                return None, f"no answer in {self.timeout} s"
            try:
                answer = self.answers.recv()
            except EOFError:  # closed without an answer
                return None, cause(self.process.exitcode, self.noise)
            return answer, ""


def _answer(function, arguments, sender, noise):
    """Send back what the function returns; what it prints goes to a file."""
    os.dup2(noise, 1)
    os.dup2(noise, 2)
    sender.send(function(*arguments))
