"""A value that may be one of several, as after an `If`, where these are written over or joined."""

import numpy as np
import pytest
from tvm.script import ir as I
from tvm.script import relax as R

import tvm_aliasing as ta
from tvm_aliasing.agreement import agrees

X = np.arange(4, dtype="float32") / 4
A, B = np.exp(X), X + X


@I.ir_module
class WithOneOfThem:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        if c:
            z = R.add(a, a)
        else:
            z = a
        return R.multiply(z, a)


@I.ir_module
class WithAParameter:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        if c:
            z = R.exp(x)
        else:
            z = x
        return R.subtract(z, x)


@I.ir_module
class Joined:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        a = R.exp(x)
        b = R.add(x, x)
        if c:
            z = a
        else:
            z = b
        y = R.concat([a, z, b], axis=0)
        return R.exp(y)


# A program, what is donated, and the results by which branch is taken.
PROGRAMS = {
    "over one of them": (WithOneOfThem, (), {True: (A + A) * A, False: A * A}),
    "over a parameter": (WithAParameter, ("x",), {True: A - X, False: X - X}),
    "joined": (
        Joined,
        (),
        {c: np.exp(np.concatenate([A, A if c else B, B])) for c in (True, False)},
    ),
}


@pytest.mark.parametrize("planner", ["token", "arena"])
@pytest.mark.parametrize("approach", ["k0+", "alias"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_right_whichever_it_is(name, approach, planner):
    module, donated, results = PROGRAMS[name]
    built = ta.build(module, approach, planner=planner, donate=donated)  # and no hazard
    for taken, expected in results.items():
        assert agrees(built.run(np.asarray(taken), X), expected)
