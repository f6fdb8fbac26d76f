"""A Relax function hands out its constant: a caller who writes to the result changes the program.

Needs TVM and NumPy. Exit code 0: the fault is there; 3: it is not.
"""

import sys

import numpy as np
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R

X = np.zeros(4, "float32")


@I.ir_module
class Constant:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            table = R.reshape(R.const([0.0, 1.0, 2.0, 3.0], "float32"), (2, 2))
            R.output(table)
        return table


def results(pipeline):
    """What two calls return; the caller writes to the result of the first."""
    executable = tvm.compile(Constant, target=tvm.target.Target("llvm"), relax_pipeline=pipeline)
    machine = relax.VirtualMachine(executable, tvm.cpu())
    first = machine["main"](tvm.runtime.tensor(X))
    was = first.numpy().copy()
    first.copyfrom(np.full((2, 2), 9, "float32"))
    return was, machine["main"](tvm.runtime.tensor(X)).numpy()


def main():
    print(f"TVM {tvm.__version__}")
    target = tvm.target.Target("llvm")
    pipelines = {
        "relax.get_default_pipeline(target)": relax.get_default_pipeline(target),
        'relax_pipeline="default"': "default",
    }
    there = False
    for name, pipeline in pipelines.items():
        first, second = results(pipeline)
        print(f"{name}: first call {first.tolist()}, second call {second.tolist()}")
        there = there or not np.array_equal(first, second)
    with target:
        print(relax.get_default_pipeline(target)(Constant)["main"].script())
    if not there:
        print(f"not there: TVM {tvm.__version__} keeps the constant: the report can be closed")
        return 3
    print("the reshape is folded into a constant, and the machine returns that tensor itself")
    return 0


if __name__ == "__main__":
    sys.exit(main())
