"""`noalias-overlap`: a kernel promises that its arguments do not overlap, and they do.

Each kernel reads an element before it writes its bytes, so that only the promise is wrong: LLVM,
which trusts it, moves the load behind the store. In the twin the kernel promises nothing.

TVM's code generator takes the promise of the kernel whose name comes last for that of all. So the
other kernels of these programs promise nothing, and this one's name comes last.
"""

from tvm import relax
from tvm.script import tirx as T

from tvm_aliasing.passes.drop_noalias import without_noalias

from .registry import structure
from .values import Value

#: Where LLVM does move it, with the loops unrolled and vectorized for any x86-64 processor.
_SHAPES = [(1, 8), (2, 4), (4, 4), (4, 8), (4, 16), (6, 32)]


def update_kernel(rows, columns, dtype):
    """Of `old` and `new`: `new` twice into `place`, and the sum of both into `made`."""

    @T.prim_func(private=True, s_tir=True)
    def update(
        old: T.Buffer((rows, columns), dtype),
        new: T.Buffer((rows, columns), dtype),
        place: T.Buffer((rows, columns), dtype),
        made: T.Buffer((rows, columns), dtype),
    ):
        T.func_attr({"tirx.noalias": True})
        kept = T.sblock_alloc_buffer((1,), dtype, scope="local")
        for i, j in T.grid(rows, columns):
            with T.sblock("update"):
                vi, vj = T.axis.remap("SS", [i, j])
                kept[0] = old[vi, vj]
                place[vi, vj] = new[vi, vj] + new[vi, vj]
                made[vi, vj] = kept[0] + new[vi, vj]

    return update


class _Update:
    """A program that calls that kernel."""

    def __init__(self, b, fault):
        self.b, self.fault = b, fault
        b.noalias = b.accept_overlaps = False
        b.shape = b.random.choice(_SHAPES)

    def call(self, old, new, place):
        """Its results; the first lies in `place`, a variable."""
        kernel = update_kernel(*self.b.shape, self.b.dtype)
        function = self.b.add(kernel if self.fault else without_noalias(kernel), "update")
        made = self.b.buffer()
        self.b.emit(relax.Call(function, [old.var, new.var, place.var, made.var]), "_")
        return (
            Value(self.b.emit(place.var, "lv"), new.array + new.array),
            Value(self.b.emit(made.var, "lv"), old.array + new.array),
        )


@structure("noalias-overlap", "wrong", "planned")
def one_tensor_is_read_and_written(b, fault):
    update = _Update(b, fault)

    def main(given, other):
        made = b.chain(given)
        return update.call(made, b.chain(other), made)

    b.main(main)


@structure("noalias-overlap", "wrong", "planned")
def view_of_a_tensor_is_written(b, fault):
    """Or the view is read, and the tensor written."""
    update = _Update(b, fault)

    def main(given, other):
        made = b.chain(given)
        pair = made, b.view(b.flat(made), b.shape)
        old, place = pair if b.either() else reversed(pair)
        first, second = update.call(old, other, place)
        return b.call(b.unary(), first), second

    b.main(main)


@structure("noalias-overlap", "wrong", "planned")
def tensor_at_the_place_of_a_dead_one(b, fault):
    """Another tensor of the same storage, which is free once the kernel has run."""
    update = _Update(b, fault)

    def main(given, other):
        storage = b.storage(b.size + 64 * b.random.randrange(3))
        made = b.call(b.unary(), given, into=b.tensor(storage))
        first, second = update.call(made, b.chain(other), b.tensor(storage))
        return b.chain(first), second

    b.main(main)


@structure("noalias-overlap", "wrong", "planned")
def field_of_a_tuple_is_read(b, fault):
    update = _Update(b, fault)

    def main(given, other):
        made, beside = b.chain(given), b.chain(other)
        field = b.field(b.pair(beside, made), 1)
        return update.call(field, beside, made)

    b.main(main)


@structure("noalias-overlap", "wrong", "planned")
def cast_of_a_tensor_is_read(b, fault):
    update = _Update(b, fault)

    def main(given, other):
        made = b.chain(given)
        first, second = update.call(b.cast(made), other, made)
        return first, b.chain(second)

    b.main(main)


@structure("noalias-overlap", "wrong", "planned")
def overlap_in_one_branch(b, fault):
    update = _Update(b, fault)

    def main(condition, given, other):
        made = b.chain(given)
        chosen = b.taken(
            condition,
            lambda: update.call(made, other, made)[1],
            lambda: b.call("difference", made, other),
        )
        return b.chain(chosen)

    b.main(main)


@structure("noalias-overlap", "wrong", "planned")
def donated_parameter_is_read_and_written(b, fault):
    update = _Update(b, fault)

    def main(given, other):
        first, second = update.call(given, b.chain(other), b.view(b.flat(given), b.shape))
        return b.call("difference", second, first)

    b.main(main, donate=["given"])


@structure("noalias-overlap", "wrong", "planned")
def two_views_of_one_range(b, fault):
    """Of a buffer of bytes, larger than that."""
    update = _Update(b, fault)

    def main(given, other):
        size = b.size + 64 * b.random.randrange(1, 4)
        whole = b.buffer((size,), "uint8")
        place = b.view(whole, b.shape, dtype=b.dtype, name="place")
        filled = b.call(b.unary(), given, into=place)
        again = b.view(whole, b.shape, dtype=b.dtype, array=filled.array)
        first, second = update.call(again, other, filled)
        return b.chain(first), second

    b.main(main)
