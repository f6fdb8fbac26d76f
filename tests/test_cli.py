"""The command line: what it prints and where, and one line and exit code 2 for bad input."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tvm_aliasing import approaches, cli, files, latencies, models, workloads

PROGRAMS = Path(__file__).parent / "programs"
BLOCK_OUTPUT = PROGRAMS / "block_output.py"
PNG = b"\x89PNG\r\n\x1a\n"

ROW = [
    "workload", "approach", "planner", "placement", "fused", "exec_mode", "outputs", "donate",
    "dims", "threads", "target", "label", "ran", "correct", "memory", "latency",
]  # fmt: skip
MEMORY = [
    "requested", "planned", "peak", "retained", "workspace", "live_bound", "value_bound",
    "kernels", "copy_kernels", "bytes_copied",
]  # fmt: skip


def run(*arguments, cwd=None):
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "tvm_aliasing", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def main(capfd, *arguments):
    """Run a command in this process: (exit code, stdout, stderr), of C++ code too."""
    code = cli.main([str(argument) for argument in arguments])
    gc.collect()  # TVM logs when it releases what a failed build leaves behind
    return code, *capfd.readouterr()


# compare


def test_compare_prints_a_table():
    done = run("compare", BLOCK_OUTPUT, "--approach", "copy,stock,k0", "--planner", "token")
    assert (done.returncode, done.stderr) == (0, "")
    header, *lines = (line.split() for line in done.stdout.splitlines())
    assert header[:3] == ["workload", "approach", "correct"]
    assert "planner" not in header  # the same in every row
    assert [line[:3] for line in lines] == [
        ["block_output", name, "True"] for name in ("copy", "stock", "k0")
    ]
    peak = header.index("peak")
    assert [line[peak] for line in lines] == ["192", "192", "96"]


def test_planners_that_are_not_named_are_a_column(capfd):
    code, out, err = main(capfd, "compare", BLOCK_OUTPUT, "--approach", "shipped,alias:views+dest")
    assert (code, err) == (0, "")
    header, *lines = (line.split() for line in out.splitlines())
    assert header[:4] == ["workload", "approach", "planner", "correct"]
    assert [line[1:4] for line in lines] == [
        ["shipped", "tvm", "True"],
        ["alias:views+dest", "token", "True"],
        ["alias:views+dest", "arena", "True"],
    ]


def test_a_planner_without_approaches_leaves_out_those_that_do_not_take_it(capfd):
    code, out, err = main(capfd, "compare", BLOCK_OUTPUT, "--planner", "arena")
    assert (code, err) == (0, "")
    header, *lines = (line.split() for line in out.splitlines())
    assert header[:3] == ["workload", "approach", "correct"]
    left_out = ("shipped", "stock+inplace")
    assert [line[1:3] for line in lines] == [
        [name, "True"] for name in approaches() if name not in left_out
    ]


def test_json_on_stdout_is_one_record_and_nothing_else(tmp_path):
    arguments = ("--planner", "tvm", "--json", "-")
    done = run("compare", BLOCK_OUTPUT, "reshape_chain", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    record = json.loads(done.stdout)
    assert list(record) == ["id", "kind", "supersedes", "provenance", "rows"]
    assert (record["id"], record["kind"], record["supersedes"]) == (None, "compare", None)
    rows = [(row["workload"], row["approach"]) for row in record["rows"]]
    names = ("block_output", "reshape_chain")
    assert rows == [(name, approach) for name in names for approach in approaches()]
    for row in record["rows"]:
        assert list(row) == ROW
        assert list(row["memory"]) == MEMORY
        assert (row["ran"], row["correct"]) == (True, True)
        assert all(value is None or type(value) is int for value in row["memory"].values())
        assert type(row["threads"]) is int
    assert str(BLOCK_OUTPUT.parent) not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_json_and_figure_in_files(tmp_path, capfd):
    record, figure = tmp_path / "r.json", tmp_path / "map.png"
    record.write_text("an older one")
    code, out, err = main(
        capfd, "compare", BLOCK_OUTPUT, "--approach", "k0", "--planner", "token",
        "--json", record, "--figure", figure,
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert out.startswith("    workload")
    (row,) = json.loads(record.read_text())["rows"]
    assert row["correct"]
    assert record.read_bytes().endswith(b"}\n")
    assert figure.read_bytes().startswith(PNG)
    assert sorted(tmp_path.iterdir()) == [figure, record]


def test_link_to_a_result_stays_a_link(tmp_path, capfd):
    link = tmp_path / "latest.json"
    link.symlink_to("r.json")
    assert main(capfd, "compare", BLOCK_OUTPUT, "--approach", "k0", "--json", link)[0] == 0
    assert link.is_symlink()
    assert json.loads((tmp_path / "r.json").read_text())["kind"] == "compare"


def test_figure_of_an_approach_that_is_not_usually_drawn(tmp_path, capfd):
    figure = tmp_path / "map.png"
    code, _, err = main(capfd, "compare", BLOCK_OUTPUT, "--approach", "shipped", "--figure", figure)
    assert (code, err) == (0, "")
    assert figure.read_bytes().startswith(PNG)


def test_where_nothing_is_right_there_is_a_table_and_no_figure(tmp_path, capfd):
    path, figure = tmp_path / "wrong.py", tmp_path / "map.png"
    path.write_text(BLOCK_OUTPUT.read_text() + "\nexpected = expected * 2\n")
    code, out, err = main(capfd, "compare", path, "--approach", "k0", "--figure", figure)
    assert code == 2
    assert "False" in out
    assert_one_line(err, "no memory map")
    assert not figure.exists()


def test_several_values_of_an_option(capfd):
    code, out, _ = main(
        capfd, "compare", BLOCK_OUTPUT, "--approach", "copy,k0", "--planner", "tvm",
        "--fused", "true,false,moves-apart", "--exec-mode", "bytecode,compiled",
    )  # fmt: skip
    assert code == 0
    header, *lines = (line.split() for line in out.splitlines())
    assert header[:4] == ["workload", "approach", "fused", "exec_mode"]
    assert [tuple(line[1:5]) for line in lines] == [
        (approach, fused, mode, "True")
        for approach in ("copy", "k0")
        for fused in ("True", "False", "moves-apart")
        for mode in ("bytecode", "compiled")
    ]


def test_dim_gives_a_size_and_its_bound(tmp_path, capfd):
    path = tmp_path / "net.py"
    path.write_text(SYMBOLIC)
    arguments = ("--approach", "k0", "--planner", "token", "--dim", "n=3", "--json", "-")
    code, out, _ = main(capfd, "compare", path, *arguments)
    (row,) = json.loads(out)["rows"]
    assert (code, row["dims"], row["memory"]["retained"]) == (0, {"n": 3}, 24)


def test_latency_beside_a_reference(capfd, monkeypatch):
    monkeypatch.setattr(latencies, "SITTINGS", 1)
    monkeypatch.setattr(latencies, "ROUNDS", (2, 2))
    code, out, err = main(
        capfd, "compare", BLOCK_OUTPUT, "--approach", "stock,k0", "--planner", "token",
        "--latency-to", "stock",
    )  # fmt: skip
    assert (code, err) == (0, "")
    header, *lines = (line.split() for line in out.splitlines())
    first = header.index("ratio")
    assert header[first : first + 5] == ["ratio", "lo", "hi", "aa_lo", "aa_hi"]
    for line in lines:
        assert all(len(value.partition(".")[2]) == 3 for value in line[first : first + 5])


# The other commands


def test_workloads_are_listed(capfd):
    code, out, err = main(capfd, "workloads")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == workloads()


def test_a_reader_that_leaves_early():
    """As `head` does."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tvm_aliasing", "workloads"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    child.stdout.close()
    assert (child.wait(), child.stderr.read()) == (0, b"")
    child.stderr.close()


def test_models_are_listed(capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("TVM_ALIASING_CACHE", str(tmp_path))
    code, out, err = main(capfd, "models", "list")
    assert (code, err) == (0, "")
    known = [model.name for model in models.models()]
    assert [line.split()[0] for line in out.splitlines()] == known
    assert all(line.endswith("not fetched") for line in out.splitlines())


def test_help_names_every_command():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    ready = ("compare", "verify", "workloads", "models", "measure", "show", "rerun")
    for name in (*ready, *cli.NOT_THERE_YET):
        assert f"    {name}" in done.stdout


def test_help_of_compare_names_every_option(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["compare", "--help"])
    assert left.value.code == 0
    out = capsys.readouterr().out
    for option in (
        "approach", "target", "planner", "placement", "fused", "exec-mode", "entry", "donate",
        "outputs", "dim", "no-verify", "latency-to", "json", "figure",
    ):  # fmt: skip
        assert f"--{option}" in out
    told = "".join(out.split())  # lines are broken anywhere
    for value in (*approaches(), "alias:views+dest", "token,arena,tvm"):
        assert value in told


@pytest.mark.parametrize(
    "arguments",
    [
        ("export", "m.py"),
        ("run-exported", "m.so"),
    ],
    ids=" ".join,
)
def test_commands_to_come(arguments, capfd):
    code, out, err = main(capfd, *arguments)
    assert (code, out) == (2, "")
    assert_one_line(err, f"{arguments[0]} is not there yet")


# Bad input

SYMBOLIC = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Net:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), y: R.Tensor(("n", 2), "float32")):
        return R.add(x, y)
"""

NO_KERNEL = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Net:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.ewise_fma(x, x, x)
"""


DECLARES = """
import numpy as np
from tvm.script import ir as I, relax as R

@I.ir_module
class Net:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        R.func_attr({"ta.extern_alias": {"my.function": "stale"}})
        return R.add(x, x)

inputs = (np.ones(4, "float32"),)
expected = np.full(4, 2, "float32")
"""


def given(inputs):
    return BLOCK_OUTPUT.read_text() + f"\ninputs = {inputs}\n"


def sized(first, second):
    return SYMBOLIC + (
        "import numpy as np\n"
        f"inputs = np.ones(({first}, 2), 'float32'), np.ones(({second}, 2), 'float32')\n"
    )


def lstm():
    """An ONNX model with an operator that TVM does not import."""
    weights = {"w": np.ones((1, 16, 3), np.float32), "r": np.ones((1, 16, 4), np.float32)}
    graph = helper.make_graph(
        [helper.make_node("LSTM", ["x", "w", "r"], ["out"], hidden_size=4)],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 1, 3])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 1, 1, 4])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def assert_one_line(err, message):
    assert err.startswith("tvm_aliasing: ")
    assert message in err
    assert err.count("\n") == 1 and err.endswith("\n")


#: name: (file name, its content, more arguments, what the line says)
BAD = {
    "no such file": ("m.onnx", None, [], "no such file: m.onnx"),
    "no such workload": ("conv_flat", None, [], "no workload or model 'conv_flat': use a file, or"),
    "not fetched": ("magika", None, [], "models fetch magika"),
    "folder": (".", None, [], ". is a directory"),
    "not an onnx model": ("m.onnx", b"not a model", [], "m.onnx is not an ONNX model"),
    "not a relax model": ("m.py", "x = 1\n", [], "m.py defines no Relax module"),
    "raises": ("m.py", "1 / 0\n", [], "m.py, line 1: ZeroDivisionError"),
    "unsupported onnx operator": ("m.onnx", lstm, [], "TVM cannot import m.onnx: "),
    "unsupported relax operator": ("m.py", NO_KERNEL, [], "R.ewise_fma(x, x, x)"),
    "unsupported relax operator with expected": (
        "m.py",
        NO_KERNEL + "import numpy as np\nexpected = np.ones(4, 'float32')\n",
        [],
        "TVM cannot build this module under copy: R.ewise_fma(x, x, x)",
    ),
    "unknown word of a declaration": (
        "m.py",
        DECLARES,
        [],
        "main declares 'my.function' as 'stale': ta.extern_alias is a dict of names",
    ),
    "unknown approach": (BLOCK_OUTPUT, None, ["--approach", "k0,k1"], "unknown approach 'k1': use"),
    "early": (
        BLOCK_OUTPUT,
        None,
        ["--placement", "early", "--approach", "stock"],
        "placement late",
    ),
    "unknown feature": (
        BLOCK_OUTPUT,
        None,
        ["--approach", "alias:view"],
        "alias has no feature 'view': use reshape, views, dest",
    ),
    "feature of another": (
        BLOCK_OUTPUT,
        None,
        ["--approach", "k0+:views+dest"],
        "k0+ has no feature 'dest': use reshape, views",
    ),
    "unknown planner": (BLOCK_OUTPUT, None, ["--planner", "best"], "unknown planner 'best': use"),
    "planner of others": (
        BLOCK_OUTPUT,
        None,
        ["--approach", "k0,shipped", "--planner", "arena"],
        "shipped takes planner tvm only",
    ),
    "unknown target": (BLOCK_OUTPUT, None, ["--target", "abacus"], "unknown target 'abacus': use"),
    # The device of a target is asked for once there is a target other than llvm.
    "no such device": (BLOCK_OUTPUT, None, ["--target", "cuda"], "cuda is not there yet: use"),
    "placement": (BLOCK_OUTPUT, None, ["--placement", "now"], "unknown placement 'now': use"),
    "fused": (BLOCK_OUTPUT, None, ["--fused", "yes"], "unknown fused 'yes': use"),
    "exec mode": (BLOCK_OUTPUT, None, ["--exec-mode", "vm"], "unknown exec_mode 'vm': use"),
    "outputs": (BLOCK_OUTPUT, None, ["--outputs", "all"], "unknown outputs 'all': use"),
    "donate": (BLOCK_OUTPUT, None, ["--donate", "y"], "donate has 'y', and that is no parameter"),
    "reference": (BLOCK_OUTPUT, None, ["--latency-to", "k1"], "latency_to 'k1' is not compared"),
    "entry": (BLOCK_OUTPUT, None, ["--entry", "run"], "no Relax function 'run'"),
    "unknown option": (BLOCK_OUTPUT, None, ["--fast"], "unrecognized arguments: --fast: see"),
    "input count": ("m.py", given("(X,)"), [], "inputs must be a tuple of 2"),
    "input shape": ("m.py", given("(X.T, W)"), [], "x has shape (6, 4), expected (4, 6)"),
    "input dtype": ("m.py", given("(X > 0, W)"), [], "x has dtype bool, expected float32"),
    "input dimensions": ("m.py", given("(X[0], W)"), [], "x has 1 dimensions, expected 2"),
    "inconsistent dimension": ("m.py", sized(3, 4), [], "symbolic size n is 4 here and 3 in"),
    "above its bound": ("m.py", sized(3, 3), ["--dim", "n=2"], "n is 3, more than its bound 2"),
    "dimension without a size": ("m.py", SYMBOLIC, [], "--dim n=4"),
    "unknown dimension": ("m.py", SYMBOLIC, ["--dim", "n=1", "--dim", "m=1"], "no dimension 'm'"),
    "dimension of nothing": ("m.py", SYMBOLIC, ["--dim", "n=0"], "an integer of at least 1"),
    "no number": ("m.py", SYMBOLIC, ["--dim", "n=x"], "--dim n=x: give NAME=SIZE"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_leaves_everything_as_it_was(case, tmp_path, monkeypatch, capfd):
    program, content, arguments, message = BAD[case]
    monkeypatch.chdir(tmp_path)
    if case == "not fetched":
        monkeypatch.setenv("TVM_ALIASING_CACHE", str(tmp_path))
    if content is not None:
        content = content() if callable(content) else content
        Path(program).write_bytes(content if isinstance(content, bytes) else content.encode())
    Path("old.json").write_text("old")
    before = set(tmp_path.iterdir())
    code, out, err = main(
        capfd, "compare", program, *arguments, "--json", "old.json", "--figure", "new.png"
    )
    assert (code, out) == (2, "")
    assert_one_line(err, message)
    assert set(tmp_path.iterdir()) == before
    assert Path("old.json").read_text() == "old"


@pytest.mark.parametrize("case", ["unsupported onnx operator", "unsupported relax operator",
                                  "no such device", "unknown option", "input shape"])  # fmt: skip
def test_bad_input_in_a_process_of_its_own(case, tmp_path):
    """TVM also logs at exit."""
    program, content, arguments, message = BAD[case]
    if content is not None:
        content = content() if callable(content) else content.encode()
        (tmp_path / program).write_bytes(content)
    done = run("compare", program, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert_one_line(done.stderr, message)


@pytest.mark.parametrize("option", ["--json", "--figure"])
@pytest.mark.parametrize("place", ["none/r.out", "folder", "/dev/null", "file/r.out"])
def test_unwritable_output_is_refused_before_the_work(option, place, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("old")
    monkeypatch.setattr(sys.modules["tvm_aliasing.compare"], "compare", None)
    code, out, err = main(capfd, "compare", BLOCK_OUTPUT, option, place)
    assert (code, out) == (2, "")
    assert_one_line(err, f"cannot write {place}: ")
    assert Path("file").read_text() == "old"
    assert not Path("/dev/null").is_file()


def test_one_file_for_two_results_is_refused(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code, out, err = main(capfd, "compare", "--json", "same", "--figure", "./same")
    assert (code, out) == (2, "")
    assert_one_line(err, "--json and --figure are both same: name two files")
    assert not list(tmp_path.iterdir())


def test_figure_on_stdout_is_refused(capfd):
    code, out, err = main(capfd, "compare", BLOCK_OUTPUT, "--figure", "-")
    assert (code, out) == (2, "")
    assert_one_line(err, "name a file")


def test_disk_that_is_full_at_the_end(tmp_path, monkeypatch, capfd):
    def full(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "r.json"
    path.write_text("old")
    monkeypatch.setattr(files.os, "replace", full)
    code, _, err = main(capfd, "compare", BLOCK_OUTPUT, "--approach", "k0", "--json", path)
    assert code == 2
    assert_one_line(err, f"cannot write {path}: No space left on device")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_unknown_command_and_none():
    for arguments, message in ((["compere"], "invalid choice: 'compere'"), ([], "COMMAND")):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert_one_line(done.stderr, message)
        assert "see python -m tvm_aliasing --help" in done.stderr


def test_unknown_model(capfd):
    code, out, err = main(capfd, "models", "fetch", "nosuch")
    assert (code, out) == (2, "")
    assert_one_line(err, "no known model 'nosuch'; there are: ")
