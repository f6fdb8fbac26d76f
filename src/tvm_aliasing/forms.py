"""The forms in which a reshape occurs in Relax, each as the smallest program that shows it.

`CASES` maps a form to `(module, inputs, expected, note)`, as `run_isolated` takes it. A matmul on
either side keeps fusion from swallowing the reshape.
"""

import numpy as np
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

_RNG = np.random.default_rng(0)
X = _RNG.standard_normal((8, 16), dtype="float32")
W = _RNG.standard_normal((16, 8), dtype="float32")
C = _RNG.standard_normal((4, 4), dtype="float32")
Y = X @ W
YES, NO = np.asarray(True), np.asarray(False)

CASES = {}


def _form(name, inputs, expected, note):
    def add(module):
        CASES[name] = (module, inputs, expected, note)
        return module

    return add


@_form("intermediate", (X, W), Y.reshape(4, 16) @ W, "inside a dataflow block")
@I.ir_module
class Intermediate:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (4, 16))
            c = R.matmul(b, w)
            R.output(c)
        return c


@_form("several in a row", (X, W), Y.reshape(4, 16) @ W, "fusion makes one kernel of them")
@I.ir_module
class SeveralInARow:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (2, 32))
            c = R.reshape(b, (4, 16))
            d = R.matmul(c, w)
            R.output(d)
        return d


@_form("squeeze", (X, W), X @ W @ W.T, "a reshape by another name, as are expand_dims and flatten")
@I.ir_module
class Squeeze:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            a = R.matmul(R.expand_dims(x, axis=[0]), w)
            b = R.squeeze(a, axis=[0])
            c = R.matmul(b, R.permute_dims(w))
            R.output(c)
        return c


@_form("block output", (X, W), Y.reshape(64), "the dataflow block hands it out")
@I.ir_module
class BlockOutput:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (64,))
            R.output(b)
        return b


@_form("outside dataflow", (X, W), Y.reshape(4, 16) @ W, "no dataflow block at all")
@I.ir_module
class OutsideDataflow:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        a = R.matmul(x, w)
        b = R.reshape(a, (4, 16))
        return R.matmul(b, w)


@_form("symbolic", (X, W), Y.reshape(8, 2, 4) @ C, "the batch is a variable")
@I.ir_module
class Symbolic:
    @R.function
    def main(x: R.Tensor(("n", 16), "float32"), w: R.Tensor((16, 8), "float32")):
        n = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (n, 2, 4))
            c = R.matmul(b, R.const(C))
            R.output(c)
        return c


@_form("after match_cast", (X, W), Y.reshape(4, 16) @ W, "a match_cast renames its value")
@I.ir_module
class AfterMatchCast:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            m = R.match_cast(a, R.Tensor((8, 8), "float32"))
            b = R.reshape(m, (4, 16))
            c = R.matmul(b, w)
            R.output(c)
        return c


@_form("field of a tuple", (X, W), Y[:4] @ (Y[4:].reshape(8, 4) @ C), "a part that a split returns")
@I.ir_module
class FieldOfATuple:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            parts = R.split(R.matmul(x, w), 2, axis=0)
            b = R.reshape(parts[1], (8, 4))
            c = R.matmul(parts[0], R.matmul(b, R.const(C)))
            R.output(c)
        return c


def _branches(name, chosen, note):
    return _form(name, (chosen, X, W), Y.reshape(4, 16) @ W, note)


@_branches("in a branch, taken", YES, "both branches reshape; the first is run")
@_branches("in a branch, other", NO, "both branches reshape; the second is run")
@I.ir_module
class InABranch:
    @R.function
    def main(
        chosen: R.Tensor((), "bool"),
        x: R.Tensor((8, 16), "float32"),
        w: R.Tensor((16, 8), "float32"),
    ):
        a = R.matmul(x, w)
        if chosen:
            b = R.reshape(a, (4, 16))
            y = R.matmul(b, w)
        else:
            b = R.reshape(a, (4, 16))
            y = R.matmul(b, w)
        return y


@_form("in a sub-function", (X, W), Y.reshape(4, 16) @ W, "a Relax function that another calls")
@I.ir_module
class InASubFunction:
    @R.function(private=True)
    def inner(a: R.Tensor((8, 8), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            b = R.reshape(a, (4, 16))
            c = R.matmul(b, w)
            R.output(c)
        return c

    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        cls = InASubFunction
        a = R.matmul(x, w)
        return cls.inner(a, w)


@_form("of a parameter, returned", (X,), X.reshape(128), "the caller gets a storage of its own")
@I.ir_module
class OfAParameter:
    @R.function
    def main(x: R.Tensor((8, 16), "float32")):
        with R.dataflow():
            b = R.reshape(x, (128,))
            R.output(b)
        return b


@_form("twice, both returned", (X, W), (Y.reshape(64), Y.reshape(4, 16)), "of one value")
@I.ir_module
class TwiceReturned:
    @R.function
    def main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 8), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.reshape(a, (64,))
            c = R.reshape(a, (4, 16))
            R.output(b, c)
        return (b, c)
