"""The operators of Relax that matter to aliasing: the one list of their names."""

#: The result is a range of the first argument.
VIEWS = ("relax.memory.view",)
#: The same once reshapes have been elided; in a source program a reshape means a value.
ELIDED = ("relax.reshape",)
#: The argument itself where it begins its storage, else a copy.
AT_ZERO = ("relax.memory.ensure_zero_offset",)
#: Kernels of the module, which take tensors at offsets once they declare it.
KERNEL_CALLS = ("relax.call_tir", "relax.call_tir_inplace")
#: What writes over an argument.
IN_PLACE = ("relax.call_tir_inplace", "relax.call_inplace_packed")
#: Functions outside the module, and closures: a result may be any argument.
EXTERN_CALLS = (
    "relax.call_pure_packed",
    "relax.call_inplace_packed",
    "relax.call_builtin_with_ctx",
    "relax.call_py_func",
    "relax.make_closure",
    "relax.invoke_closure",
    "relax.invoke_pure_closure",
)
#: A tensor in a storage, with its byte offset there.
IN_STORAGE = ("relax.memory.alloc_tensor", "relax.vm.alloc_tensor")
STORAGES = ("relax.memory.alloc_storage", "relax.vm.alloc_storage")
#: What reserves bytes and uses none.
ALLOCATIONS = ("relax.builtin.alloc_tensor", *IN_STORAGE, *STORAGES)
#: What the virtual machine calls in place of an operator, by name.
LOWERED = {
    "runtime.TVMTensorCreateView": "relax.memory.view",
    "vm.builtin.reshape": "relax.reshape",
    "vm.builtin.ensure_zero_offset": "relax.memory.ensure_zero_offset",
    "vm.builtin.shape_of": "relax.shape_of",
    "vm.builtin.copy": "relax.memory.copy",
    "vm.builtin.to_device": "relax.to_vdevice",
}
#: What asks for no byte of the tensors that it is given: for their shape, or to be rid of them.
BYTELESS = (
    *ALLOCATIONS,
    "relax.shape_of",
    "relax.null_value",
    "relax.memory.kill_storage",
    "relax.memory.kill_tensor",
    "relax.vm.kill_object",
)
#: The same among packed functions.
BYTELESS_PACKED = (
    "vm.builtin.check_tensor_info",
    "vm.builtin.check_tuple_info",
    "vm.builtin.check_func_info",
    "vm.builtin.match_shape",
)
#: Where one of these is called, the function has been lowered to what the virtual machine runs.
VM_ONLY = ("relax.vm.alloc_storage", "relax.vm.alloc_tensor", "relax.vm.kill_object")
#: A packed function that is never called: it gives its first argument, and its other ones look used
#: until `RemoveFence`.
TIE = "tvm_aliasing.tie"
