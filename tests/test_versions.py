"""The pinned versions fit together, and the lock says what is installed."""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PIN = re.compile(r"(?m)^(\S+)==(\S+)( ; [^\\\n]+)? \\\n((?:    --hash=sha256:\S+(?: \\)?\n)+)")


def lock_text():
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


def pins():
    """Name -> versions; a few packages are pinned twice, for older and newer Pythons."""
    versions = {}
    for name, version, *_ in PIN.findall(lock_text()):
        versions.setdefault(canonicalize_name(name), []).append(version)
    return versions


def named_in_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    return [Requirement(text) for group in groups for text in group]


@pytest.mark.parametrize("requirement", named_in_pyproject(), ids=str)
def test_lock_holds_what_pyproject_names(requirement):
    locked = pins().get(canonicalize_name(requirement.name), [])
    assert locked, f"{requirement.name} is not in requirements.lock: run `make lock`"
    for version in locked:
        assert requirement.specifier.contains(version), f"locked {version}: run `make lock`"


def test_lock_is_hashed_and_names_no_index():
    text = lock_text()
    entries = re.findall(r"(?m)^[^\s#].*$", text)
    assert len(PIN.findall(text)) == len(entries) > 20
    assert "make lock" in text.splitlines()[1]
    assert not re.search(r"://|file:|--(?:extra-)?index-url|--find-links|(?<!\w)/\w", text)


def test_torch_is_not_in_the_lock():
    assert not {"torch", "torchvision"} & pins().keys()


@pytest.mark.parametrize("name", ["apache-tvm", "apache-tvm-ffi"])
def test_installed_version_is_the_locked_one(name):
    assert pins()[name] == [metadata.version(name)]


def test_save_json_works():
    """With tvm-ffi 0.1.15 the process dies of a segmentation fault here, hence the subprocess."""
    code = """
import tvm
from tvm import relax

builder = relax.BlockBuilder()
x = relax.Var("x", relax.TensorType((2, 3), "float32"))
with builder.function("main", [x]):
    builder.emit_func_output(builder.emit(relax.op.reshape(x, (6,))))
module = builder.get()
loaded = tvm.ir.load_json(tvm.ir.save_json(module))
tvm.ir.assert_structural_equal(loaded, module)
print("equal")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "equal\n"), done.stderr


def test_citation_states_the_project_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"(?m)^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited[1] == project["version"]
