"""The calls of kernels that one call of a program makes, so that they can be made again apart."""

import ctypes
from typing import NamedTuple

import numpy as np
import tvm
from tvm import tirx


class Given(NamedTuple):
    """A tensor that a kernel was given.

    Attributes
    ----------
    array : ndarray
        What it held before the call.
    offset : int
        The byte of its storage with which it began.
    """

    array: np.ndarray
    offset: int


class KernelCall(NamedTuple):
    """A kernel that was called, by its name, with a `Given` for each tensor, and numbers."""

    kernel: str
    arguments: list


def kernel_calls(built, tensors, kept):
    """Call a program once, and see which kernels it calls with what.

    Parameters
    ----------
    built : Built
        In bytecode, where each call of a kernel can be seen.
    tensors : sequence of TVM tensors
        The arguments.
    kept : set of str
        Names of the kernels whose calls are kept.

    Returns
    -------
    list of KernelCall
        Those calls in order.
    int
        Number of calls of all kernels, without the functions that compute shapes.
    object
        What the program returned.
    """
    recorder = _Recorder(built.stages["planned"], kept)
    machine = built.machine()
    machine.set_instrument(recorder)
    result = machine[built.entry](*tensors)
    return recorder.calls, recorder.count, result


class _Recorder:
    """An instrument of the virtual machine."""

    def __init__(self, planned_module, kept):
        self.calls, self.count = [], 0
        self._kept = kept
        self._kernels = {
            name.name_hint
            for name, function in planned_module.functions_items()
            if isinstance(function, tirx.PrimFunc)
        }

    def __call__(self, _function, name, before, _result, *arguments):
        if before and name in self._kernels:
            self.count += 1
            if name in self._kept:
                self.calls.append(KernelCall(name, [_given(a) for a in arguments]))
        return 0  # TVM's code for "go on"


def _given(argument):
    if not isinstance(argument, tvm.runtime.Tensor):
        return argument
    return Given(argument.numpy(), byte_offset(argument))


class _DLTensor(ctypes.Structure):
    """The head of what a DLPack capsule points to."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


# A prototype of its own: whoever sets the types of `pythonapi`'s own function sets them for all.
_pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def byte_offset(tensor):
    """The byte of its storage with which a TVM tensor begins, which its Python class does not say.

    Parameters
    ----------
    tensor : tvm.runtime.Tensor

    Returns
    -------
    int
    """
    capsule = tensor.__dlpack__()
    return _DLTensor.from_address(_pointer_of(capsule, b"dltensor")).byte_offset
