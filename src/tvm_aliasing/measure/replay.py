"""Calls of kernels made again apart from their program, with tensors where they are wanted."""

import numpy as np
import tvm

from .kernel_calls import Given

#: Bytes: the alignment of what TVM allocates.
ALIGNMENT = 64


class Replay:
    """All calls of some kernels of a program, by a kernel that takes offsets or by a plain one.

    Each tensor has a buffer of its own, at the same place whichever kernel is called.

    Parameters
    ----------
    calls : list of KernelCall
    keep_offsets : bool
        Whether a tensor begins as far inside its buffer as it began inside its storage, or at the
        beginning.
    """

    def __init__(self, calls, keep_offsets=True):
        self._kernels = [call.kernel for call in calls]
        self._places = [
            [_Place(argument, keep_offsets) for argument in call.arguments] for call in calls
        ]

    def with_offsets(self, built):
        """A callable that makes all calls in order, of a build whose kernels take offsets."""
        return self._run(built, [[place.at_offset for place in call] for call in self._places])

    def plain(self, built):
        """The same of a build whose kernels demand offset zero; no tensor lies elsewhere."""
        return self._run(built, [[place.at_zero for place in call] for call in self._places])

    def results(self, run):
        """What all tensors hold after a run, when they begin with what the program gave.

        Parameters
        ----------
        run : callable
            One of those that this object made.

        Returns
        -------
        list of ndarray
        """
        tensors = [place for call in self._places for place in call if place.array is not None]
        for place in tensors:
            place.reset()
        run()
        return [place.array.copy() for place in tensors]

    def _run(self, built, arguments):
        linked = built.executable.jit()
        functions = [linked.get_function(name, query_imports=True) for name in self._kernels]
        calls = list(zip(functions, arguments, strict=True))

        def run():
            for function, given in calls:
                function(*given)

        return run


class _Place:
    """An argument of a kernel: a number, or a tensor in a buffer of its own.

    Attributes
    ----------
    at_offset : TVM tensor or number
        A tensor that says how far inside its buffer it begins.
    at_zero : TVM tensor or number
        The same bytes as a tensor with offset 0.
    array : ndarray or None
        The same bytes.
    """

    def __init__(self, argument, keep_offset):
        self.at_offset = self.at_zero = argument
        self.array = None
        if isinstance(argument, Given):
            self._given, offset = argument.array, argument.offset if keep_offset else 0
            shape, dtype = self._given.shape, self._given.dtype
            buffer = _aligned(offset + self._given.nbytes)
            self.array = buffer[offset:].view(dtype).reshape(shape)
            self.at_zero = tvm.runtime.from_dlpack(self.array)
            self.at_offset = tvm.runtime.from_dlpack(buffer)._create_view(shape, str(dtype), offset)

    def reset(self):
        """Hold again what the program gave."""
        self.array[...] = self._given


def _aligned(size):
    """So many bytes that begin at a multiple of `ALIGNMENT`."""
    whole = np.empty(size + ALIGNMENT, "uint8")
    begin = -whole.ctypes.data % ALIGNMENT
    return whole[begin : begin + size]
