"""Values of two devices in one function.

Here both are the one CPU, where bytes are the same wherever they lie; but a kernel refuses tensors
of which one says that it lies on another device. `CASES` is what `run_isolated` takes.
"""

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

CASES = {}


def _case(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


X = np.arange(32, dtype="float32").reshape(4, 8)
Y = X + 100


def _each_on_its_device(built):
    """Whether both results are right where a machine has two devices."""
    machine = relax.VirtualMachine(built.executable.jit(), [tvm.cpu(0), tvm.cpu(1)])
    given = tvm.runtime.tensor(X, tvm.cpu(0)), tvm.runtime.tensor(Y, tvm.cpu(1))
    results = [tensor.numpy() for tensor in machine["main"](*given)]
    right = [((values + 1) * 2) ** 2 for values in (X, Y)]
    return all(map(np.array_equal, results, right))


@_case(
    "storage_of_two_devices",
    (X, Y),
    _each_on_its_device,
    "a planner whose pool of free storages knows no devices gives a value of the second device a "
    "storage of the first",
)
@I.ir_module
class StorageOfTwoDevices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((4, 8), "float32", "llvm:0"), y: R.Tensor((4, 8), "float32", "llvm:1")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(a, R.const(2.0, "float32"))
        d = R.multiply(b, b)
        e = R.add(y, R.const(1.0, "float32"))
        f = R.multiply(e, R.const(2.0, "float32"))
        g = R.multiply(f, f)
        return (d, g)
