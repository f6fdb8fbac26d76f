"""Flat memory and textures on one device."""

import numpy as np
from tvm import te
from tvm.relax import VDevice

_TEXTURE = "global.texture"


def _flattened(tensor):
    """The kernel that a reshape is where it moves data."""
    count = int(np.prod([int(extent) for extent in tensor.shape]))
    shape = [int(extent) for extent in tensor.shape]

    def element(i):
        indices = []
        for extent in reversed(shape):
            indices.insert(0, te.indexmod(i, extent))
            i = te.indexdiv(i, extent)
        return tensor(*indices)

    return te.compute((count,), element, "made")


class Scopes:
    """A program with flat memory and textures on one device."""

    def __init__(self, b, typed=True):
        self.b, self.typed = b, typed
        self.flat, self.texture = (VDevice("llvm", 0, s) for s in ("global", _TEXTURE))
        b.on([self.flat, self.texture])

    def storage(self, size=None, scope=_TEXTURE):
        return self.b.storage(size or self.b.size, 1 if scope == _TEXTURE else 0, scope)

    def tensor(self, storage, shape=None, scope=_TEXTURE):
        """A tensor of a scope, which its type says; or its storage alone."""
        vdevice = self.texture if scope == _TEXTURE else self.flat
        device = 1 if scope == _TEXTURE else 0
        return self.b.tensor(
            storage, 0, shape, device=device, vdevice=vdevice if self.typed else None
        )

    def made(self, value, kernel=None, scope=_TEXTURE):
        """What a kernel makes of a value, in a storage of its own."""
        place = self.tensor(self.storage(scope=scope), value.shape, scope)
        return self.b.call(kernel or self.b.unary(), value, into=place)

    def flattened(self, value, fault):
        """The value as a vector: it is elided, or a kernel runs."""
        if fault:
            return self.b.flat(value)
        if not self.b.planned:
            return self.b.run(_flattened, "flatten", value, as_=np.ravel)
        place = self.tensor(self.storage(value.bytes), (int(np.prod(value.shape)),))
        return self.b.run(_flattened, "flatten", value, into=place, as_=np.ravel)
