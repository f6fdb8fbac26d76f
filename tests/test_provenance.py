"""Provenance: complete, true, and silent about whose machine it was."""

import getpass
import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

import pytest

from tvm_aliasing.measure import provenance as module
from tvm_aliasing.measure.provenance import provenance

ROOT = Path(__file__).resolve().parents[1]

KEYS = {
    *("tvm", "tvm_ffi", "lock_sha256", "git_commit", "git_dirty", "cpu", "gpu", "driver"),
    *("threads", "target", "date", "command"),
}


def in_process(*arguments, code_prefix="", code_suffix="", cwd=ROOT, **environment):
    """Provenance as a process of its own, started as a user would, reports it."""
    code = (
        f"{code_prefix}\nimport json\n"
        "from tvm_aliasing.measure.provenance import provenance\n"
        f"print(json.dumps(provenance())){code_suffix}"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
        check=True,
    )
    return json.loads(done.stdout)


def test_keys_and_json():
    facts = provenance(target="llvm", threads=2)
    assert set(facts) == KEYS
    assert json.loads(json.dumps(facts)) == facts


def test_versions_and_lock_are_the_installed_ones():
    facts = provenance()
    assert facts["tvm"] == metadata.version("apache-tvm")
    assert facts["tvm_ffi"] == metadata.version("apache-tvm-ffi")
    lock = (ROOT / "requirements.lock").read_bytes()
    assert facts["lock_sha256"] == hashlib.sha256(lock).hexdigest()


def test_lock_and_git_are_null_outside_a_checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROOT", tmp_path)
    facts = provenance()
    assert facts["lock_sha256"] is None
    assert facts["git_commit"] is None
    assert facts["git_dirty"] is None


def test_date_is_now_in_utc():
    date = datetime.fromisoformat(provenance()["date"])
    assert date.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - date) < timedelta(minutes=1)


def test_cpu_is_named_as_the_system_names_it():
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.is_file() or "model name" not in cpuinfo.read_text():
        pytest.skip("this system does not list a CPU name in /proc/cpuinfo")
    assert f": {provenance()['cpu']}\n" in cpuinfo.read_text()


# --- git ---------------------------------------------------------------------------------


def git(directory, *arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(directory), *identity, *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_clean_checkout(checkout):
    assert module._git_state(checkout) == (git(checkout, "rev-parse", "HEAD"), False)


@pytest.mark.parametrize("name", ["a.py", "new.py"])
def test_changed_or_new_source_is_dirty(checkout, name):
    (checkout / name).write_text("a = 2\n")
    assert module._git_state(checkout)[1] is True


def test_a_new_record_does_not_make_the_tree_dirty(checkout):
    (checkout / "results").mkdir()
    (checkout / "results" / "R-0001.json").write_text("{}\n")
    assert module._git_state(checkout)[1] is False


def test_no_commit_yet(tmp_path):
    git(tmp_path, "init", "--quiet")
    assert module._git_state(tmp_path) == (None, None)


def test_a_surrounding_repository_is_not_ours(checkout):
    inside = checkout / "site-packages"
    inside.mkdir()
    assert module._git_state(inside) == (None, None)


# --- GPU ---------------------------------------------------------------------------------


def fake_nvidia_smi(directory, script):
    program = directory / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_gpu_and_driver(tmp_path, monkeypatch):
    fake_nvidia_smi(tmp_path, "echo 'NVIDIA X1, 16GB, 570.1'; echo 'NVIDIA X1, 16GB, 570.1'")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    facts = provenance()
    assert (facts["gpu"], facts["driver"]) == ("NVIDIA X1, 16GB", "570.1")


def test_gpu_is_null_if_the_driver_does_not_answer(tmp_path, monkeypatch):
    fake_nvidia_smi(tmp_path, "echo 'NVIDIA-SMI has failed'; exit 9")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    facts = provenance()
    assert (facts["gpu"], facts["driver"]) == (None, None)


def test_gpu_is_null_without_nvidia_smi(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    facts = provenance()
    assert (facts["gpu"], facts["driver"]) == (None, None)


# --- target and threads ------------------------------------------------------------------


def test_target_forms():
    assert provenance()["target"] is None
    assert provenance(target="llvm")["target"] == "llvm"
    target = {"kind": "cuda", "arch": "sm_90"}
    assert json.loads(provenance(target=target)["target"]) == target


def test_tvm_target_is_text():
    import tvm

    text = provenance(target=tvm.target.Target("llvm"))["target"]
    assert json.loads(text)["kind"] == "llvm"


def test_threads_given_are_kept():
    assert provenance(threads=3)["threads"] == 3


def test_threads_of_a_loaded_tvm():
    assert in_process(code_prefix="import tvm", TVM_NUM_THREADS="2")["threads"] == 2


# --- the command, and whose machine it was -----------------------------------------------


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("compare", "compare"),
        ("mha.onnx", "mha.onnx"),
        ("models/mha.onnx", "models/mha.onnx"),
        ("--dim", "--dim"),
        ("n=4", "n=4"),
        ("k0,alias", "k0,alias"),
        ('{"kind":"cuda","arch":"sm_90"}', '{"kind":"cuda","arch":"sm_90"}'),
        ("-", "-"),
        ("", ""),
        ("../", ".."),
        ("/srv/people/ann/mha.onnx", "mha.onnx"),
        ("/srv/people/ann b/mha 2.onnx", "mha 2.onnx"),
        ("/srv/people/ann/results/", "results"),
        ("--json=/srv/people/ann/out.json", "--json=out.json"),
        ("-o/srv/people/ann/results", "-oresults"),
        ("../../ann/mha.onnx", "mha.onnx"),
        ("~ann/mha.onnx", "mha.onnx"),
        (r"C:\Users\ann\mha.onnx", "mha.onnx"),
        ("open('/srv/people/ann/x.json')", "open('x.json')"),
        ("model=/srv/ann b/x.onnx", "model=x.onnx"),
        ("x.onnx,/srv/ann/y.onnx", "x.onnx,y.onnx"),
        ("file:///srv/ann/x", "file://x"),
    ],
)
def test_paths_are_reduced_to_names(typed, kept):
    assert module._without_paths(typed) == kept


def test_command_is_what_was_typed():
    facts = in_process("compare", "mha", "--dim", "n=4", "--json", "/srv/people/ann/o.json")
    words = shlex.split(facts["command"])
    assert words[0] == Path(sys.executable).name
    assert words[1] == "-c"
    assert words[3:] == ["compare", "mha", "--dim", "n=4", "--json", "o.json"]


def test_nothing_tells_whose_machine_it_was(tmp_path):
    model = tmp_path / "model.onnx"
    facts = in_process(str(model), f"--json={model}", "--figure", "../a.png", cwd=tmp_path)
    text = json.dumps(facts)
    assert not re.search(r"(?<![\w.\-])~?/\w", text)
    for place in (Path.home(), ROOT, tmp_path, Path(sys.prefix)):
        assert str(place) not in text
    for name in (getpass.getuser(), platform.node()):
        assert not re.search(rf"\b{re.escape(name)}\b", text)
