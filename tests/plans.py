"""Whether a planned module is sound, checked tensor by tensor."""

from tvm import relax
from tvm.relax.analysis import free_vars

from tvm_aliasing.analysis.alias_classes import AliasClasses
from tvm_aliasing.analysis.bindings import bindings_of, is_call
from tvm_aliasing.analysis.liveness import Liveness
from tvm_aliasing.analysis.places import roots_of
from tvm_aliasing.values import item_bytes


def faults(mod):
    """What is wrong in the storages of a planned module, a line each."""
    found = []
    for name, function in mod.functions_items():
        if isinstance(function, relax.Function):
            found += [f"{name.name_hint}: {fault}" for fault in _faults(mod, function)]
    return found


def _faults(mod, function):
    assert not free_vars(function)  # a storage that does not dominate its use would be free
    classes = AliasClasses(mod, function, elided=True)
    liveness = Liveness(mod, function, classes)
    storages, tensors, returned = {}, {}, roots_of(classes.result)
    for binding in bindings_of(function.body):
        value, path = binding.value, liveness.points[liveness.point_of[binding.var]].path
        if is_call(value, "relax.memory.alloc_storage"):
            size, device, scope, _dtype = value.args
            storages[binding.var] = (int(size.values[0]), int(device), scope.value, path)
        elif is_call(value, "relax.memory.alloc_tensor"):
            storage, offset, shape, dtype, device = value.args
            size, its_device, scope, its_path = storages[storage]
            (root,) = classes.places[binding.var]
            extents = [int(extent) for extent in shape.values]
            count = item_bytes(dtype.value)
            for extent in extents:
                count *= extent
            begin, end = int(offset), int(offset) + count
            if end > size:
                yield f"{binding.var.name} ends at {end} in a storage of {size} bytes"
            if int(device) != its_device:
                yield f"{binding.var.name} lies on device {device}, its storage on {its_device}"
            declared = binding.var.ty.vdevice
            if declared is not None and declared.memory_scope != scope:
                yield f"{binding.var.name} lies in scope {scope}"
            if path[: len(its_path)] != its_path:
                yield f"{binding.var.name} is used where its storage may not be allocated"
            live = {point for span in liveness.live(root) for point in range(*span)}
            for other, (its_root, its_begin, its_end, its_live) in tensors.get(storage, {}).items():
                if begin < its_end and its_begin < end and live & its_live:
                    yield f"{binding.var.name} overlaps {other.name}"
                if {root, its_root} <= returned:
                    yield f"{binding.var.name} and {other.name}: two outputs in one storage"
            if root in returned and (begin, end) != (0, size):
                yield f"{binding.var.name}: an output in a storage of {size} bytes"
            tensors.setdefault(storage, {})[binding.var] = (root, begin, end, live)
