"""`mixed-storage` and `nonflat-elision`: tensors in memory of more than one kind.

No run on a CPU can show them: it has one device, and no memory but flat one.
"""

import numpy as np
from tvm import te
from tvm.relax import VDevice

from .registry import structure

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


class _Devices:
    """A program with two devices, and a storage on each; or one on the first for both."""

    def __init__(self, b, fault):
        self.b, self.fault = b, fault
        self.devices = [VDevice("llvm", i, "global") for i in range(2)]
        b.on(self.devices)
        self.types = {"given": (b.shape, b.dtype, self.devices[0])}
        self.types["other"] = (b.shape, b.dtype, self.devices[1])

    def storages(self, size):
        first = self.b.storage(size)
        return [first, first if self.fault else self.b.storage(size, 1)]

    def tensor(self, storage, device, begin=0):
        """On a device; half of the programs say so in the type too, as TVM's planner does."""
        vdevice = self.devices[device] if self.b.either() else None
        return self.b.tensor(storage, begin, device=device, vdevice=vdevice)


@structure("mixed-storage", "", "planned")
def tensors_of_two_devices_take_turns(b, fault):
    two = _Devices(b, fault)

    def main(given, other):
        storages = two.storages(b.size)
        first = b.call(b.unary(), given, into=two.tensor(storages[0], 0))
        made = b.call(b.unary(), first, into=two.tensor(b.storage(b.size), 0))
        second = b.call(b.unary(), other, into=two.tensor(storages[1], 1))
        return made, b.call("twice", second, into=two.tensor(b.storage(b.size, 1), 1))

    b.main(main, **two.types)


@structure("mixed-storage", "", "planned")
def tensors_of_two_devices_lie_side_by_side(b, fault):
    two = _Devices(b, fault)

    def main(given, other):
        storages = two.storages(2 * b.size)
        first = b.call(b.unary(), given, into=two.tensor(storages[0], 0))
        second = b.call(b.unary(), other, into=two.tensor(storages[1], 1, b.size))
        made = b.call(b.unary(), first, into=two.tensor(b.storage(b.size), 0))
        return made, b.call("plus", second, into=two.tensor(b.storage(b.size, 1), 1))

    b.main(main, **two.types)


@structure("mixed-storage", "", "planned")
def tensor_of_a_branch_and_one_of_another_device_after_it(b, fault):
    two = _Devices(b, fault)

    def main(condition, given, other):
        storages = two.storages(b.size)
        asked = b.branch(
            condition,
            lambda: b.call(b.unary(), given, into=two.tensor(storages[0], 0)),
            lambda: b.call(b.unary(), given, into=two.tensor(b.storage(b.size), 0)),
        )
        second = b.call(b.unary(), other, into=two.tensor(storages[1], 1))
        made = b.call(b.unary(), asked, into=two.tensor(b.storage(b.size), 0))
        return made, b.call("less", second, into=two.tensor(b.storage(b.size, 1), 1))

    b.main(main, **two.types)


@structure("mixed-storage", "", "planned")
def tensor_lies_on_another_device_than_its_storage(b, fault):
    """The only one in it."""
    two = _Devices(b, fault)

    def main(given, other):
        first = b.call(b.unary(), given, into=two.tensor(b.storage(b.size), 0))
        storage = b.storage(b.size, 0 if fault else 1)
        second = b.call(b.unary(), other, into=two.tensor(storage, 1))
        made = b.call(b.unary(), second, into=two.tensor(b.storage(b.size, 1), 1))
        return first, made

    b.main(main, **two.types)


@structure("mixed-storage", "", "planned")
def tensors_of_two_devices_in_a_function(b, fault):
    two = _Devices(b, fault)

    def computed(given, other):
        storages = two.storages(b.size)
        first = b.call("plus", given, into=two.tensor(storages[0], 0))
        made = b.call(b.unary(), first, into=two.tensor(b.storage(b.size), 0))
        second = b.call("less", other, into=two.tensor(storages[1], 1))
        return made, b.call(b.unary(), second, into=two.tensor(b.storage(b.size, 1), 1))

    function = b.function("computed", computed, **two.types)

    def main(given, other):
        called = b.invoke(function, given, other, result=(None, None))
        return b.field(called, 0), b.field(called, 1)

    b.main(main, **two.types)


class _Scopes:
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


@structure("mixed-storage", "", "planned")
def tensors_of_two_scopes(b, fault):
    """A texture in turn with a tensor in flat memory, each of the type that says so."""
    scopes = _Scopes(b)

    def main(given):
        shared = scopes.storage(scope="global")
        first = b.call(b.unary(), given, into=scopes.tensor(shared, scope="global"))
        made = scopes.made(first, scope="global")
        place = shared if fault else scopes.storage()
        second = b.call(b.unary(), made, into=scopes.tensor(place))
        return scopes.made(second, scope="global")

    b.main(main, given=(b.shape, b.dtype, scopes.flat))


@structure("nonflat-elision", "", "planned", "introduced")
def parameter_is_reshaped(b, fault):
    scopes = _Scopes(b)

    def main(given):
        flat = scopes.flattened(given, fault)
        return b.call(b.unary(), flat) if not b.planned else scopes.made(flat)

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def tensor_is_reshaped(b, fault):
    scopes = _Scopes(b)

    def main(given):
        made = scopes.made(given)
        return scopes.made(scopes.flattened(made, fault))

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def storage_alone_says_the_scope(b, fault):
    """The types of its tensors say nothing, as those of our planners' do not."""
    scopes = _Scopes(b, typed=False)

    def main(given):
        made = scopes.made(given)
        return scopes.made(scopes.flattened(made, fault))

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def reshape_behind_other_names(b, fault):
    """A cast and a tuple stand between the texture and what is elided."""
    scopes = _Scopes(b)

    def main(given):
        made = scopes.made(given)
        pair = b.pair(b.cast(made), given)
        return scopes.made(scopes.flattened(b.field(pair, 0), fault))

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def reshape_in_one_branch(b, fault):
    """In the other one a kernel runs."""
    scopes = _Scopes(b)

    def main(condition, given):
        made = scopes.made(given)
        first = b.either()
        return b.branch(
            condition,
            lambda: scopes.made(scopes.flattened(made, fault and first)),
            lambda: scopes.made(scopes.flattened(made, fault and not first)),
        )

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def reshape_in_a_function(b, fault):
    """The caller's tensor is a texture, as the parameter is."""
    scopes = _Scopes(b)
    texture = b.shape, b.dtype, scopes.texture
    function = b.function(
        "computed",
        lambda taken: scopes.made(scopes.flattened(scopes.made(taken), fault)),
        taken=texture,
    )

    def main(given):
        made = scopes.made(given)
        return b.invoke(function, made, result=None)

    b.main(main, given=texture)


@structure("nonflat-elision", "", "planned")
def view_of_rows_of_a_texture(b, fault):
    """A range of it; the twin copies it out by a kernel."""
    scopes = _Scopes(b)
    rows = b.shape[0] // 2, *b.shape[1:]

    def upper(tensor):
        return te.compute(rows, lambda *i: tensor(*i), "made")

    def main(given):
        made = scopes.made(given)
        if fault:
            view = b.view(made, rows)
        else:
            place = scopes.tensor(scopes.storage(b.size // 2), rows)
            view = b.run(upper, "upper", made, into=place, as_=lambda array: array[: rows[0]])
        return scopes.made(view)

    b.main(main, given=(b.shape, b.dtype, scopes.texture))
