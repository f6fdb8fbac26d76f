"""The faults of TVM that `upstream/` has texts about are still there."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tvm

FOLDER = Path(__file__).parents[1] / "upstream"
SCRIPTS = sorted(FOLDER.glob("*.py"))


def program(text):
    """The module in a script or in a text about it, without what surrounds it."""
    return re.search(r"@I\.ir_module\n.*?return [^\n]*\n", text, re.DOTALL)[0]


def copy_of(tensor):
    return tvm.runtime.tensor(tensor.numpy())


def test_four_faults():
    names = ["constant_returned", "extern_result_aliases"]
    names += ["storage_across_branches", "storage_across_devices"]
    assert [path.stem for path in SCRIPTS] == names


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_fault_is_still_there(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 3), done.stderr
    assert done.returncode == 0, f"upstream/{script.name} shows no fault: {done.stdout}"
    assert "not there" not in done.stdout


def test_a_fault_that_is_gone_is_said(monkeypatch, capsys):
    """With a function that returns fresh memory there is nothing to overwrite."""
    path = FOLDER / "extern_result_aliases.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, script)  # TVMScript looks for its source there
    spec.loader.exec_module(script)
    tvm.register_global_func("upstream.same", copy_of, override=True)
    assert script.main() == 3
    assert "not there: TVM" in capsys.readouterr().out


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_needs_tvm_and_numpy_only(script):
    imported = re.findall(r"^(?:import|from) (\w+)", script.read_text(), re.MULTILINE)
    assert set(imported) <= {"sys", "subprocess", "numpy", "tvm"}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_text_is_about_the_program_of_the_script(script):
    text = script.with_suffix(".md").read_text()
    assert program(script.read_text()) in text
    headings = [line for line in text.splitlines() if line.startswith("### ")]
    wanted = ["What happens", "Program", "Expected", "Cause", "Version"]
    assert headings == [f"### {heading}" for heading in wanted]
    assert text.startswith("**") and script.name in (FOLDER / "README.md").read_text()
