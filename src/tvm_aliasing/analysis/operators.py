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
#: What reserves bytes and uses none.
ALLOCATIONS = (
    "relax.builtin.alloc_tensor",
    "relax.memory.alloc_storage",
    "relax.memory.alloc_tensor",
)
