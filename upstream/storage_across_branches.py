"""StaticPlanBlockMemory: a storage that one branch of an If allocates is used in the other.

Needs TVM and NumPy. Exit code 0: the fault is there; 3: it is not.
"""

import subprocess
import sys

import numpy as np
import tvm
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(32, dtype="float32").reshape(4, 8)


@I.ir_module
class Branches:
    @R.function
    def main(first: R.Tensor((), "bool"), x: R.Tensor((4, 8), "float32")) -> R.Tensor(
        (4, 8), "float32"
    ):
        if first:
            flat = R.reshape(x, (32,))
            y = R.reshape(flat, (4, 8))
        else:
            other = R.reshape(x, (32,))
            y = R.reshape(other, (4, 8))
        return y


def planned():
    """The program when storage has been planned."""
    passes = [
        transform.LegalizeOps(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.StaticPlanBlockMemory(),
    ]
    return tvm.transform.Sequential(passes)(Branches)


def run(first):
    """One call of the program, built as TVM builds it by default for the target."""
    target = tvm.target.Target("llvm")
    executable = tvm.compile(
        Branches, target=target, relax_pipeline=relax.get_default_pipeline(target)
    )
    machine = relax.VirtualMachine(executable, tvm.cpu())
    given = tvm.runtime.tensor(np.asarray(first)), tvm.runtime.tensor(X)
    np.testing.assert_array_equal(machine["main"](*given).numpy(), X)


def main():
    print(f"TVM {tvm.__version__}")
    text = planned().script()
    print(text[text.index("    @R.function") :])
    codes = {}
    for branch in ("first", "second"):
        codes[branch] = subprocess.run([sys.executable, __file__, branch]).returncode
        print(f"the {branch} branch: exit code {codes[branch]}")
    if codes == {"first": 0, "second": 0}:
        print(f"not there: TVM {tvm.__version__} runs both branches: the report can be closed")
        return 3
    print("the second branch uses `storage`, which only the first one allocates")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1] == "first") if len(sys.argv) > 1 else main())
