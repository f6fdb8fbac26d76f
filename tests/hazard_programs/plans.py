"""To take a plan of a straight-line function apart, and to put it together again."""

from typing import NamedTuple

import tvm_ffi
from tvm import relax, tirx

from tvm_aliasing.analysis.bindings import callee_of, is_call
from tvm_aliasing.analysis.bindings import operands as operands_of
from tvm_aliasing.analysis.byte_ranges import byte_size


def bindings(mod):
    """The bindings of the entry function, as a list of its own."""
    return [binding for block in mod["main"].body.blocks for binding in block.bindings[:]]


def with_bindings(mod, changed):
    """The module with other bindings in its entry function, in one block of the same kind."""
    main = mod["main"]
    block = type(main.body.blocks[0])(changed)
    builder, mod = relax.BlockBuilder(), mod.clone()
    builder.begin_scope(list(main.params))
    body = builder.normalize(relax.SeqExpr([block], main.body.body))
    builder.end_scope()
    mod["main"] = relax.Function(main.params, body, main.ret_ty, main.is_pure, main.attrs)
    return mod


def operands(binding):
    """The variables that a binding reads."""
    return operands_of(binding.value)


def made_operands(binding, before):
    """Those that a kernel made before, of the type of its result: it could lie over them."""
    if not is_call(binding.value, "relax.call_tir"):
        return []
    made = [other.var for other in before if is_call(other.value, "relax.call_tir")]
    return [
        operand
        for operand in operands(binding)
        if operand in made and tvm_ffi.structural_equal(operand.ty, binding.var.ty)
    ]


class Tensor(NamedTuple):
    """A tensor of a plan.

    Attributes
    ----------
    var, storage : relax.Var
    begin, size : int
        Bytes.
    written, read : int
        The positions of the binding that writes it and of the last that reads it.
    sources : list of relax.Var
        The tensors that the kernel reads that writes it.
    """

    var: relax.Var
    storage: relax.Var
    begin: int
    size: int
    written: int
    read: int
    sources: list


def tensors(mod):
    """The tensors of a plan in which each is written once, by the kernel that is given it last."""
    tensor_of, found = {}, {}
    for i, binding in enumerate(bindings(mod)):
        value = binding.value
        if is_call(value, "relax.memory.alloc_tensor"):
            tensor_of[binding.var] = binding.var
            size = byte_size(binding.var.ty)
            found[binding.var] = Tensor(
                binding.var, value.args[0], int(value.args[1]), size, 0, 0, []
            )
        elif isinstance(callee_of(value, mod), tirx.PrimFunc):
            *inputs, output = value.args
            sources = [tensor_of[var] for var in inputs if var in tensor_of]
            for source in sources:
                found[source] = found[source]._replace(read=i)
            output = tensor_of[output]
            found[output] = found[output]._replace(written=i, sources=sources)
        elif isinstance(value, relax.Var) and value in tensor_of:
            tensor_of[binding.var] = tensor_of[value]
    return list(found.values())


def at(tensor, storage, begin):
    """The binding of a tensor at another place."""
    ty = tensor.var.ty
    made = relax.op.memory.alloc_tensor(storage, begin, ty.shape, str(ty.dtype), 0)
    return relax.VarBinding(tensor.var, relax.BlockBuilder().normalize(made))


def differ(mod, other, name):
    """Whether a function is another one in another module."""
    return not tvm_ffi.structural_equal(mod[name], other[name])
