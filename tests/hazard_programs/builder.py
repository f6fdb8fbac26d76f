"""To write a program binding by binding, with what NumPy makes of it beside."""

import inspect
from contextlib import nullcontext

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op

from tvm_aliasing.attributes import DONATED, EXTERN_ALIAS
from tvm_aliasing.passes.accept_offsets import AcceptOffsets
from tvm_aliasing.passes.accept_overlaps import AcceptOverlaps
from tvm_aliasing.passes.drop_noalias import without_noalias

from .kernels import KERNELS, kernel_of
from .memory import Memory
from .values import Value, arrays_of, expression_of, mapped


class Builder(Memory):
    """A module in the making.

    In an introduced module kernels are called by `call_tir` and `call_tir_inplace`; in a planned
    one directly, with a tensor of a storage as their last argument.

    Parameters
    ----------
    seed : object
        Decides what is random.
    planned : bool

    Attributes
    ----------
    options : dict
        What `verify` is called with.
    noalias : bool
        Whether kernels promise that their arguments do not overlap.
    accept_overlaps, accept_offsets : bool
        Whether kernels of a planned module are made to take what overlaps, or begins in a storage.
    """

    def __init__(self, seed, planned):
        super().__init__(seed, planned)
        self.noalias = self.accept_overlaps = self.accept_offsets = True
        self.options, self.inputs, self.expected = {}, (), None
        self._externs = {}

    # Functions

    def main(self, body, *, dataflow=False, donate=(), attrs=None, **types):
        """Write the entry function; `body` is called with a value for each of its parameters."""
        given = self.parameters(body, types)
        name = self.random.choice(["main", "main", "step"])
        if name != "main":
            self.options["entry"] = name
        attrs = {**(attrs or {}), **({DONATED: list(donate)} if donate else {})}
        result = self._function(name, given, body, attrs, dataflow=dataflow)
        self.expected = arrays_of(result)

    def function(self, name, body, *, donate=(), **types):
        """Write a private function; what it computes the caller says."""
        given = self._parameters(body, types)
        self._function(name, given, body, {DONATED: donate} if donate else {}, private=True)
        return self._block.get().get_global_var(name)

    def invoke(self, function, *values, result):
        """Call a function that was written before."""
        call = relax.Call(function, [value.var for value in values])
        return Value(self.emit(call, "called"), result)

    def parameters(self, body, types):
        """A value for each parameter of the entry function, which `body` names."""
        given = self._parameters(body, types)
        self.inputs = tuple(value.array for value in given)
        return given

    def _parameters(self, body, types):
        names = inspect.signature(body).parameters
        params = [relax.Var(name, self._type_of(name, types)) for name in names]
        return [Value(param, self._drawn(param.ty)) for param in params]

    def _function(self, name, given, body, attrs, *, private=False, dataflow=False):
        pure = not self.planned or self.random.random() < 0.7
        if self.planned and pure:
            attrs["relax.force_pure"] = True
        params = [value.var for value in given]
        with self._block.function(name, params, attrs=attrs, pure=pure, private=private):
            with self._block.dataflow() if dataflow else nullcontext():
                result = body(*given)
                output = expression_of(result)
                if dataflow:
                    output = mapped(output, lambda e: self._block.emit_output(e, "gv"))
            self._block.emit_func_output(output)
        if self._externs:
            declared = self._block.get()[name].with_attr(EXTERN_ALIAS, self._externs)
            self._block.update_func(self._block.get().get_global_var(name), declared)
        return result

    def _type_of(self, name, types):
        if name == "condition":
            return relax.TensorType((), "bool")
        declared = types.get(name, (self.shape, self.dtype))
        if isinstance(declared, list):
            return relax.TupleType([relax.TensorType(*field) for field in declared])
        return relax.TensorType(*declared)

    def _drawn(self, ty):
        if isinstance(ty, relax.TupleType):
            return tuple(map(self._drawn, ty.fields))
        shape = tuple(int(extent) for extent in ty.shape.values)
        if ty.dtype == "bool":
            return np.asarray(self.random.random() < 0.5)
        return self.numbers(shape, str(ty.dtype))

    # Bindings

    def call(self, kernel, *values, into=None):
        """Call a kernel; its result lies in `into`, or in memory of its own."""
        build, compute = KERNELS[kernel]
        return self.run(build, kernel, *values, into=into, as_=compute)

    def run(self, build, kernel, *values, into=None, as_):
        """The same for a kernel that is none of those with a name, and what NumPy does."""
        func = kernel_of(build, *values)
        array = as_(*(value.array for value in values))
        return self.call_function(func, kernel, *values, into=into, array=array)

    def call_function(self, func, kernel, *values, into=None, array):
        """The same for a PrimFunc of one output, which is its last parameter."""
        function = self.add(func if self.noalias else without_noalias(func), kernel)
        arguments = [value.var for value in values]
        made = func.params[-1].ty
        shape, dtype = tuple(int(extent) for extent in made.shape), str(made.dtype)
        if self.planned:
            into = into or self.buffer(shape, dtype)
            self.emit(relax.Call(function, [*arguments, into.var]), "_")
            return Value(self.emit(into.var, "lv"), array)
        ty = relax.TensorType(shape, dtype, values[0].var.ty.vdevice)
        if into is None:
            return Value(self.emit(op.call_tir(function, arguments, ty), "lv"), array)
        arguments.append(into.var)
        call = op.call_tir_inplace(function, relax.Tuple(arguments), [len(arguments) - 1], ty)
        return Value(self.emit(call, "lv"), array)

    def chain(self, value, count=None):
        """A value computed from another in a few steps."""
        for _ in range(count or self.random.randrange(1, 4)):
            value = self.call(self.unary(), value)
        return value

    def cast(self, value):
        """A value through `match_cast` to its own type."""
        return Value(self._block.match_cast(value.var, value.var.ty), value.array)

    def named(self, expression, array):
        """A variable for a constant, or for what another variable holds by now."""
        return Value(self.emit(expression, "lv"), array)

    def pair(self, *values):
        """A tuple."""
        arrays = tuple(value.array for value in values)
        return Value(self.emit(relax.Tuple([value.var for value in values]), "pair"), arrays)

    def field(self, value, index):
        """A field of a tuple."""
        return Value(self.emit(relax.TupleGetItem(value.var, index), "field"), value.array[index])

    def extern(self, packed, *values, ty=None, result, declared=None):
        """Call a packed function of which `declared` is said, or nothing."""
        ty = ty or values[0].var.ty
        if declared:
            self._externs[packed] = declared
        arguments = [value.var for value in values]
        if self.planned:
            call = relax.Call(relax.ExternFunc(packed), arguments, ty_args=[ty])
        else:
            call = op.call_pure_packed(packed, *arguments, ty_args=ty)
        return Value(self.emit(call, "extern"), result)

    def extern_pair(self, packed, first, second, declared=None):
        """The same for one that returns its two arguments in a tuple, the second first."""
        ty = relax.TupleType([second.var.ty, first.var.ty])
        result = second.array, first.array
        return self.extern(packed, first, second, ty=ty, result=result, declared=declared)

    def branch(self, condition, yes, no):
        """An `If`; each branch is a function that writes it and returns its value."""
        bodies, values = [], []
        for write in (yes, no):
            self._block._begin_binding_block()
            value = write()
            values.append(value)
            bodies.append(relax.SeqExpr([self._block._end_block()], value.var))
        chosen = values[0] if bool(condition.array) else values[1]
        return Value(self.emit(relax.If(condition.var, *bodies), "chosen"), chosen.array)

    def taken(self, condition, taken, other):
        """An `If` by which of its branches a run takes."""
        branches = (taken, other) if condition.array else (other, taken)
        return self.branch(condition, *branches)

    def add(self, func, name):
        """Add a PrimFunc to the module."""
        return self._block.add_func(func, name)

    def module(self):
        """The module as far as it is written."""
        mod = self._block.finalize()
        passes = []
        if self.planned and self.accept_overlaps:
            passes.append(AcceptOverlaps())
        if self.planned and self.accept_offsets:
            passes.append(AcceptOffsets())
        return tvm.transform.Sequential(passes)(mod)
