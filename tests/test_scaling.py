"""Introduction and planning against size: the generated program, and rows of kind `scaling`."""

import numpy as np
import pytest
import tvm
from tvm import relax

import tvm_aliasing as ta
from tvm_aliasing.measure.reference import unplanned_result
from tvm_aliasing.measure.scaling import RATIO_LIMIT, SHARE_LIMIT, TIMED, scaling_rows
from tvm_aliasing.measure.scaling_program import NAME, SIZE, program

KEYS = {
    *("program", "approach", "planner", "bindings", "target", "threads", "correct"),
    *("introduction_s", "planning_s", "verification_s", "build_s"),
    *("share_of_build", "verification_share", "share_limit"),
    *("ratio_to_1000", "verification_ratio", "ratio_limit", "samples"),
}


@pytest.mark.parametrize("bindings", [40, 100, 1001])
def test_the_program_has_so_many_bindings_and_is_the_same_each_time(bindings):
    mod = program(bindings)
    assert sum(len(block.bindings) for block in mod["main"].body.blocks) == bindings
    tvm.ir.assert_structural_equal(mod, program(bindings))


def test_the_program_mixes_what_aliasing_is_about():
    (block,) = program(200)["main"].body.blocks
    calls = [b.value.op.name for b in block.bindings if isinstance(b.value, relax.Call)]
    assert {"relax.reshape", "relax.concat", "relax.split", "relax.sigmoid"} <= set(calls)


def test_no_piece_of_the_program_is_lost_in_its_result():
    mod = program(200)
    x = np.random.default_rng(0).standard_normal(SIZE, dtype=np.float32)
    expected = unplanned_result(mod, {}, (x,))
    assert len(np.unique(expected)) > SIZE // 2
    kernels = {}
    for approach in ("copy", "k0", "alias"):
        built = ta.build(mod, approach, planner="arena", fused=False)
        np.testing.assert_allclose(built.run(x), expected, rtol=1e-5)
        kernels[approach] = built.memory(x).kernels
    assert kernels["copy"] > kernels["k0"] > kernels["alias"]


def test_rows_of_two_sizes():
    rows = list(scaling_rows("llvm", sizes=(40, 80), repetitions=(2, 1)))
    small, large = rows[::2], rows[1::2]
    for found, bindings, times in ((small, 40, 2), (large, 80, 1)):
        assert [(row["approach"], row["planner"]) for row in found] == list(TIMED)
        for row in found:
            assert set(row) == KEYS
            assert (row["program"], row["bindings"]) == (NAME, bindings)
            assert row["introduction_s"] > 0 and row["planning_s"] > 0
            assert row["verification_s"] > 0
            for part in ("introduction", "planning", "verification"):
                assert len(row["samples"][part]) == times
    for row in small:
        passes = row["introduction_s"] + row["planning_s"]
        assert row["correct"] is True and len(row["samples"]["build"]) == 2
        assert row["share_of_build"] == passes / row["build_s"]
        assert row["verification_share"] == row["verification_s"] / row["build_s"]
        assert row["share_limit"] == SHARE_LIMIT
        assert row["ratio_to_1000"] is row["verification_ratio"] is row["ratio_limit"] is None
    for row, its_small in zip(large, small):
        passes = row["introduction_s"] + row["planning_s"]
        assert row["correct"] is row["build_s"] is row["share_of_build"] is None
        assert row["share_limit"] is None and row["samples"]["build"] == []
        small_passes = its_small["introduction_s"] + its_small["planning_s"]
        assert row["ratio_to_1000"] == passes / small_passes
        ratio = row["verification_s"] / its_small["verification_s"]
        assert row["verification_share"] is None and row["verification_ratio"] == ratio
        assert row["ratio_limit"] == RATIO_LIMIT
