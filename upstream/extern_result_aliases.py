"""StaticPlanBlockMemory: the result of a packed function is taken for fresh, and it is not.

Needs TVM and NumPy. Exit code 0: the fault is there; 3: it is not.
"""

import sys

import numpy as np
import tvm
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R

X = np.arange(32, dtype="float32").reshape(4, 8)
RIGHT = (X + 1) * (X + 2)


@tvm.register_global_func("upstream.same", override=True)
def same(tensor):
    """Return the argument: a cache, a check, or a cast that has nothing to do."""
    return tensor


@I.ir_module
class Extern:
    @R.function
    def main(x: R.Tensor((4, 8), "float32")):
        a = R.add(x, R.const(1.0, "float32"))
        b = R.call_pure_packed("upstream.same", a, ty_args=R.Tensor((4, 8), "float32"))
        c = R.add(x, R.const(2.0, "float32"))
        return R.multiply(b, c)


def planned():
    """The program when storage has been planned."""
    passes = [
        transform.LegalizeOps(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.StaticPlanBlockMemory(),
    ]
    return tvm.transform.Sequential(passes)(Extern)


def main():
    print(f"TVM {tvm.__version__}")
    text = planned().script()
    print(text[text.index("    @R.function") :])
    target = tvm.target.Target("llvm")
    executable = tvm.compile(
        Extern, target=target, relax_pipeline=relax.get_default_pipeline(target)
    )
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(X)).numpy()
    print(f"the first row: {result[0]}")
    print(f"should be:     {RIGHT[0]}")
    if np.array_equal(result, RIGHT):
        print(f"not there: TVM {tvm.__version__} computes what it should: close the report")
        return 3
    print("`a` and `c` share a storage, and `b`, which is `a`, is read after `c` is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
