"""The workloads: right under plain TVM, independent of each other, the same every time."""

import subprocess
import sys

import numpy as np
import pytest
import tvm
from tvm import relax

from tvm_aliasing.errors import InputError
from tvm_aliasing.workloads import Workload, _registry, workload, workloads

NAMES = [
    "conv_flatten",
    "densenet",
    "encoder_layer",
    "kv_cache_row",
    "kv_cache_slice",
    "kv_cache_update",
    "matmul_reshape_chain",
    "matmul_reshape_symbolic",
    "mha",
    "qkv_split",
    "reshape_chain",
    "residual",
]


def leaves(result):
    """Return the arrays of a nested tuple, or of a result of the VM, in order."""
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, tvm.runtime.Tensor):
        return [result.numpy()]
    return [leaf for item in result for leaf in leaves(item)]


def arrays_of(w):
    """Return every array of a workload: weights, inputs, expected result."""
    return [*w.params.values(), *w.inputs, *leaves(w.expected)]


def run_plain(w, inputs):
    """Compile with TVM's own pipeline, weights bound, and run once."""
    target = tvm.target.Target("llvm")
    mod = relax.transform.BindParams("main", w.params)(w.mod)
    executable = tvm.compile(mod, target=target, relax_pipeline=relax.get_default_pipeline(target))
    vm = relax.VirtualMachine(executable, tvm.cpu())
    return leaves(vm["main"](*(tvm.runtime.tensor(array) for array in inputs)))


def test_names_are_stable():
    assert workloads() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_plain_tvm_equals_reference(name):
    w = workload(name)
    results, expected = run_plain(w, w.inputs), leaves(w.expected)
    assert len(results) == len(expected)
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == reference.dtype == np.float32
        assert result.shape == reference.shape
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_expected_can_tell_right_from_wrong(name):
    """Elements differ by much more than the tolerance, so misplaced ones are found."""
    for reference in leaves(workload(name).expected):
        tolerance = 1e-5 + 1e-4 * np.abs(reference).mean()
        assert np.isfinite(reference).all()
        assert reference.std() > 20 * tolerance


@pytest.mark.parametrize("name", NAMES)
def test_main_takes_inputs_then_weights_by_name(name):
    w = workload(name)
    assert isinstance(w, Workload)
    assert w.name == name
    assert w.description.endswith(".")
    names = [var.name for var in w.mod["main"].params]
    assert names[len(w.inputs) :] == list(w.params)
    assert not set(names[: len(w.inputs)]) & set(w.params)
    for array in arrays_of(w):
        assert array.dtype == np.float32


@pytest.mark.parametrize("name", NAMES)
def test_results_are_independent_and_deterministic(name):
    first = workload(name)
    before = [array.copy() for array in arrays_of(first)]
    main = first.mod["main"]
    for array in arrays_of(first):
        array.fill(0)
    first.params.clear()
    first.dims["unknown"] = 1
    first.mod.update_func(first.mod.get_global_var("main"), main.with_attr("changed", 1))

    second = workload(name)
    for array, original in zip(arrays_of(second), before, strict=True):
        np.testing.assert_array_equal(array, original)
    assert "unknown" not in second.dims
    tvm.ir.assert_structural_equal(second.mod["main"], main)

    # A build that does not come from the cache gives the same again.
    mod, params, inputs, expected = _registry._entries[name].build()
    tvm.ir.assert_structural_equal(mod, second.mod)
    rebuilt = [*params.values(), *inputs, *leaves(expected)]
    for array, original in zip(rebuilt, before, strict=True):
        np.testing.assert_array_equal(array, original)


@pytest.mark.parametrize("name", ["kv_cache_row", "kv_cache_slice"])
def test_cache_is_large_returned_and_read(name):
    w = workload(name)
    cache, token = w.inputs
    updated, _ = w.expected
    assert cache.nbytes >= 8 * 2**20
    assert token.shape[0] == 1
    assert updated.shape == cache.shape
    changed_rows = np.flatnonzero((updated != cache).any(axis=1))
    assert len(changed_rows) == 1

    # What the replaced row held plays no part: the read comes after the update.
    cache[changed_rows] = 1e3
    for result, reference in zip(run_plain(w, w.inputs), w.expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


def test_symbolic_batch_has_a_bound_and_runs_at_it():
    w = workload("matmul_reshape_symbolic")
    assert w.dims == {"n": 8}
    (x,) = w.inputs
    assert x.shape[0] == 4
    (result,) = run_plain(w, [np.concatenate([x, x])])
    np.testing.assert_allclose(
        result, np.concatenate([w.expected, w.expected]), rtol=1e-4, atol=1e-5
    )
    assert workload("matmul_reshape_chain").dims == {}


def test_unknown_name_names_the_known_ones():
    with pytest.raises(InputError) as caught:
        workload("resnet")
    message = str(caught.value)
    assert "\n" not in message
    for name in ("'resnet'", *NAMES):
        assert name in message


def test_two_workloads_of_one_name_are_refused():
    with pytest.raises(ValueError, match="mha"):
        _registry.register("mha", "Again.")


def test_importing_builds_nothing():
    """In a process of its own: here the workloads are built already."""
    code = (
        "from tvm_aliasing.workloads import _registry\n"
        "assert _registry._built.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
