"""`mixed-storage`: one storage for tensors of two devices, or of two memory scopes.

No run on a CPU can show it: it has one device, and one kind of memory.
"""

from tvm.relax import VDevice

from .registry import structure
from .scopes import Scopes


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


@structure("mixed-storage", "", "planned")
def tensors_of_two_scopes(b, fault):
    """A texture in turn with a tensor in flat memory, each of the type that says so."""
    scopes = Scopes(b)

    def main(given):
        shared = scopes.storage(scope="global")
        first = b.call(b.unary(), given, into=scopes.tensor(shared, scope="global"))
        made = scopes.made(first, scope="global")
        place = shared if fault else scopes.storage()
        second = b.call(b.unary(), made, into=scopes.tensor(place))
        return scopes.made(second, scope="global")

    b.main(main, given=(b.shape, b.dtype, scopes.flat))
