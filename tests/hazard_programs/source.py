"""Source programs, and what passes make of them."""

import itertools
from contextlib import nullcontext
from math import prod

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.relax import op

from tvm_aliasing.approaches import approach
from tvm_aliasing.attributes import EXTERN_ALIAS
from tvm_aliasing.options import pass_options

from .values import Value, arrays_of, expression_of


class Source:
    """A source program of TVM's operators, with what NumPy makes of it beside.

    Parameters
    ----------
    b : Builder
        What is random comes from it; inputs and expected results go there.
    """

    def __init__(self, b):
        self._b, self._block = b, relax.BlockBuilder()

    def main(self, body, *, dataflow=True, vdevices=(), externs=None, symbolic=False, **types):
        """Write the program; `body` is called with a value for each of its parameters.

        `symbolic` is whether the first size of each has a name in place of a number.
        """
        if vdevices:
            mod = tvm.IRModule({}, global_infos={"vdevice": list(vdevices)})
            self._block = relax.BlockBuilder(mod)
        given = self._b.parameters(body, types)
        if symbolic:
            shape = [tirx.Var("n", "int64"), *self._b.shape[1:]]
            ty = relax.TensorType(shape, self._b.dtype)
            given = [Value(relax.Var(value.var.name, ty), value.array) for value in given]
        attrs = {EXTERN_ALIAS: externs} if externs else {}
        with self._block.function("main", [value.var for value in given], attrs=attrs):
            with self._block.dataflow() if dataflow else nullcontext():
                result = body(*given)
                output = expression_of(result)
                if dataflow:
                    output = self._block.emit_output(output)
            self._block.emit_func_output(output)
        self._b.expected = arrays_of(result)

    def stage(self, name, *, upto="planned", planner="token", fused=False, accepted=True, **more):
        """What an approach has made of it after a stage.

        `accepted` is whether its kernels take what overlaps, or begins inside a storage.
        """
        options = pass_options(approach(name), "llvm", planner=planner, fused=fused, **more)
        left_out = () if accepted else ("AcceptOverlaps", "AcceptOffsets")
        passes = []
        for stage, its_passes in approach(name).stages(options).items():
            passes += [made for made in its_passes if made.info.name not in left_out]
            if stage == upto:
                break
        with options.target:
            return tvm.transform.Sequential(passes)(self._block.finalize())

    def _emit(self, expression, array):
        return Value(self._block.emit(expression), array)

    def unary(self, value):
        """A value plus, minus or times a number."""
        relaxed, numpy = self._b.random.choice(
            [(op.add, np.add), (op.subtract, np.subtract), (op.multiply, np.multiply)]
        )
        return self._with_number(relaxed, numpy, value, self._b.random.randrange(2, 6))

    def _with_number(self, relaxed, numpy, value, number):
        array = numpy(value.array, value.array.dtype.type(number))
        return self._emit(relaxed(value.var, relax.const(number, value.dtype)), array)

    def difference(self, one, other):
        """The difference of two values."""
        return self._emit(op.subtract(one.var, other.var), one.array - other.array)

    def binary(self, one, other):
        """The sum or the difference of two values."""
        if self._b.either():
            return self.difference(one, other)
        return self._emit(op.add(one.var, other.var), one.array + other.array)

    def chain(self, value, count=None):
        """A value computed from another in a few steps."""
        for _ in range(count or self._b.random.randrange(1, 4)):
            value = self.unary(value)
        return value

    def several(self, *values, count):
        """What is computed from values in `count` steps that use each other's results.

        A value for each shape among them. The weights of results differ, so that nothing cancels
        out and a lost one is seen in the end.
        """
        made = {}
        for value in values:
            made.setdefault(value.shape, []).append(self.unary(value))
        for alike in made.values():
            alike.append(self.unary(alike[0]))
        for _ in range(count):
            alike = self._b.random.choice(list(made.values()))
            one, other = self._b.random.sample(alike, 2)
            alike.append(self.binary(self._times(one, self._b.random.choice([2, 3])), other))
        results = [self._weighted(alike) for alike in made.values()]
        return results[0] if len(results) == 1 else tuple(results)

    def _weighted(self, values):
        result = values[0]
        for value, weight in zip(values[1:], itertools.cycle((5, 7, 11, 13, 17, 19, 23))):
            result = self.difference(self._times(value, weight), result)
        return result

    def _times(self, value, number):
        return self._with_number(op.multiply, np.multiply, value, number)

    def flat(self, value):
        """A value as a vector."""
        return self._shaped(value, (prod(value.shape),))

    def reshaped(self, value):
        """A value in the program's shape."""
        return self._shaped(value, self._b.shape)

    def _shaped(self, value, shape):
        return self._emit(op.reshape(value.var, shape), value.array.reshape(shape))

    def constant(self):
        """A constant of the program's shape and dtype."""
        array = self._b.numbers(self._b.shape, self._b.dtype)
        return Value(relax.const(array, self._b.dtype), array)

    def extern(self, packed, value):
        """What a packed function returns: its argument, or a copy."""
        return self._emit(op.call_pure_packed(packed, value.var, ty_args=value.var.ty), value.array)

    def branch(self, condition, yes, no):
        """An `If`; each branch is a function that writes it and returns its value."""
        bodies, values = [], []
        for write in (yes, no):
            self._block._begin_binding_block()
            values.append(write())
            bodies.append(relax.SeqExpr([self._block._end_block()], values[-1].var))
        chosen = values[0] if condition.array else values[1]
        return self._emit(relax.If(condition.var, *bodies), chosen.array)
