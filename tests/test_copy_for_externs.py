"""CopyForExterns: who reads from the first byte is given tensors that begin their storage."""

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from tvm_aliasing.analysis.bindings import bindings_of, callee_of
from tvm_aliasing.passes.copy_for_externs import CopyForExterns, tensors_to_copy

X = np.arange(32, dtype="float32").reshape(4, 8)


@I.ir_module
class Module:
    @R.function
    def view(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        v = R.memory.view(a, R.shape([8]), R.dtype("float32"), 64)
        y = R.call_pure_packed("any", v, x, ty_args=R.Tensor((8,), "float32"))
        return y

    @R.function
    def view_of_the_beginning(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        v = R.memory.view(a, R.shape([8]), R.dtype("float32"), 0)
        y = R.call_pure_packed("any", v, ty_args=R.Tensor((8,), "float32"))
        return y

    @R.function
    def fields(x: R.Tensor((4, 8), "float32")):
        v = R.memory.view(x, R.shape([8]), R.dtype("float32"), 64)
        pair = (x, v)
        y = R.call_pure_packed("any", pair, ty_args=R.Tensor((8,), "float32"))
        return y

    @R.function
    def condition(c: R.Tensor((2,), "bool"), x: R.Tensor((4, 8), "float32")):
        second = R.memory.view(c, R.shape([]), R.dtype("bool"), 1)
        if second:
            y = R.tanh(x)
        else:
            y = R.sin(x)
        return y

    @R.function(private=True)
    def calls_an_extern(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.call_pure_packed("any", x, ty_args=R.Tensor((8,), "float32"))
        return y

    @R.function
    def through_a_function(x: R.Tensor((4, 8), "float32")):
        v = R.memory.view(x, R.shape([8]), R.dtype("float32"), 64)
        y = Module.calls_an_extern(v)
        return y

    @R.function(private=True)
    def calls_a_kernel(x: R.Tensor((8,), "float32")) -> R.Tensor((8,), "float32"):
        y = R.tanh(x)
        return y

    @R.function
    def to_a_kernel(x: R.Tensor((4, 8), "float32")):
        v = R.memory.view(x, R.shape([8]), R.dtype("float32"), 64)
        y = Module.calls_a_kernel(v)
        return R.exp(v), y


LEGAL = tvm.relax.transform.LegalizeOps()(Module)

#: What is copied, and before which binding.
COPIED = {
    "view": {"y": ["v"]},
    "view_of_the_beginning": {},
    "fields": {"y": ["pair"]},
    "condition": {"y": ["second"]},
    "through_a_function": {"y": ["v"]},
    "to_a_kernel": {},
}


@pytest.mark.parametrize("name", COPIED)
def test_what_is_copied(name):
    found = tensors_to_copy(LEGAL, LEGAL[name])
    names = {var.name: [read.name for read, _ in reads] for var, reads in found.items()}
    assert names == COPIED[name]


@pytest.mark.parametrize("name", COPIED)
def test_each_is_copied_once_and_nothing_else(name):
    mod = CopyForExterns()(LEGAL)
    tvm.relax.analysis.well_formed(mod)
    text = mod[name].script()
    copies = text.count("R.call_tir(") - LEGAL[name].script().count("R.call_tir(")
    assert copies == len(COPIED[name])
    if not COPIED[name]:
        tvm.ir.assert_structural_equal(mod[name], LEGAL[name], map_free_vars=True)


def test_the_copy_is_what_is_read():
    mod = CopyForExterns()(LEGAL)
    last = list(bindings_of(mod["view"].body))[-1]
    argument = last.value.args[1]
    made = next(b for b in bindings_of(mod["view"].body) if b.var.same_as(argument))
    assert callee_of(made.value, mod) is None
    assert made.value.args[0].name_hint.startswith("copy")
    assert last.value.args[2].name == "x"


def test_a_module_that_writes_in_place_is_left_alone():
    @I.ir_module
    class InPlace:
        @R.function(pure=False)
        def main(x: R.Tensor((4, 8), "float32")):
            v = R.memory.view(x, R.shape([8]), R.dtype("float32"), 64)
            y = R.call_inplace_packed(
                "any", v, inplace_indices=[0], ty_args=R.Tensor((8,), "float32")
            )
            return y

    tvm.ir.assert_structural_equal(CopyForExterns()(InPlace), InPlace)


@I.ir_module
class Condition:
    """TVM reads the condition from the first byte of its storage, whatever the offset."""

    @R.function
    def main(c: R.Tensor((2,), "bool"), x: R.Tensor((4, 8), "float32")):
        both = R.logical_not(c)
        second = R.memory.view(both, R.shape([]), R.dtype("bool"), 1)
        if second:
            y = R.tanh(x)
        else:
            y = R.negative(x)
        return y


@pytest.mark.parametrize("approach", ["copy", "k0", "alias"])
@pytest.mark.parametrize("flags", [(False, True), (True, False)])
def test_a_condition_at_an_offset(flags, approach):
    result = ta.build(Condition, approach).run(np.asarray(flags), X)
    np.testing.assert_allclose(result, -X if flags[1] else np.tanh(X), rtol=1e-5)


@pytest.mark.parametrize("flags", [(False, True), (True, False)])
def test_tvm_reads_the_wrong_condition(flags):
    result = ta.build(Condition, "stock").run(np.asarray(flags), X)
    np.testing.assert_allclose(result, -X if flags[0] else np.tanh(X), rtol=1e-5)
