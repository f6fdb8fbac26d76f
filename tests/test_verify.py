"""`verify` on what TVM makes of a program, on real builds, and from the command line."""

import pytest
import tvm
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import tvm_aliasing as ta
from hazard_modules import in_place, module
from test_plan_storage import TwoDevices
from tvm_aliasing import cli
from tvm_aliasing.build import planned
from tvm_aliasing.measure.cases import suite
from tvm_aliasing.stage_hazards import hazards_of

CASES = suite().cases
BRANCHES, EXTERN_RESULT, CONSTANT, AT_AN_OFFSET = (
    CASES[name][1].module
    for name in ("branch_reshape_second", "extern_identity", "constant_view", "view_at_an_offset")
)
SMALL = ("densenet", "kv_cache_row", "kv_cache_update", "matmul_reshape_symbolic", "qkv_split")


def kinds(hazards):
    return [hazard.kind for hazard in hazards]


# TVM's own output


@pytest.mark.parametrize("approach", ["shipped", "stock"])
@pytest.mark.parametrize(
    ("mod", "kind", "names"),
    [
        (BRANCHES, "undominated-storage", ("main.storage", "main.alloc2")),
        (EXTERN_RESULT, "extern-alias", ("main.same", "main.alloc1")),
        (CONSTANT, "undeclared-output-alias", None),
        (AT_AN_OFFSET, "offset-abi", ("main.part",)),
    ],
    ids=["#20191", "class of #17145", "constant", "#16955"],
)
def test_what_tvm_gets_wrong_is_found_and_does_not_raise(mod, kind, names, approach):
    (hazard,) = ta.build(mod, approach).hazards
    assert hazard.kind == kind
    assert names is None or hazard.bindings == names


def test_a_storage_that_tvm_shares_between_devices():
    passes = [
        transform.LegalizeOps(),
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.StaticPlanBlockMemory(),
        transform.LowerAllocTensor(),
    ]
    hazards = ta.verify(tvm.transform.Sequential(passes)(TwoDevices))
    assert set(kinds(hazards)) == {"mixed-storage"}
    assert len({hazard.bindings[1] for hazard in hazards}) == len(hazards)  # once a storage


def test_a_branch_that_is_never_taken_together_with_the_write_is_no_reader():
    """What one branch overwrites, only the other one reads."""
    hazards = ta.build(BRANCHES, "k0", planner="token").hazards
    assert hazards == []


@I.ir_module
class SymbolicOffset:
    @T.prim_func(private=True, s_tir=True)
    def double(given: T.handle, result: T.handle):
        n = T.int64()
        a = T.match_buffer(given, (n,), "float32", offset_factor=1)
        b = T.match_buffer(result, (n,), "float32", offset_factor=1)
        for i in range(n):
            with T.sblock("double"):
                v = T.axis.spatial(n, i)
                b[v] = a[v] * T.float32(2)

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        storage = R.memory.alloc_storage(R.shape([n * 8]), 0, R.str("global"), R.dtype("uint8"))
        made = R.memory.alloc_tensor(
            storage, R.prim_value(T.int64(4) * n), R.shape([n]), R.dtype("float32"), 0
        )
        _ = SymbolicOffset.double(x, made)
        return x


def test_a_tensor_at_a_symbolic_offset():
    assert ta.verify(SymbolicOffset) == []


# Builds


@pytest.mark.parametrize("approach", ["copy", "k0"])
def test_a_hazard_of_our_own_raises_and_says_the_way_out(approach):
    with pytest.raises(
        ta.VerifyError, match=r"planner is TVM's.*extern-alias.*verify=False"
    ) as met:
        ta.build(EXTERN_RESULT, approach, planner="tvm")
    assert kinds(met.value.hazards) == ["extern-alias"]
    built = ta.build(EXTERN_RESULT, approach, planner="tvm", verify=False)
    assert built.hazards == []
    assert kinds(ta.verify(built.stages["planned"])) == ["extern-alias"]


def test_a_declaration_settles_it():
    declared = EXTERN_RESULT.clone()
    word = {"cases.reports.same": "fresh"}
    declared["main"] = declared["main"].with_attr("ta.extern_alias", word)
    assert ta.build(declared, "k0", planner="tvm").hazards == []


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("approach", ["copy", "k0", "k0+", "alias"])
@pytest.mark.parametrize("name", SMALL)
def test_nothing_is_found_in_right_builds(name, approach, planner):
    program = ta.workload(name)
    for fused in (True, False):
        stages, options = planned(
            program.mod, approach, planner=planner, fused=fused, params=program.params
        )
        assert hazards_of(approach, stages, options) == []
        assert ta.verify(stages["vm"]) == []


@pytest.mark.parametrize("outputs", ["copy", "share", "view", "alias_params"])
@pytest.mark.parametrize("placement", ["late", "early-fenced"])
def test_nothing_is_found_where_a_donated_cache_is_updated_in_parts(placement, outputs):
    program = ta.workload("kv_cache_update")
    stages, options = planned(
        program.mod,
        "alias",
        planner="arena",
        placement=placement,
        params=program.params,
        donate=["cache"],
        outputs=outputs,
    )
    assert hazards_of("alias", stages, options) == []
    assert ta.verify(stages["vm"], outputs=outputs) == []
    undone = stages["planned"].clone()
    undone["main"] = undone["main"].without_attr("ta.donated")
    assert "undonated-write" in kinds(ta.verify(undone, outputs=outputs))
    assert ta.verify(undone, outputs=outputs, donate=["cache"]) == []


def two_tensors_at_one_offset(mod):
    """A planned module with each tensor of each storage put at its beginning."""

    @relax.expr_functor.mutator
    class Mover(relax.expr_functor.PyExprMutator):
        def visit_call_(self, call):
            call = super().visit_call_(call)
            if call.op.same_as(tvm.ir.Op.get("relax.memory.alloc_tensor")):
                storage, _offset, *others = call.args
                return relax.Call(call.op, [storage, tvm.tirx.const(0, "int64"), *others])
            return call

    mod = mod.clone()
    mod["main"] = Mover(mod).visit_expr(mod["main"])
    return mod


@pytest.mark.parametrize(
    ("name", "approach"), [("densenet", "k0"), ("qkv_split", "k0"), ("qkv_split", "alias")]
)
def test_a_spoilt_plan_is_found_at_both_stages(name, approach):
    program = ta.workload(name)
    stages, _ = planned(program.mod, approach, planner="arena", fused=False, params=program.params)
    spoilt = two_tensors_at_one_offset(stages["planned"])
    assert "overlap" in kinds(ta.verify(spoilt))
    assert kinds(ta.verify(spoilt)) == kinds(ta.verify(spoilt))
    passes = [transform.KillAfterLastUse(), transform.LowerRuntimeBuiltin()]
    lowered = tvm.transform.Sequential(passes)(spoilt)
    assert "overlap" in kinds(ta.verify(lowered))


# Source programs


@I.ir_module
class Right:
    @R.function
    def main(x: R.Tensor((4, 8), "float32"), c: R.Tensor((), "bool")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.reshape(a, (32,))
        if c:
            y = x
        else:
            y = a
        return x, (a, a), y, b, R.const([1.0, 2.0], "float32")


def test_a_source_program_may_return_what_it_likes():
    assert ta.verify(Right) == []


def test_order_and_names_are_those_of_the_program():
    mod = module(f"b = {in_place('step', 'x,')}\nc = {in_place('step', 'b,')}\nreturn (b, c)")
    hazards = ta.verify(mod)
    expected = ["undonated-write", "write-live", *["undeclared-output-alias"] * 2]
    assert kinds(hazards) == expected
    assert [hazard.bindings[0] for hazard in hazards] == ["main.x", "main.b", "main.b", "main.c"]
    assert str(hazards[0]) == f"undonated-write: {hazards[0].message}"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"entry": "other"}, "no Relax function 'other'"),
        ({"donate": ["z"]}, "donate has 'z'"),
        ({"donate": "x"}, "give a list"),
        ({"outputs": "some"}, "unknown outputs 'some'"),
        ({"target": "no such"}, "unknown target"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ta.InputError, match=message):
        ta.verify(Right, **options)


def test_a_module_is_asked_for():
    with pytest.raises(ta.InputError, match="give a Relax IRModule"):
        ta.verify(Right["main"])


# Command line

PROGRAM = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Net:
    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")):
        a = R.add(x, R.const(3.0, "float32"))
        if first:
            f = R.reshape(a, (32,))
            y = R.reshape(f, (4, 8))
        else:
            g = R.reshape(a, (32,))
            y = R.reshape(g, (4, 8))
        return y
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "branches.py"
    path.write_text(PROGRAM)
    return str(path)


def main(capfd, *arguments):
    code = cli.main(arguments)
    out, err = capfd.readouterr()
    return code, out.splitlines(), err


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "as given"),
        (("--stage", "source", "--donate", "x", "--outputs", "view"), "as given"),
        (("--stage", "k0", "--planner", "arena", "--fused", "false"), "planned by k0"),
        (("--stage", "alias:views", "--placement", "early"), "planned by alias:views"),
    ],
)
def test_a_clean_program(program, arguments, what, capfd):
    code, out, _ = main(capfd, "verify", program, *arguments)
    assert (code, out) == (0, [f"{program}, {what}: no hazards"])


@pytest.mark.parametrize("stage", [("stock",), ("copy", "--planner", "tvm")])
def test_hazards_are_printed(program, stage, capfd):
    code, out, _ = main(capfd, "verify", program, "--stage", *stage)
    assert code == 1
    assert [line.partition(":")[0] for line in out] == ["undominated-storage"]
    assert "main.storage_1" in out[0]


def test_a_workload_by_name(capfd):
    arguments = ("verify", "matmul_reshape_symbolic", "--stage", "alias", "--dim", "n=4")
    code, out, _ = main(capfd, *arguments)
    assert (code, out) == (0, ["matmul_reshape_symbolic, planned by alias: no hazards"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no.py",), "no such file"),
        (("nothing",), "no workload or model 'nothing'"),
        (("PROGRAM", "--stage", "foo"), "unknown approach 'foo'"),
        (("PROGRAM", "--planner", "arena"), "--planner: the source is not planned"),
        (("PROGRAM", "--stage", "k0", "--planner", "foo"), "unknown planner 'foo'"),
        (("PROGRAM", "--stage", "k0", "--fused", "maybe"), "unknown fused 'maybe'"),
        (("PROGRAM", "--donate", "z"), "donate has 'z'"),
        (("PROGRAM", "--stage", "alias", "--donate", "z"), "donate has 'z'"),
        (("PROGRAM", "--entry", "other"), "no Relax function 'other'"),
        (("PROGRAM", "--outputs", "some"), "unknown outputs 'some'"),
        (("PROGRAM", "--dim", "n"), "give NAME=SIZE"),
    ],
)
def test_bad_input_is_one_line(program, arguments, message, capfd):
    arguments = [program if argument == "PROGRAM" else argument for argument in arguments]
    code, out, err = main(capfd, "verify", *arguments)
    assert (code, out) == (2, [])
    (line,) = [line for line in err.splitlines() if "Warning" not in line]
    assert line.startswith("tvm_aliasing: ") and message in line
