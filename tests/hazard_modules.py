"""Small modules from the text of their functions, with kernels that these can call."""

import re
import textwrap

import tvm
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

_STORES = {
    # Reads and writes each element where it is.
    "step": (("a",), "a[v] = a[v] + T.float32(1)"),
    "double": (("a", "out"), "out[v] = a[v] * T.float32(2)"),
    # Where both are the same it reads elements that it has written.
    "flip": (("a", "out"), "out[v] = a[15 - v]"),
    "add": (("a", "b", "out"), "out[v] = a[v] + b[v]"),
}


def _kernel(name, *, size, mark="", offset=""):
    params, store = _STORES[name.split("_")[0]]
    buffers = ", ".join(f'{p}: T.Buffer(({size},), "float32"{offset})' for p in params)
    return f"""
    @T.prim_func(private=True, s_tir=True)
    def {name}({buffers}):
        {mark}
        for i in range({size}):
            with T.sblock("{name}"):
                v = T.axis.spatial({size}, i)
                {store}
"""


#: Kernels take their tensors at offsets, but for `step_plain`.
_ANYWHERE = ", offset_factor=4"
_KERNELS = {
    **{name: _kernel(name, size=16, offset=_ANYWHERE) for name in _STORES},
    "step_half": _kernel("step_half", size=8, offset=_ANYWHERE),
    "double_half": _kernel("double_half", size=8, offset=_ANYWHERE),
    "step_plain": _kernel("step_plain", size=8),
    "double_noalias": _kernel(
        "double_noalias", size=16, mark='T.func_attr({"tirx.noalias": True})', offset=_ANYWHERE
    ),
}

_NAMES = {
    "I": I,
    "R": R,
    "T": T,
    "F": R.Tensor((16,), "float32"),
    "H": R.Tensor((8,), "float32"),
}


def module(*functions, infos=""):
    """A module of functions, each given as text; one without a head is the body of `main(x)`.

    Parameters
    ----------
    *functions : str
        In these `F` is the type of 16 elements of float32, `H` that of 8; `cls` is the module.
    infos : str
        A statement at the head of the module.

    Returns
    -------
    tvm.IRModule
    """
    texts = []
    for text in functions:
        text = textwrap.dedent(text).strip("\n")
        if not text.startswith("@"):
            text = "@R.function(pure=False)\ndef main(x: F):\n" + textwrap.indent(text, "    ")
        texts.append(text.replace("cls.", "Module."))
    body = textwrap.indent("\n\n".join(texts), "    ")
    called = set(re.findall(r"Module\.(\w+)", body))
    kernels = "".join(text for name, text in _KERNELS.items() if name in called)
    source = f"@I.ir_module\nclass Module:\n    {infos}\n{kernels}\n{body}\n"
    return tvm.script.from_source(source, _NAMES)


def storage(size, device=0, scope="global"):
    """The text of a storage."""
    return (
        f'R.memory.alloc_storage(R.shape([{size}]), {device}, R.str("{scope}"), R.dtype("uint8"))'
    )


def tensor(storage, offset=0, size=16):
    """The text of a tensor of float32 in a storage."""
    return f"R.memory.alloc_tensor({storage}, {offset}, R.shape([{size}]), R.dtype('float32'), 0)"


def view(source, size=16, offset=0):
    """The text of a view."""
    return f"R.memory.view({source}, R.shape([{size}]), R.dtype('float32'), {offset})"


def in_place(kernel, arguments, at=0, ty="F"):
    """The text of a call that writes over one of its arguments."""
    return f"R.call_tir_inplace(cls.{kernel}, ({arguments}), out_ty={ty}, inplace_indices=[{at}])"


def call(kernel, arguments, ty="F"):
    """The text of a call that makes its result."""
    return f"R.call_tir(cls.{kernel}, ({arguments}), out_ty={ty})"
