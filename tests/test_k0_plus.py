"""K0+: annotations that leave the graph alone, and whoever generates execution obeys them."""

import re

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees
from tvm_aliasing.analysis.properties import DECLARED, PROVED
from tvm_aliasing.attributes import MAY_OVERWRITE, RESHAPE_ONLY, VIEW_OF
from tvm_aliasing.errors import InputError
from tvm_aliasing.passes.annotate_properties import AnnotateProperties
from tvm_aliasing.passes.introduce_destinations import IntroduceDestinations
from tvm_aliasing.passes.introduce_views import IntroduceViews

FLAT = frozenset({"global"})
X = np.arange(32, dtype="float32").reshape(4, 8) / 8
ATTRIBUTES = (RESHAPE_ONLY, VIEW_OF, MAY_OVERWRITE)
PROGRAMS = {}


def program(expected, *inputs):
    def add(module):
        PROGRAMS[module.__name__] = module, inputs, expected(*inputs)
        return module

    return add


@program(lambda x: np.exp(np.tanh(x).reshape(8, 4)), X)
@I.ir_module
class Reshape:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        return R.exp(R.reshape(a, (8, 4)))


@program(lambda x: np.tanh(x)[:2] * np.tanh(x)[2:] + np.tanh(x)[1:3], X)
@I.ir_module
class Ranges:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        halves = R.split(a, 2, axis=0)
        middle = R.strided_slice(a, axes=[0], begin=[1], end=[3])
        return R.add(R.multiply(halves[0], halves[1]), middle)


@program(lambda x, y: (np.sin(np.exp(np.tanh(x) + y)), np.tanh(x)[2:]), X, X - 1)
@I.ir_module
class InPlace:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        a = R.tanh(x)
        b = R.add(a, y)
        c = R.exp(b)
        return R.sin(c), R.strided_slice(a, axes=[0], begin=[2], end=[4])


@program(lambda x, y: (x + 1, np.tanh(x + 1 + y)), X, X - 1)
@I.ir_module
class TwoOutputs:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((4, 8), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.add(a, y)
        return a, R.tanh(b)


def legalized(module):
    return tvm.transform.Sequential([transform.LegalizeOps(), transform.AnnotateTIROpPattern()])(
        module
    )


def without_properties(mod):
    mod = mod.clone()
    for name, function in mod.functions_items():
        if isinstance(function, tirx.PrimFunc):
            for key in ATTRIBUTES:
                if function.attrs and key in function.attrs:
                    function = function.without_attr(key)
            mod[name] = function
    return mod


# What is said.


@pytest.mark.parametrize("name", PROGRAMS)
def test_only_attributes_of_kernels_are_added(name):
    mod = legalized(PROGRAMS[name][0])
    said = AnnotateProperties()(mod)
    tvm.ir.assert_structural_equal(without_properties(said), mod)
    tvm.ir.assert_structural_equal(said["main"], mod["main"])
    added = [
        key
        for _, function in said.functions_items()
        if isinstance(function, tirx.PrimFunc)
        for key in ATTRIBUTES
        if key in function.attrs
    ]
    assert added


def test_the_introduced_stage_of_k0_plus_keeps_the_graph_until_execution_is_generated():
    early = ta.build(Ranges, "k0+", placement="early", fused=False).stages["introduced"]
    script = early["main"].script()
    assert "memory.view" not in script
    assert "call_tir_inplace" not in script
    assert "split" in script


def kernels(mod):
    return {
        name.name_hint: function
        for name, function in mod.functions_items()
        if isinstance(function, tirx.PrimFunc)
    }


def plain(said):
    return {output: list(map(int, answer)) for output, answer in said.items()}


def test_what_is_said_is_what_is_proved():
    found = kernels(AnnotateProperties()(legalized(Ranges)))
    assert plain(found["split"].attrs[VIEW_OF]) == {"1": [0, 0], "2": [0, 64]}
    assert plain(found["strided_slice"].attrs[VIEW_OF]) == {"1": [0, 32]}
    assert plain(found["add"].attrs[MAY_OVERWRITE]) == {"2": [0, 1]}
    reshape = kernels(AnnotateProperties()(legalized(Reshape)))["reshape"]
    assert reshape.attrs[RESHAPE_ONLY]
    for kernel in (*found.values(), reshape):
        viewed, declared = PROVED.viewed(kernel), DECLARED.viewed(kernel)
        assert (declared is None) == (viewed is None)
        for output, (source, begin) in (viewed or {}).items():
            assert declared[output][0] == source
            assert declared[output][1] == begin
        assert {k: v for k, v in PROVED.overwritable(kernel).items() if v} == {
            k: v for k, v in DECLARED.overwritable(kernel).items() if v
        }
        assert DECLARED.reshape_only(kernel) == PROVED.reshape_only(kernel)


@T.prim_func(s_tir=True, private=True)
def reversed_rows(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4, 8), "float32")):
    for i, j in T.grid(4, 8):
        with T.sblock("reverse"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[3 - vi, vj]


LIES = {RESHAPE_ONLY: True, VIEW_OF: {"1": [0, 0]}, MAY_OVERWRITE: {"1": [0]}}


@pytest.mark.parametrize("key", LIES)
def test_what_is_false_is_taken_away(key):
    lying = tvm.IRModule({"reversed_rows": reversed_rows.with_attr(key, LIES[key])})
    found = AnnotateProperties()(lying)["reversed_rows"]
    assert [k for k in ATTRIBUTES if found.attrs and k in found.attrs] == []


def test_a_false_annotation_of_the_source_does_no_harm():
    builder = tvm.relax.BlockBuilder()
    x = tvm.relax.Var("x", tvm.relax.TensorType((4, 8), "float32"))
    lying = reversed_rows
    for key, value in LIES.items():
        lying = lying.with_attr(key, value)
    with builder.function("main", [x]):
        a = builder.emit(tvm.relax.op.tanh(x))
        name = builder.add_func(lying, "reversed_rows")
        builder.emit_func_output(builder.emit(tvm.relax.op.call_tir(name, [a], x.ty)))
    mod = builder.finalize()
    for approach in ("k0+", "alias"):
        built = ta.build(mod, approach, fused=False)
        assert agrees(built.run(X), np.tanh(X)[::-1])


# What is obeyed.


def with_attribute(mod, kernel, key, value):
    mod = mod.clone()
    mod[kernel] = mod[kernel].with_attr(key, value)
    return mod


def test_a_view_that_is_declared_by_hand_is_obeyed():
    mod = with_attribute(legalized(Ranges), "strided_slice", VIEW_OF, {"1": [0, 32]})
    found = IntroduceViews(FLAT, "copy", True, DECLARED)(mod)["main"].script()
    assert found.count("R.memory.view(") == 1  # nothing is declared of the split
    assert re.search(
        r"R\.memory\.view\(\w+, R\.shape\(\[2, 8\]\), R\.dtype\(\"float32\"\), 32\)", found
    )
    assert re.search(r"R\.call_tir\((cls\.)?split", found)


@pytest.mark.parametrize("inputs", [[0], []])
def test_what_may_be_overwritten_is_obeyed(inputs):
    passes = IntroduceDestinations("copy", joins=False, over=True, properties=DECLARED)
    mod = with_attribute(legalized(TwoOutputs), "tir_tanh", MAY_OVERWRITE, {"1": inputs})
    assert passes(mod)["main"].script().count("call_tir_inplace") == len(inputs)


def test_what_the_graph_forbids_is_not_done_whatever_is_declared():
    """`a` is read after `add`, by the slice."""
    passes = IntroduceDestinations("copy", joins=False, over=True, properties=DECLARED)
    mod = with_attribute(legalized(InPlace), "add", MAY_OVERWRITE, {"2": [0]})
    assert "call_tir_inplace" not in passes(mod)["main"].script()


def test_nobody_has_to_act_on_it():
    said = tvm.transform.Sequential([AnnotateProperties()])(legalized(InPlace))
    passes = IntroduceDestinations("copy", joins=False, over=False, properties=DECLARED)
    tvm.ir.assert_structural_equal(passes(said), said)


# The fair pair.


FEATURES = ["reshape", "views", "inplace", "donate", "outputs", "views+inplace+donate+outputs"]


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_k0_plus_equals_alias_feature_by_feature(name, feature):
    planner = "token" if "donate" in feature else "arena"
    module, inputs, expected = PROGRAMS[name]
    donate = ["x"] if "donate" in feature else []
    found = {}
    for way in ("k0+", "alias"):
        built = ta.build(
            module,
            f"{way}:{feature}",
            planner=planner,
            donate=donate,
            outputs="view" if "outputs" in feature else "copy",
            fused=False,
        )
        assert agrees(built.run(*inputs), expected)
        found[way] = built.memory(*inputs)
    assert found["k0+"] == found["alias"]


@pytest.mark.parametrize("feature", ["dest", "views+dest"])
def test_destinations_are_no_property_of_a_function(feature):
    with pytest.raises(InputError) as caught:
        ta.build(Ranges, f"k0+:{feature}")
    assert str(caught.value) == (
        "k0+ has no feature 'dest': use reshape, views, inplace, donate, outputs"
    )
