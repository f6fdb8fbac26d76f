"""K1 reads the mark, and elides wherever memory is flat."""

import pytest
import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from tvm_aliasing.passes.elide_reshape_only import ElideReshapeOnly

FLAT = frozenset({"global"})


@I.ir_module
class Before:
    @T.prim_func(private=True, s_tir=True)
    def marked(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"reshape_only": True})
        for i in range(8):
            B[i] = A[i // 4, i % 4]

    @T.prim_func(private=True, s_tir=True)
    def marked_back(A: T.Buffer((8,), "float32"), B: T.Buffer((2, 4), "float32")):
        T.func_attr({"reshape_only": True})
        for i, j in T.grid(2, 4):
            B[i, j] = A[i * 4 + j]

    @T.prim_func(private=True, s_tir=True)
    def marked_symbolic(a: T.handle, n: T.int64, b: T.handle):
        T.func_attr({"reshape_only": True})
        A = T.match_buffer(a, (n, T.int64(4)), "float32")
        B = T.match_buffer(b, (n * T.int64(4),), "float32")
        for i in range(n * T.int64(4)):
            B[i] = A[i // T.int64(4), i % T.int64(4)]

    @T.prim_func(private=True, s_tir=True)
    def marked_negation(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"reshape_only": True})
        for i in range(8):
            B[i] = T.float32(0) - A[i // 4, i % 4]

    @T.prim_func(private=True, s_tir=True)
    def not_marked(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i // 4, i % 4]

    @T.prim_func(private=True, s_tir=True)
    def marked_false(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"reshape_only": False})
        for i in range(8):
            B[i] = A[i // 4, i % 4]

    @R.function
    def in_and_out_of_a_block(x: R.Tensor((2, 4), "float32")):
        cls = Before
        with R.dataflow():
            y = R.call_tir(cls.marked, (x,), out_ty=R.Tensor((8,), "float32"))
            z = R.exp(y)
            output = R.call_tir(cls.marked_back, (z,), out_ty=R.Tensor((2, 4), "float32"))
            R.output(output)
        outside = R.call_tir(cls.marked, (output,), out_ty=R.Tensor((8,), "float32"))
        return outside

    @R.function
    def in_a_row(x: R.Tensor((2, 4), "float32")):
        cls = Before
        with R.dataflow():
            y = R.call_tir(cls.marked, (x,), out_ty=R.Tensor((8,), "float32"))
            z = R.call_tir(cls.marked_back, (y,), out_ty=R.Tensor((2, 4), "float32"))
            R.output(z)
        return z

    @R.function
    def in_branches(c: R.Tensor((), "bool"), x: R.Tensor((2, 4), "float32")):
        cls = Before
        if c:
            y = R.call_tir(cls.marked, (x,), out_ty=R.Tensor((8,), "float32"))
            z = R.exp(y)
        else:
            z = R.call_tir(cls.marked, (x,), out_ty=R.Tensor((8,), "float32"))
        return z

    @R.function
    def size_among_the_arguments(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        cls = Before
        y = R.call_tir(cls.marked_symbolic, (x, n), out_ty=R.Tensor((n * 4,), "float32"))
        return y

    @R.function
    def only_the_mark_is_read(x: R.Tensor((2, 4), "float32")):
        cls = Before
        a = R.call_tir(cls.marked_negation, (x,), out_ty=R.Tensor((8,), "float32"))
        b = R.call_tir(cls.not_marked, (x,), out_ty=R.Tensor((8,), "float32"))
        c = R.call_tir(cls.marked_false, (x,), out_ty=R.Tensor((8,), "float32"))
        return (a, b, c)


@I.ir_module
class Expected:
    @R.function
    def in_and_out_of_a_block(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            y = R.reshape(x, (8,))
            z = R.exp(y)
            output = R.reshape(z, (2, 4))
            R.output(output)
        outside = R.reshape(output, (8,))
        return outside

    @R.function
    def in_a_row(x: R.Tensor((2, 4), "float32")):
        with R.dataflow():
            y = R.reshape(x, (8,))
            z = R.reshape(y, (2, 4))
            R.output(z)
        return z

    @R.function
    def in_branches(c: R.Tensor((), "bool"), x: R.Tensor((2, 4), "float32")):
        if c:
            y = R.reshape(x, (8,))
            z = R.exp(y)
        else:
            z = R.reshape(x, (8,))
        return z

    @R.function
    def size_among_the_arguments(x: R.Tensor(("n", 4), "float32")):
        n = T.int64()
        y = R.reshape(x, (n * 4,))
        return y


@pytest.mark.parametrize("form", [name.name_hint for name in Expected.get_global_vars()])
def test_elides(form):
    tvm.ir.assert_structural_equal(ElideReshapeOnly(FLAT)(Before)[form], Expected[form])


def elided(mod, form, flat_scopes=FLAT):
    """Which bindings of a function are `relax.reshape` after the pass."""
    (block,) = ElideReshapeOnly(flat_scopes)(mod)[form].body.blocks
    reshape = tvm.ir.Op.get("relax.reshape")
    return [b.var.name for b in block.bindings if b.value.op.same_as(reshape)]


def test_only_the_mark_is_read():
    """A marked function is elided whatever its body, an unmarked one never."""
    assert elided(Before, "only_the_mark_is_read") == ["a"]


@pytest.mark.parametrize("scopes", [set(), {"global.texture"}])
def test_where_memory_is_not_flat_nothing_changes(scopes):
    tvm.ir.assert_structural_equal(ElideReshapeOnly(frozenset(scopes))(Before), Before)


@I.ir_module
class Devices:
    I.module_global_infos(
        {
            "vdevice": [
                I.vdevice("opencl", 0, "global"),
                I.vdevice("opencl", 0, "global.texture"),
                I.vdevice("opencl", 1, "global"),
            ]
        }
    )

    @T.prim_func(private=True, s_tir=True)
    def marked(A: T.Buffer((2, 4), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"reshape_only": True})
        for i in range(8):
            B[i] = A[i // 4, i % 4]

    @R.function
    def main(
        buffer: R.Tensor((2, 4), "float32", "opencl:0"),
        texture: R.Tensor((2, 4), "float32", "opencl:1"),
    ):
        cls = Devices
        flat = R.call_tir(cls.marked, (buffer,), out_ty=R.Tensor((8,), "float32", "opencl:0"))
        textures = R.call_tir(cls.marked, (texture,), out_ty=R.Tensor((8,), "float32", "opencl:1"))
        into = R.call_tir(cls.marked, (buffer,), out_ty=R.Tensor((8,), "float32", "opencl:1"))
        out_of = R.call_tir(cls.marked, (texture,), out_ty=R.Tensor((8,), "float32", "opencl:0"))
        elsewhere = R.call_tir(cls.marked, (buffer,), out_ty=R.Tensor((8,), "float32", "opencl:2"))
        return (flat, textures, into, out_of, elsewhere)


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        ({"global"}, ["flat"]),
        ({"global", "global.texture"}, ["flat", "textures"]),  # a device where it is flat
        ({"global.texture"}, ["textures"]),
    ],
)
def test_declines_textures_and_other_devices(scopes, expected):
    assert elided(Devices, "main", frozenset(scopes)) == expected
