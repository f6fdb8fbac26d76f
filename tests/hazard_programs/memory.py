"""Where the tensors of a program lie."""

from math import prod

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op

from .draws import Draws
from .values import Value


class Memory(Draws):
    """The bindings of a program that make memory, or ranges of it.

    Parameters
    ----------
    seed : object
    planned : bool
        Whether tensors lie in storages.
    """

    def __init__(self, seed, planned):
        super().__init__(seed)
        self.planned = planned
        self._block = relax.BlockBuilder()

    def on(self, vdevices):
        """Name the devices and the memory scopes of the module, before anything is written."""
        mod = tvm.IRModule({}, global_infos={"vdevice": vdevices})
        self._block = relax.BlockBuilder(mod)

    def emit(self, expression, name):
        """Bind an expression to a new variable."""
        return self._block.emit(expression, name)

    def buffer(self, shape=None, dtype=None):
        """Memory of its own for a tensor."""
        shape, dtype = self._form(shape, dtype)
        if self.planned:
            size = prod(shape) * np.dtype(dtype).itemsize
            return self.tensor(self.storage(size), 0, shape, dtype)
        made = op.builtin.alloc_tensor(relax.ShapeExpr(shape), dtype, 0, "global")
        return Value(self.emit(made, "buffer"))

    def storage(self, size, device=0, scope="global"):
        """A storage of some bytes."""
        made = op.memory.alloc_storage(relax.ShapeExpr([size]), device, scope, "uint8")
        return self.emit(made, "storage")

    def storage_to_be(self):
        """The variable of a storage that `allocate` is to bind, somewhere."""
        return relax.Var("storage", relax.AnyType())

    def allocate(self, storage, size):
        """Bind such a variable here."""
        made = op.memory.alloc_storage(relax.ShapeExpr([size]), 0, "global", "uint8")
        self._block.emit_normalized(relax.VarBinding(storage, self._block.normalize(made)))

    def tensor(self, storage, begin=0, shape=None, dtype=None, device=0, vdevice=None):
        """A tensor at a byte of a storage."""
        shape, dtype = self._form(shape, dtype)
        made = op.memory.alloc_tensor(storage, begin, relax.ShapeExpr(shape), dtype, device)
        if vdevice is None:
            return Value(self.emit(made, "alloc"))
        var = relax.Var("alloc", relax.TensorType(shape, dtype, vdevice))
        self._block.emit_normalized(relax.VarBinding(var, self._block.normalize(made)))
        return Value(var)

    def _form(self, shape, dtype):
        """A shape and a dtype, by default the program's."""
        return self.shape if shape is None else shape, dtype or self.dtype

    def view(self, value, shape=None, begin=0, *, dtype=None, array=None, name="view"):
        """A range of a value's bytes, from byte `begin` on."""
        shape = value.shape if shape is None else shape
        dtype = dtype or value.dtype
        viewed = self.emit(op.memory.view(value.var, shape, dtype, begin), name)
        if array is None and value.array is not None:
            held = value.array.tobytes()[begin : begin + prod(shape) * np.dtype(dtype).itemsize]
            array = np.frombuffer(held, dtype).reshape(shape)
        return Value(viewed, array)

    def flat(self, value, name="flat"):
        """A value as a vector."""
        shape = (prod(value.shape),)
        if self.planned:  # an elided reshape
            return Value(self.emit(op.reshape(value.var, shape), name), value.array.reshape(shape))
        return self.view(value, shape, name=name)
