"""What was measured with what: the facts that go into every record."""

import hashlib
import json
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import tvm

# In a checkout: src/tvm_aliasing/measure/provenance.py. Elsewhere nothing of ours is there.
ROOT = Path(__file__).resolve().parents[3]

# A path that starts at a root, a home or a parent directory, alone, after `option=` or `-o`.
_PATH_ARGUMENT = re.compile(r"(?s)(-[A-Za-z]|[\w-]+=)?((?:~|\.\.(?=/)|/|[A-Za-z]:[\\/]).*)")
# The same inside other text, for instance code given with -c.
_PATH_IN_TEXT = re.compile(r"(?<![\w.\-])(?:~\w*|\.\.)?(?:/[^\s/'\",;:()\[\]]+)+/?")


def provenance(target=None, threads=None):
    """Collect where and how a measurement was made.

    Nothing in it says whose machine it was: no host or user name, no absolute path.

    Parameters
    ----------
    target : str, dict or tvm.target.Target, optional
        What the modules were built for.
    threads : int, optional
        Size of TVM's thread pool; by default TVM is asked.

    Returns
    -------
    dict
        Can be written as JSON. Keys: ``tvm``, ``tvm_ffi`` (versions), ``lock_sha256``,
        ``git_commit``, ``git_dirty``, ``cpu``, ``gpu``, ``driver``, ``threads``, ``target``,
        ``date`` (UTC, ISO 8601), ``command``. A fact that cannot be had here is None.
    """
    commit, dirty = _git_state(ROOT)
    gpu, driver = _gpu()
    return {
        "tvm": _version("apache-tvm"),
        "tvm_ffi": _version("apache-tvm-ffi"),
        "lock_sha256": _sha256(ROOT / "requirements.lock"),
        "git_commit": commit,
        "git_dirty": dirty,
        "cpu": _cpu(),
        "gpu": gpu,
        "driver": driver,
        "threads": tvm.runtime.num_threads() if threads is None else int(threads),
        "target": _target_text(target),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(_without_paths(argument) for argument in sys.orig_argv),
    }


def _version(distribution):
    """Version of an installed distribution; None for a TVM that runs from its build tree."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _git_state(root):
    """Commit and dirty flag of the checkout at `root`, (None, None) if it is not one."""
    # git would otherwise answer for a repository that merely contains an installed copy.
    if not (root / ".git").exists():
        return None, None
    commit = _output("git", "-C", str(root), "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return None, None
    # Records are left out: the first of a series must not make the tree dirty for the next.
    changes = _output(
        *("git", "-C", str(root), "--no-optional-locks", "status", "--porcelain"),
        *("--", ".", ":(exclude)results"),
    )
    return commit, None if changes is None else changes != ""


def _cpu():
    """The CPU's name as its maker writes it, else the architecture."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        name = re.search(r"^model name\s*:\s*(.+)$", cpuinfo.read_text(), re.MULTILINE)
        if name:
            return name[1].strip()
    if sys.platform == "darwin":
        return _output("sysctl", "-n", "machdep.cpu.brand_string") or platform.machine()
    return platform.machine()


def _gpu():
    """Names of the NVIDIA GPUs and the driver's version, (None, None) without one."""
    listing = _output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    if not listing:
        return None, None
    names, drivers = zip(*(line.rsplit(", ", 1) for line in listing.splitlines()), strict=True)
    return " + ".join(dict.fromkeys(names)), drivers[0]


def _target_text(target):
    if target is None:
        return None
    return json.dumps(target, sort_keys=True) if isinstance(target, dict) else str(target)


def _without_paths(argument):
    """A command line argument with each absolute path in it reduced to its last part."""
    whole = _PATH_ARGUMENT.fullmatch(argument)
    if whole:
        return (whole[1] or "") + _last_part(whole[2])
    return _PATH_IN_TEXT.sub(lambda found: _last_part(found[0]), argument)


def _last_part(path):
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def _output(*command):
    """What a command prints, None if it is missing, hangs or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
