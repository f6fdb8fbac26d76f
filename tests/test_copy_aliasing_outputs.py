"""Which outputs are copied under each policy, unless the source program says so itself."""

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.output_policies import ALLOWED
from tvm_aliasing.passes.copy_aliasing_outputs import CopyAliasingOutputs, outputs_to_copy

Flat = R.Tensor((8,), "float32")
Matrix = R.Tensor((2, 4), "float32")


# What is found here has been elided: `R.reshape` is a view.


@I.ir_module
class Before:
    @R.function
    def main(c: R.Tensor((), "bool"), x: Matrix):
        with R.dataflow():
            reshaped = R.reshape(x, (8,))
            R.output(reshaped)
        y = R.exp(reshaped)
        z = R.reshape(y, (2, 4))
        return (reshaped, (y, z))


@I.ir_module
class Expected:
    @T.prim_func(private=True, s_tir=True)
    def copy(x: T.Buffer((T.int64(8),), "float32"), compute: T.Buffer((T.int64(8),), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(T.int64(8)):
            with T.sblock("compute"):
                v = T.axis.spatial(T.int64(8), i)
                compute[v] = x[v]

    @T.prim_func(private=True, s_tir=True)
    def copy1(
        x: T.Buffer((T.int64(2), T.int64(4)), "float32"),
        compute: T.Buffer((T.int64(2), T.int64(4)), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        for i, j in T.grid(T.int64(2), T.int64(4)):
            with T.sblock("compute"):
                vi, vj = T.axis.remap("SS", [i, j])
                compute[vi, vj] = x[vi, vj]

    @R.function
    def main(c: R.Tensor((), "bool"), x: Matrix):
        cls = Expected
        with R.dataflow():
            reshaped = R.reshape(x, (8,))
            R.output(reshaped)
        y = R.exp(reshaped)
        z = R.reshape(y, (2, 4))
        reshaped_copy = R.call_tir(cls.copy, (reshaped,), out_ty=Flat)
        z_copy = R.call_tir(cls.copy1, (z,), out_ty=Matrix)
        return (reshaped_copy, (y, z_copy))


def test_copies_are_appended():
    tvm.ir.assert_structural_equal(CopyAliasingOutputs("copy")(Before), Expected)


def test_nothing_to_copy_twice():
    tvm.ir.assert_structural_equal(CopyAliasingOutputs("copy")(Expected), Expected)


@I.ir_module
class Forms:
    @R.function
    def computed(x: Matrix):
        y = R.exp(R.reshape(x, (8,)))
        return y

    @R.function
    def reshaped_parameter(x: Matrix):
        y = R.reshape(x, (8,))
        return y

    @R.function
    def reshaped_field(t: R.Tuple(Matrix, Matrix)):
        x = t[1]
        y = R.reshape(x, (8,))
        return y

    @R.function
    def constant(x: Matrix):
        return R.const([1.0, 2.0], "float32")

    @R.function
    def reshaped_constant(x: Matrix):
        y = R.reshape(R.const([1.0, 2.0], "float32"), (2, 1))
        return y

    @R.function
    def extern_result_of_a_constant(x: Matrix):
        y = R.call_pure_packed(
            "any", R.const([1.0], "float32"), ty_args=R.Tensor(dtype="float32", ndim=2)
        )
        return y

    @R.function
    def later_of_two(x: Matrix):
        y = R.exp(x)
        z = R.reshape(y, (8,))
        w = R.reshape(z, (4, 2))
        return (y, z, w)

    @R.function
    def nested_tuples(x: Matrix):
        y = R.exp(x)
        z = R.reshape(y, (8,))
        inner = (y, R.exp(y))
        return (z, (inner, y))

    @R.function
    def branch(c: R.Tensor((), "bool"), x: Matrix):
        if c:
            y = R.reshape(x, (8,))
        else:
            y = R.exp(R.reshape(x, (8,)))
        return y

    @R.function
    def branches_of_tuples(c: R.Tensor((), "bool"), x: Matrix):
        a = R.exp(x)
        b = R.reshape(a, (8,))
        if c:
            pair = (b, b)
        else:
            pair = (R.exp(b), b)
        return pair

    @R.function
    def symbolic(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        y = R.reshape(x, (n * 4,))
        return y

    @R.function
    def callee(x: Matrix, y: Flat):
        z = R.reshape(x, (8,))
        return (z, R.exp(z), y)

    @R.function
    def passes_on_what_it_calls(x: Matrix, y: Flat):
        z = Forms.callee(x, y)
        return z

    @R.function
    def declared_parameter(x: Matrix, y: Matrix):
        R.func_attr({"ta.source_alias": ["1=param 0"]})
        z = R.reshape(x, (8,))
        return (z, x)

    @R.function
    def declared_pair(x: Matrix):
        R.func_attr({"ta.source_alias": ["1=0"]})
        y = R.exp(x)
        return (y, y)

    @R.function
    def declared_view(x: Matrix):
        R.func_attr({"ta.source_alias": ["0=param 0", "0=part"]})
        y = R.memory.view(x, R.shape([4]), "float32", 16)
        return y

    @R.function
    def other_parameter_declared(x: Matrix, y: Matrix):
        R.func_attr({"ta.source_alias": ["0=param 1"]})
        z = R.reshape(x, (8,))
        return z

    @R.function
    def ranges(x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 16)
        w = R.memory.view(y, R.shape([4]), "float32", 0)
        return (z, w)

    @R.function
    def one_range_declared(x: Matrix):
        R.func_attr({"ta.source_alias": ["0=part"]})
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 16)
        v = R.exp(x)
        w = R.memory.view(v, R.shape([4]), "float32", 16)
        return (z, w)

    @R.function
    def range_before_the_whole(x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 16)
        return (z, R.reshape(y, (8,)))

    @R.function
    def range_after_the_whole(x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 0)
        return (y, z)

    @R.function
    def range_of_what_may_be_another_output(c: R.Tensor((), "bool"), x: Matrix):
        y = R.exp(x)
        v = R.tanh(x)
        if c:
            w = y
        else:
            w = v
        return (w, R.memory.view(y, R.shape([4]), "float32", 0))

    @R.function
    def whole_in_another_dtype(x: Matrix):
        y = R.exp(x)
        return R.memory.view(y, R.shape([16]), "int16", 0)

    @R.function
    def range_in_a_branch(c: R.Tensor((), "bool"), x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 16)
        if c:
            w = z
        else:
            w = R.exp(z)
        return w

    @R.function
    def range_of_a_parameter(x: Matrix):
        return R.memory.view(x, R.shape([4]), "float32", 16)

    @R.function
    def range_of_a_constant(x: Matrix):
        return R.memory.view(R.const([1.0, 2.0], "float32"), R.shape([1]), "float32", 0)

    @R.function
    def extern_result(x: Matrix):
        y = R.exp(x)
        return R.call_pure_packed("any", y, ty_args=Matrix)

    @R.function
    def extern_result_of_unknown_size(x: Matrix):
        y = R.exp(x)
        return R.call_pure_packed("any", y, ty_args=R.Tensor(dtype="float32", ndim=2))

    @R.function
    def fresh_extern_result_of_unknown_size(x: Matrix):
        R.func_attr({"ta.extern_alias": {"any": "fresh"}})
        y = R.exp(x)
        return R.call_pure_packed("any", y, ty_args=R.Tensor(dtype="float32", ndim=2))

    @R.function
    def extern_object(x: Matrix):
        y = R.exp(x)
        return R.call_pure_packed("any", y, ty_args=R.Any())

    @R.function
    def symbolic_callee(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        y = R.exp(x)
        return R.reshape(y, (n * 4,))

    @R.function
    def calls_it_with_other_sizes(x: R.Tensor(("m", 4), "float32")):
        y = Forms.symbolic_callee(x)
        return y

    @R.function
    def callee_of_a_range(x: Matrix):
        R.func_attr({"ta.source_alias": ["0=part"]})
        y = R.exp(x)
        return R.memory.view(y, R.shape([4]), "float32", 16)

    @R.function
    def calls_for_a_range(x: Matrix):
        y = Forms.callee_of_a_range(x)
        return y

    @R.function
    def donated(x: Matrix, y: Matrix):
        R.func_attr({"ta.donated": ["x"]})
        z = R.reshape(x, (8,))
        w = R.reshape(y, (8,))
        return (z, w)

    @R.function
    def donated_twice(x: Matrix):
        R.func_attr({"ta.donated": ["x"]})
        z = R.reshape(x, (8,))
        w = R.reshape(x, (4, 2))
        return (z, w)

    @R.function
    def range_of_a_donated_one(x: Matrix):
        R.func_attr({"ta.donated": ["x"]})
        return R.memory.view(x, R.shape([4]), "float32", 0)

    @R.function
    def field_of_a_donated_one(y: Matrix, t: R.Tuple(Matrix, Matrix)):
        R.func_attr({"ta.donated": ["t"]})
        x = t[1]
        z = R.reshape(x, (8,))
        return (z, R.reshape(y, (8,)))


#: Positions of the outputs that are copied: under all policies, or under each of them.
COPIED = {
    "computed": [],
    "reshaped_parameter": ([0], [0], [0], []),
    "reshaped_field": ([0], [0], [0], []),
    "constant": [0],
    "reshaped_constant": [0],
    "extern_result_of_a_constant": [0],
    "later_of_two": ([1, 2], [], [], []),
    "nested_tuples": ([1, 3], [], [], []),
    "branch": ([0], [0], [0], []),
    "branches_of_tuples": ([1], [], [], []),
    "symbolic": ([0], [0], [0], []),
    "callee": ([0, 2], [0, 2], [0, 2], []),
    "passes_on_what_it_calls": ([0, 2], [0, 2], [0, 2], []),
    "declared_parameter": ([0], [0], [0], []),
    "declared_pair": [],
    "declared_view": [],
    "other_parameter_declared": ([0], [0], [0], []),
    "ranges": ([0, 1], [0, 1], [], []),
    "one_range_declared": ([1], [1], [], []),
    "range_before_the_whole": ([0], [], [], []),
    "range_after_the_whole": ([1], [], [], []),
    "range_of_what_may_be_another_output": ([1], [1], [], []),
    "whole_in_another_dtype": [],
    "range_in_a_branch": ([0], [0], [], []),
    "range_of_a_parameter": ([0], [0], [0], []),
    "range_of_a_constant": [0],
    "extern_result": [],
    "extern_result_of_unknown_size": ([0], [0], [], []),
    "fresh_extern_result_of_unknown_size": [],
    "extern_object": [],
    "symbolic_callee": [],
    "calls_it_with_other_sizes": [],
    "callee_of_a_range": [],
    "calls_for_a_range": ([0], [0], [], []),
    "donated": ([1], [1], [1], []),
    "donated_twice": ([1], [], [], []),
    "range_of_a_donated_one": ([0], [0], [], []),
    "field_of_a_donated_one": ([1], [1], [1], []),
}


@pytest.mark.parametrize("policy", ALLOWED)
@pytest.mark.parametrize("form", COPIED)
def test_which_outputs_are_copied(form, policy):
    expected = COPIED[form]
    if isinstance(expected, tuple):
        expected = expected[list(ALLOWED).index(policy)]
    assert sorted(outputs_to_copy(Forms, Forms[form], policy)) == expected


@pytest.fixture(scope="module", params=ALLOWED)
def copied(request):
    """A policy, and the module once it is heeded."""
    return request.param, CopyAliasingOutputs(request.param)(Forms)


@pytest.mark.parametrize("form", COPIED)
def test_nothing_is_left_to_copy(form, copied):
    policy, after = copied
    assert not outputs_to_copy(after, after[form], policy)
    tvm.ir.assert_structural_equal(after[form].ret_ty, Forms[form].ret_ty, map_free_vars=True)


def test_copies_are_well_formed(copied):
    tvm.relax.analysis.well_formed(copied[1])  # raises where it is not


def copies(function):
    found = []

    def see(call):
        if isinstance(call, tvm.relax.Call) and call.op.same_as(tvm.ir.Op.get("relax.call_tir")):
            found.append(call.args[0].name_hint)

    tvm.relax.analysis.post_order_visit(function, see)
    return found


def test_a_caller_does_not_copy_again():
    after = CopyAliasingOutputs("copy")(Forms)
    assert len(copies(after["callee"])) == 2
    assert copies(after["passes_on_what_it_calls"]) == []


def test_one_variable_returned_twice_is_copied_once():
    @R.function
    def twice(x: Matrix):
        R.func_attr({"ta.source_alias": ["1=0"]})
        y = R.reshape(x, (8,))
        return (y, y)

    after = CopyAliasingOutputs("copy")(tvm.IRModule({"twice": twice}))["twice"]
    first, second = after.body.body.fields
    assert first.same_as(second)
    assert len(copies(after)) == 1
