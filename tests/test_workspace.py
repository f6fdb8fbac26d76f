"""Workspaces: what is read from lowered kernels is what the runtime is asked for."""

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from preloaded import compiled, told_by
from tvm_aliasing.build import build
from tvm_aliasing.errors import UnsupportedError
from tvm_aliasing.measure.workspace import KernelWorkspaces

LLVM = tvm.target.Target("llvm")
KIB = 1024


def workspaces(kernel, threads=2):
    return KernelWorkspaces(tvm.IRModule({"kernel": kernel}), LLVM, threads)


@T.prim_func(s_tir=True)
def two_at_once(x: T.Buffer((64, 64), "float32"), y: T.Buffer((64, 64), "float32")):
    a = T.sblock_alloc_buffer((64, 64), "float32")
    b = T.sblock_alloc_buffer((64, 64), "float32")
    for i, j in T.grid(64, 64):
        with T.sblock("a"):
            vi, vj = T.axis.remap("SS", [i, j])
            a[vi, vj] = x[vi, vj] + T.float32(1)
    for i, j in T.grid(64, 64):
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[63 - vi, vj] + T.float32(1)
    for i, j in T.grid(64, 64):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = a[vi, vj] + b[63 - vi, vj]


def test_workspaces_live_at_once_add_up():
    assert workspaces(two_at_once).of("kernel", [(64, 64), (64, 64)]) == 2 * 16 * KIB


@T.prim_func(s_tir=True)
def one_after_the_other(x: T.Buffer((8, 512), "float32"), y: T.Buffer((8, 512), "float32")):
    """Parallel loops: in the second a row is twice as large as in the first."""
    for i in T.parallel(4):
        with T.sblock("first"):
            vi = T.axis.spatial(4, i)
            T.reads(x[vi, 0:512])
            T.writes(y[vi, 0:512])
            a = T.sblock_alloc_buffer((512,), "float32")
            for j in range(512):
                with T.sblock("a"):
                    vj = T.axis.spatial(512, j)
                    a[vj] = x[vi, vj] + T.float32(1)
            for j in range(512):
                with T.sblock("y"):
                    vj = T.axis.spatial(512, j)
                    y[vi, vj] = a[511 - vj]
    for i in T.parallel(4):
        with T.sblock("second"):
            vi = T.axis.spatial(4, i)
            T.reads(x[vi + 4, 0:512])
            T.writes(y[vi + 4, 0:512])
            b = T.sblock_alloc_buffer((512,), "float64")
            for j in range(512):
                with T.sblock("b"):
                    vj = T.axis.spatial(512, j)
                    b[vj] = T.Cast("float64", x[vi + 4, vj])
            for j in range(512):
                with T.sblock("z"):
                    vj = T.axis.spatial(512, j)
                    y[vi + 4, vj] = T.Cast("float32", b[511 - vj])


def test_of_workspaces_one_after_the_other_the_largest_counts():
    found = workspaces(one_after_the_other).of("kernel", [(8, 512), (8, 512)])
    assert found == 2 * 4 * KIB


@T.prim_func(s_tir=True)
def small(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")):
    a = T.sblock_alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.sblock("a"):
            vi, vj = T.axis.remap("SS", [i, j])
            a[vi, vj] = x[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.sblock("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = a[7 - vi, vj]


def test_small_buffers_lie_on_the_stack():
    assert workspaces(small).of("kernel", [(8, 8), (8, 8)]) == 0


def parallel(rows):
    """A kernel with a whole workspace, and another of a row in a parallel loop."""

    @T.prim_func(s_tir=True)
    def kernel(x: T.Buffer((rows, 1024), "float32"), y: T.Buffer((rows, 1024), "float32")):
        whole = T.sblock_alloc_buffer((rows, 1024), "float32")
        row = T.sblock_alloc_buffer((rows, 1024), "float32")
        for i, j in T.grid(rows, 1024):
            with T.sblock("whole"):
                vi, vj = T.axis.remap("SS", [i, j])
                whole[vi, vj] = x[vi, vj] + T.float32(1)
        for i in T.parallel(rows):
            for j in range(1024):
                with T.sblock("row"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    row[vi, vj] = whole[rows - 1 - vi, vj] * T.float32(2)
            for j in range(1024):
                with T.sblock("y"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    y[vi, vj] = row[vi, 1023 - vj]

    return kernel


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("rows", [2, 3, 6])
def test_each_thread_holds_what_is_within_a_parallel_loop(rows, threads):
    found = workspaces(parallel(rows), threads).of("kernel", [(rows, 1024)] * 2)
    assert found == (rows + min(rows, threads)) * 4 * KIB


def test_threads_that_have_nothing_to_do_hold_nothing():
    """Of four threads three have two of six rows each."""
    assert workspaces(parallel(6), 4).of("kernel", [(6, 1024)] * 2) == (6 + 3) * 4 * KIB


@T.prim_func(s_tir=True)
def symbolic(x: T.handle, y: T.handle, k: T.int64):
    n = T.int64()
    X = T.match_buffer(x, (n, 512), "float32")
    Y = T.match_buffer(y, (n, 512), "float32")
    a = T.sblock_alloc_buffer((n, k), "float32")
    for i, j in T.grid(n, k):
        with T.sblock("a"):
            vi, vj = T.axis.remap("SS", [i, j])
            a[vi, vj] = X[vi, vj] + T.float32(1)
    for i in T.parallel(n):
        for j in range(512):
            with T.sblock("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = a[n - 1 - vi, vj % k]


@pytest.mark.parametrize(("n", "k"), [(1, 512), (7, 100), (64, 64)])
def test_symbolic_sizes_from_shapes_and_numbers(n, k):
    assert workspaces(symbolic).of("kernel", [(n, 512), (n, 512), k]) == n * k * 4


def test_a_size_that_the_arguments_do_not_give():
    with pytest.raises(UnsupportedError, match=r"kernel kernel .*cannot be counted"):
        workspaces(symbolic).of("kernel", [(4, 512), (4, 512)])


def module_of(*kernels):
    """Relax code that calls one kernel after the other, each on what the last one wrote."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(kernels[0].params[0].ty.shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            value = x
            for number, kernel in enumerate(kernels):
                name = builder.add_func(kernel.without_attr("global_symbol"), f"kernel{number}")
                value = builder.emit(
                    relax.call_tir(name, [value], relax.TensorType(x.ty.shape, "float32"))
                )
            result = builder.emit_output(value)
        builder.emit_func_output(result)
    return builder.get()


@I.ir_module
class Softmax:
    @R.function
    def main(x: R.Tensor(("n", 512), "float32")):
        y = R.nn.softmax(x)
        return R.nn.softmax(y)


MODULES = {
    "one after the other": (module_of(one_after_the_other), (np.ones((8, 512), "float32"),)),
    "softmax": (Softmax, (np.ones((9, 512), "float32"),)),
    **{
        f"parallel {rows}": (module_of(parallel(rows)), (np.ones((rows, 1024), "float32"),))
        for rows in (2, 3, 6)
    },
}


def counted(built, inputs, library):
    """(kernel, bytes read from its body, bytes that the runtime was asked for) of each call."""
    take = library.take_high_water
    calls = []

    def instrument(_function, name, before, _result, *arguments):
        if any(name == kernel.name_hint for kernel in built.stages["planned"].functions):
            high_water = take()
            if not before:
                shapes = [getattr(argument, "shape", argument) for argument in arguments]
                calls.append((name, built.workspaces.of(name, shapes), high_water))
        return 0

    machine = built.machine()
    machine.set_instrument(instrument)
    machine[built.entry](*(tvm.runtime.tensor(array) for array in inputs))
    return calls


COUNT = """
import ctypes, json, sys
import test_workspace, tvm, tvm_aliasing
from tvm_aliasing.build import build
library = ctypes.CDLL(None)
library.take_high_water.restype = ctypes.c_int64
use_threads = tvm.get_global_func("runtime.config_threadpool")
told = {}
for threads in (2, 4):
    use_threads(1, threads)
    for name, (mod, inputs) in test_workspace.MODULES.items():
        calls = test_workspace.counted(build(mod, sys.argv[1]), inputs, library)
        told[f"{name}, {threads} threads"] = calls
use_threads(1, 2)
for name in tvm_aliasing.workloads():
    found = tvm_aliasing.workload(name)
    built = build(found.mod, sys.argv[1], params=found.params, dims=found.dims)
    told[name] = test_workspace.counted(built, found.inputs, library)
print(json.dumps(told))
"""


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    return compiled("workspaces", tmp_path_factory.mktemp("native"))


@pytest.mark.parametrize("approach", ["shipped", "stock"])
def test_what_the_runtime_is_asked_for(approach, library):
    told = told_by(COUNT, approach, libraries=[library])
    for name, calls in told.items():
        assert calls, name
        for kernel, read, asked_for in calls:
            assert read == asked_for, (name, kernel)
    if approach == "shipped":  # schedules leave some kernels without
        assert all(asked for name in told if "threads" in name for _, _, asked in told[name])


def test_of_a_build():
    """The report has the largest kernel's."""
    x = np.ones((64, 64), "float32")
    report = build(module_of(two_at_once, two_at_once), "shipped").memory(x)
    assert report.workspace == 32 * KIB
