"""StaticPlanBlockMemory: tensors of two devices share a storage.

Needs TVM and NumPy, and no second device: TVM has CPUs by number. Exit code 0: the fault is there;
3: it is not.
"""

import sys

import numpy as np
import tvm
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(32, dtype="float32").reshape(4, 8)


@I.ir_module
class Devices:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function
    def main(x: R.Tensor((4, 8), "float32", "llvm:0"), y: R.Tensor((4, 8), "float32", "llvm:1")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.multiply(a, R.const(2.0, "float32"))
        c = R.add(y, R.const(1.0, "float32"))
        d = R.multiply(c, R.const(2.0, "float32"))
        return (b, d)


def planned():
    """The program when storage has been planned."""
    passes = [
        transform.LegalizeOps(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.StaticPlanBlockMemory(),
    ]
    return tvm.transform.Sequential(passes)(Devices)


def main():
    print(f"TVM {tvm.__version__}")
    text = planned().script()
    print(text[text.index("    @R.function") :])
    target = tvm.target.Target("llvm")
    executable = tvm.compile(
        Devices, target=target, relax_pipeline=relax.get_default_pipeline(target)
    )
    devices = [tvm.cpu(0), tvm.cpu(1)]
    machine = relax.VirtualMachine(executable, devices)
    try:
        results = machine["main"](*(tvm.runtime.tensor(X, device) for device in devices))
    except ValueError as error:
        print(f"a kernel refuses its arguments: {str(error).strip()}")
        print("`c`, of the second device, lies in the storage of `a`, of the first")
        return 0
    assert all(np.array_equal(result.numpy(), (X + 1) * 2) for result in results)
    print(f"not there: TVM {tvm.__version__} keeps the devices apart: the report can be closed")
    return 3


if __name__ == "__main__":
    sys.exit(main())
