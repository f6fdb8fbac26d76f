"""What the source program itself makes share storage is recorded before anything is elided."""

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from tvm_aliasing.passes.record_source_aliases import RecordSourceAliases

Flat = R.Tensor((8,), "float32")
Matrix = R.Tensor((2, 4), "float32")


@I.ir_module
class Before:
    @R.function
    def main(x: Matrix, y: Matrix):
        z = R.add(x, y)
        w = R.reshape(z, (8,))
        return (y, (z, w), z)

    @R.function
    def nothing(x: Matrix):
        z = R.exp(x)
        return (z, R.reshape(x, (8,)))


@I.ir_module
class Expected:
    @R.function
    def main(x: Matrix, y: Matrix):
        R.func_attr({"ta.source_alias": ["0=param 1", "3=1"]})
        z = R.add(x, y)
        w = R.reshape(z, (8,))
        return (y, (z, w), z)

    @R.function
    def nothing(x: Matrix):
        R.func_attr({"ta.source_alias": []})
        z = R.exp(x)
        return (z, R.reshape(x, (8,)))


def test_attribute_is_added():
    tvm.ir.assert_structural_equal(RecordSourceAliases()(Before), Expected)


def test_the_module_that_is_given_stays_as_it_is():
    before = Before.clone()
    RecordSourceAliases()(Before)
    tvm.ir.assert_structural_equal(Before, before)


@I.ir_module
class Forms:
    @R.function
    def field(t: R.Tuple(Matrix, R.Tuple(Matrix, Matrix))):
        inner = t[1]
        x = inner[0]
        return x

    @R.function
    def view(x: Matrix):
        y = R.memory.view(x, R.shape([4]), "float32", 16)
        z = R.memory.view(y, R.shape([2]), "float32", 8)
        return (y, z)

    @R.function
    def view_of_what_is_computed(x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 16)
        return (y, z)

    @R.function
    def view_of_what_is_not_returned(x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 16)
        return z

    @R.function
    def view_of_all_of_it(x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([8]), "int32", 0)
        return z

    @R.function
    def range_of_two(c: R.Tensor((), "bool"), x: Matrix):
        y = R.exp(x)
        if c:
            z = R.memory.view(y, R.shape([4]), "float32", 0)
        else:
            z = R.memory.view(y, R.shape([4]), "float32", 16)
        return z

    @R.function
    def range_of_one(c: R.Tensor((), "bool"), x: Matrix):
        y = R.exp(x)
        z = R.memory.view(y, R.shape([4]), "float32", 0)
        if c:
            w = z
        else:
            w = R.exp(z)
        return w

    @R.function
    def constant(x: Matrix):
        return R.const([1.0], "float32")  # never the caller's to overwrite

    @R.function
    def branch(c: R.Tensor((), "bool"), x: Matrix, y: Matrix):
        if c:
            z = x
        else:
            z = R.add(x, y)
        return z

    @R.function
    def callee(x: Matrix):
        y = R.exp(x)
        return (y, x, y)

    @R.function
    def caller(x: Matrix, y: Matrix):
        z = Forms.callee(y)
        return z

    @R.function
    def extern(x: Matrix):
        y = R.call_pure_packed("any", x, ty_args=Matrix)
        return y


RECORDED = {
    "field": ["0=param 0.1.0"],
    "view": ["0=param 0", "0=part", "1=param 0", "1=0", "1=part"],
    "view_of_what_is_computed": ["1=0", "1=part"],
    "view_of_what_is_not_returned": ["0=part"],
    "view_of_all_of_it": [],
    "range_of_two": ["0=part"],
    "range_of_one": [],  # on the other path it is none
    "constant": [],
    "branch": [],  # the other branch does not say so
    "callee": ["1=param 0", "2=0"],
    "caller": ["1=param 1", "2=0"],
    "extern": ["0=param 0"],
}


@pytest.mark.parametrize("form", RECORDED)
def test_what_is_recorded(form):
    attrs = RecordSourceAliases()(Forms)[form].attrs
    assert list(attrs["ta.source_alias"]) == RECORDED[form]
