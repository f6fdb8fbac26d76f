"""Bounds of symbolic sizes reach TVM's planner through TVM's own attribute."""

import tvm
from tvm.script import ir as I
from tvm.script import relax as R

from tvm_aliasing.passes.bound_symbolic_sizes import BoundSymbolicSizes


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        return R.exp(x)

    @R.function
    def other(x: R.Tensor(("n", 4), "float32")):
        return R.exp(x)


@I.ir_module
class Expected:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        R.func_attr({"tir_var_upper_bound": {"n": 8, "m": 3}})
        return R.exp(x)

    @R.function
    def other(x: R.Tensor(("n", 4), "float32")):
        return R.exp(x)


def test_entry_gets_the_attribute():
    after = BoundSymbolicSizes({"n": 8, "m": 3}, "main")(Before)
    tvm.ir.assert_structural_equal(after, Expected)


def test_no_bounds_no_change():
    tvm.ir.assert_structural_equal(BoundSymbolicSizes({}, "main")(Before), Before)
