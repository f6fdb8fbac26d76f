"""Symbolic sizes of a kernel in those of the function that calls it."""

import pytest
import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.analysis.bindings import bindings_of
from tvm_aliasing.analysis.symbols import call_symbols, in_caller, output_types


@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def head(a: T.handle, k: T.int64, b: T.handle):
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (m, 4), "float32")
        for i, j in T.grid(m, 4):
            B[i, j] = A[i, j]

    @T.prim_func(private=True, s_tir=True)
    def halves(a: T.handle, b: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n * 2,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.match_buffer(c, (n,), "float32")
        for i in range(n):
            B[i] = A[i]
            C[i] = A[i + n]

    @R.function
    def main(
        x: R.Tensor(("p", 4), "float32"),
        y: R.Tensor((6,), "float32"),
        z: R.Tensor(dtype="float32", ndim=2),
    ):
        p = T.int64()
        a = R.call_tir(Module.head, (x, p - 1), out_ty=R.Tensor((p + 2, 4), "float32"))
        b = R.call_tir(
            Module.halves,
            (y,),
            out_ty=[R.Tensor((3,), "float32"), R.Tensor((3,), "float32")],
        )
        c = R.call_tir(Module.head, (z, 7), out_ty=R.Tensor((5, 4), "float32"))
        return (a, b, c)


CALLS = {binding.var.name: binding.value for binding in bindings_of(Module["main"].body)}

# What the sizes of the kernel are in a call; of an input of unknown shape they are nothing.
SYMBOLS = {
    "a": {"n": "p", "k": "p - 1", "m": "p + 2"},
    "b": {"n": "3"},
    "c": {"k": "7", "m": "5"},
}


def text(expr):
    return str(expr).replace("T.int64(", "").replace(")", "")


@pytest.mark.parametrize("name", SYMBOLS)
def test_symbols_of_a_call(name):
    call = CALLS[name]
    found = call_symbols(Module[call.args[0]], call)
    assert {var.name: text(actual) for var, actual in found.items()} == SYMBOLS[name]


def test_expressions_in_the_symbols_of_the_caller():
    call = CALLS["a"]
    kernel = Module[call.args[0]]
    n, k, m = kernel.params[0].ty.shape[0], kernel.params[1], kernel.params[2].ty.shape[0]
    (p, _) = Module["main"].params[0].ty.shape
    symbols = call_symbols(kernel, call)
    equal = tvm.sym.Analyzer().can_prove_equal
    assert equal(in_caller(n * 4 + m, symbols), p * 5 + 2)
    assert equal(in_caller(k, symbols), p - 1)
    assert equal(in_caller(tirx.const(3, "int64"), symbols), 3)
    assert in_caller(n + tirx.Var("other", "int64"), symbols) is None


def test_output_types():
    shapes = {
        name: [[text(size) for size in ty.shape] for ty in output_types(call)]
        for name, call in CALLS.items()
    }
    assert shapes == {"a": [["p + 2", "4"]], "b": [["3"], ["3"]], "c": [["5", "4"]]}
