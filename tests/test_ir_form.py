"""The aliasing that `alias` says in the graph: golden IR, real Relax, and right when it is run.

`pytest --update-golden tests/test_ir_form.py` writes the files in golden/ anew.
"""

from pathlib import Path

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees

GOLDEN = Path(__file__).parent / "golden"

X = np.arange(32, dtype="float32").reshape(4, 8) / 8
PROGRAMS = {}


def program(expected, *inputs):
    """Add a module to `PROGRAMS`, with its inputs and what NumPy makes of them."""

    def add(module):
        PROGRAMS[module.__name__] = module, inputs, expected(*inputs)
        return module

    return add


@program(lambda x: np.exp(np.tanh(x).reshape(32)), X)
@I.ir_module
class Reshape:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.expand_dims(R.flatten(a), 0)
        return R.exp(R.squeeze(b, 0))


@program(lambda x: np.tanh(x)[:2] * np.tanh(x)[2:] + np.tanh(x)[1:3], X)
@I.ir_module
class SplitAndSlice:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        halves = R.split(a, 2, axis=0)
        middle = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        return R.add(R.multiply(halves[0], halves[1]), middle)


@program(lambda x: np.exp(np.tanh(x)[2:].reshape(16)[8:]), X)
@I.ir_module
class ViewOfAView:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        lower = R.strided_slice(a, axes=[0], begin=[2], end=[4])
        flat = R.reshape(lower, (16,))
        return R.exp(R.strided_slice(flat, axes=[0], begin=[8], end=[16]))


@program(lambda x: np.tanh(x[1:3]), X)
@I.ir_module
class SliceOfAParameter:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        return R.tanh(R.strided_slice(x, axes=[0], begin=[1], end=[3]))


@program(lambda x: np.exp(np.concatenate([np.tanh(x), np.sin(x)])), X)
@I.ir_module
class Concat:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        return R.exp(R.concat([R.tanh(x), R.sin(x)], axis=0))


@program(lambda x: np.exp(np.stack([np.tanh(x), np.sin(x)])), X)
@I.ir_module
class Stack:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        return R.exp(R.stack([R.tanh(x), R.sin(x)], axis=0))


@program(lambda x: np.exp(np.concatenate([np.cos(x), np.tanh(x), np.sin(x)])), X)
@I.ir_module
class NestedConcat:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        inner = R.concat([R.tanh(x), R.sin(x)], axis=0)
        return R.exp(R.concat([R.cos(x), inner], axis=0))


def _grown(x):
    a = np.tanh(x)
    b = np.concatenate([a, np.sin(a)])
    return np.exp(np.concatenate([b, np.cos(b)]))


@program(_grown, X)
@I.ir_module
class ReadsAnEarlierRange:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.concat([a, R.sin(a)], axis=0)
        c = R.concat([b, R.cos(b)], axis=0)
        return R.exp(c)


@program(
    lambda x: np.exp(np.concatenate([np.tanh(x), x, np.tanh(x), np.ones((1, 8), "float32")])), X
)
@I.ir_module
class CopiedOperands:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        ones = R.const(np.ones((1, 8), "float32"))
        return R.exp(R.concat([a, x, a, ones], axis=0))


@program(lambda x: (np.tanh(x), np.exp(np.concatenate([np.tanh(x), np.sin(x)]))), X)
@I.ir_module
class ReturnedOperand:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return a, R.exp(R.concat([a, R.sin(x)], axis=0))


@program(lambda x: np.exp(np.concatenate([np.tanh(x), np.sin(x)])[2:]), X)
@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 8), "float32")):
        n = T.int64()
        a = R.tanh(x)
        b = R.concat([a, R.sin(x)], axis=0)
        c = R.reshape(b, (2 * n, 4, 2))
        d = R.reshape(c, (2 * n, 8))
        return R.exp(R.strided_slice(d, axes=[0], begin=[2], end=[8]))


@program(lambda x: np.tanh(x).view("int32").astype("float32") + np.tanh(x), X)
@I.ir_module
class Reinterpretation:
    """A dtype is reinterpreted where the user says so; `astype` computes."""

    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        bits = R.memory.view(a, R.shape([4, 8]), R.dtype("int32"), 0)
        return R.add(R.astype(bits, "float32"), a)


def built(name, approach="alias", **options):
    module, _, _ = PROGRAMS[name]
    return ta.build(module, approach, fused=False, **options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name, request):
    found = built(name).stages["introduced"]["main"].script(show_meta=False) + "\n"
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(found)
    assert found == path.read_text()


@pytest.mark.parametrize("stage", ["introduced", "planned"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_form_is_printed_and_parsed_back(name, stage):
    module = built(name, planner="arena").stages[stage]
    relax.analysis.well_formed(module)
    parsed = tvm.script.from_source(module.script(show_meta=True))
    tvm.ir.assert_structural_equal(parsed, module, map_free_vars=True)


SETTINGS = [
    ("alias:reshape", "token", "bytecode"),
    ("alias:reshape", "arena", "compiled"),
    ("alias:views", "token", "compiled"),
    ("alias:views", "arena", "bytecode"),
    ("alias:dest", "token", "bytecode"),
    ("alias:dest", "arena", "compiled"),
    ("alias:inplace", "token", "bytecode"),
    ("alias:inplace", "arena", "compiled"),
    ("k0+", "token", "compiled"),
    ("k0+", "arena", "bytecode"),
    ("k0+", "tvm", "bytecode"),
    ("alias", "tvm", "bytecode"),
    ("alias", "token", "compiled"),
    ("alias", "arena", "bytecode"),
]


@pytest.mark.parametrize(("approach", "planner", "exec_mode"), SETTINGS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_when_run(name, approach, planner, exec_mode):
    _, inputs, expected = PROGRAMS[name]
    result = built(name, approach, planner=planner, exec_mode=exec_mode).run(*inputs)
    assert agrees(result, expected)


#: (kernels, copy kernels) of one call: what each program is left with.
KERNELS = {
    "Reshape": (2, 0),
    "SplitAndSlice": (3, 0),
    "ViewOfAView": (2, 0),
    "SliceOfAParameter": (1, 0),
    "Concat": (3, 0),
    "Stack": (3, 0),
    "NestedConcat": (4, 0),
    "ReadsAnEarlierRange": (4, 0),
    "CopiedOperands": (5, 3),  # the parameter, the constant, and what comes twice
    "ReturnedOperand": (4, 1),  # what is returned
    "Symbolic": (3, 0),
    "Reinterpretation": (3, 0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_left(name):
    _, inputs, _ = PROGRAMS[name]
    memory = built(name).memory(*inputs)
    assert (memory.kernels, memory.copy_kernels) == KERNELS[name]
