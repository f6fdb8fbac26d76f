"""Small random kernels, and an interpreter that says by definition whether overlay is safe.

The interpreter lists every load and store of a kernel with the time at which it happens. Iterations
of a serial loop follow one another; those of any other loop are in no order.
"""

import random
from itertools import product

from tvm import ir, tirx

COUNT = 24  # elements of every buffer
SHAPES = [(24,), (4, 6), (6, 4), (2, 3, 4), (1, 24), (12, 2)]
KINDS = [tirx.ForKind.SERIAL, tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED]
INT64 = "int64"


def is_safe(kernel, source, output):
    """Whether every load of a byte of one buffer is before each store to it in the other.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
        Of loops, guards, stores and blocks without iterators, in numbers only.
    source, output : Var
        Buffers of as many elements.
    """
    events = []
    _run(kernel.body, {}, (), events)
    loads = [
        (at, when) for buffer, at, when, stores in events if not stores and buffer.same_as(source)
    ]
    stores = [
        (at, when) for buffer, at, when, stores in events if stores and buffer.same_as(output)
    ]
    return all(
        _before(loaded, stored) for (at, loaded), (to, stored) in product(loads, stores) if at == to
    )


def _before(first, second):
    for (ordered, a), (_, b) in zip(first, second):
        if a != b:
            return ordered and a < b
    raise AssertionError("two events at one time")


def _run(statement, env, when, events):
    match statement:
        case tirx.SeqStmt():
            for i, part in enumerate(statement.seq):
                _run(part, env, (*when, (True, i)), events)
        case tirx.For():
            begin, extent = _value(statement.min, env), _value(statement.extent, env)
            ordered = statement.kind == tirx.ForKind.SERIAL
            for i in range(begin, begin + extent):
                inner = {**env, statement.loop_var: i}
                _run(statement.body, inner, (*when, (ordered, i)), events)
        case tirx.IfThenElse():
            _see_loads(statement.condition, env, (*when, (True, 0)), events)
            if _value(statement.condition, env):
                _run(statement.then_case, env, (*when, (True, 1)), events)
            elif statement.else_case is not None:
                _run(statement.else_case, env, (*when, (True, 1)), events)
        case tirx.BufferStore():
            _see_loads(statement.value, env, (*when, (True, 0)), events)
            address = _address(statement.buffer, statement.indices, env)
            events.append((statement.buffer, address, (*when, (True, 1)), True))
        case tirx.AllocBuffer():
            pass
        case _:
            raise TypeError(type(statement))


def _see_loads(expression, env, when, events):
    if isinstance(expression, ir.TensorLoad):
        address = _address(expression.source, expression.indices, env)
        events.append((expression.source, address, when, False))
    elif hasattr(expression, "a"):
        _see_loads(expression.a, env, when, events)
        _see_loads(expression.b, env, when, events)


def _address(buffer, indices, env):
    address = 0
    for extent, index in zip(buffer.ty.shape, indices):
        value = _value(index, env)
        assert 0 <= value < int(extent)
        address = address * int(extent) + value
    return address


_OPERATIONS = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Min: min,
    tirx.Max: max,
    tirx.LT: lambda a, b: a < b,
}


def _value(expression, env):
    if isinstance(expression, tirx.IntImm):
        return expression.value
    if isinstance(expression, ir.Var):
        return env[expression]
    return _OPERATIONS[type(expression)](_value(expression.a, env), _value(expression.b, env))


def random_kernel(seed, kinds=KINDS):
    """A kernel of one to four statements that reads `x` and `z` and writes `y`."""
    return _Generator(random.Random(seed), kinds).kernel()


class _Generator:
    def __init__(self, rng, kinds):
        self.rng = rng
        self.kinds = kinds
        self.names = 0

    def kernel(self):
        shapes = [self.rng.choice(SHAPES) for _ in range(3)]
        if self.rng.random() < 0.6:
            shapes = [shapes[0]] * 3
        x, z, y = (
            tirx.decl_buffer([_int(e) for e in shape], "float32", name)
            for shape, name in zip(shapes, "xzy")
        )
        scratch = tirx.decl_buffer([_int(COUNT)], "float32", "t")
        self.inputs, self.output, self.scratch = [x, z], y, scratch
        outer, rows = self.loops(self.rng.choice([1, 1, 2, 4, 6, 12]))
        parts = [self.nest(outer, rows) for _ in range(self.rng.choice([1, 1, 2, 2, 3]))]
        parts.append(self.nest(outer, rows, self.output))
        self.rng.shuffle(parts)
        body = _wrap(outer, tirx.SeqStmt(parts) if len(parts) > 1 else parts[0])
        rows, flat = self.loops(COUNT)
        cleared = _wrap(rows, tirx.BufferStore(scratch, tirx.const(0, "float32"), [flat]))
        body = tirx.SeqStmt([tirx.AllocBuffer(scratch), cleared, body])
        return tirx.PrimFunc([x, z, y], body)

    def loops(self, extent):
        """Loops whose extents make up a product, and the flat index that they run through."""
        loops, flat = [], _int(0)
        while extent > 1:
            factor = self.rng.choice([f for f in range(2, extent + 1) if extent % f == 0])
            extent //= factor
            self.names += 1
            begin = self.rng.choice([0, 0, 0, 1])
            var = tirx.Var(f"i{self.names}", INT64)
            loops.append((var, begin, factor, self.rng.choice(self.kinds)))
            flat = flat * factor + (var - begin if begin else var)
        return loops, flat

    def nest(self, outer, rows, target=None):
        """One store in loops of its own below the outer ones."""
        extent = COUNT
        for _, _, factor, _ in outer:
            extent //= factor
        loops, within = self.loops(self.rng.choice([extent, extent, extent, 1]))
        width = extent
        order = self.rng.random()
        flat = rows * width + within if order < 0.8 else within * (COUNT // width) + rows
        if target is None:
            target = self.rng.choice([self.output, self.scratch, self.scratch])
        value = self.load(self.rng.choice(self.inputs), flat)
        for _ in range(self.rng.choice([0, 0, 1])):
            value = value + self.load(self.rng.choice([*self.inputs, self.scratch]), flat)
        store = tirx.BufferStore(target, value, self.indices(target, flat, plain=0.8))
        if self.rng.random() < 0.1:
            store = tirx.IfThenElse(flat < self.rng.randrange(COUNT), store, None)
        return _wrap(loops, store)

    def load(self, buffer, flat):
        return tirx.BufferLoad(buffer, self.indices(buffer, flat, plain=0.7))

    def indices(self, buffer, flat, plain):
        if self.rng.random() > plain:
            flat = self.rng.choice(
                [
                    lambda f: COUNT - 1 - f,
                    lambda f: tirx.floormod(f + self.rng.randrange(1, COUNT), COUNT),
                    lambda f: tirx.min(f + 1, COUNT - 1),
                    lambda f: tirx.max(f - 1, 0),
                    lambda f: tirx.floormod(f * self.rng.choice([5, 7]), COUNT),
                    lambda f: tirx.floordiv(f, 6) * 6,
                    lambda f: tirx.floormod(f, 6) * 4 + tirx.floordiv(f, 6),
                    lambda f: tirx.floordiv(f, 4) * 4 + 3 - tirx.floormod(f, 4),
                    lambda f: tirx.floordiv(f, 4) * 4 + tirx.floormod(f, 4),
                    lambda f: tirx.floordiv(COUNT - 1 - f, 6) * 6 + tirx.floormod(f, 6),
                    lambda f: tirx.floormod(f, 12) + tirx.floordiv(f, 12) * 12,
                ]
            )(flat)
        indices = []
        for extent in reversed([int(e) for e in buffer.ty.shape]):
            indices.insert(0, tirx.floormod(flat, extent))
            flat = tirx.floordiv(flat, extent)
        return indices


def _wrap(loops, body):
    for var, begin, extent, kind in reversed(loops):
        body = tirx.For(var, _int(begin), _int(extent), kind, body)
    return body


def _int(value):
    return tirx.const(value, INT64)
