"""`overlap`: two live tensors lie at overlapping bytes of one storage.

In each twin the second lies elsewhere in it, or the first is read for the last time before.
"""

from .registry import structure


class _Places:
    """A storage with room for two tensors; the second lies over the first, or behind it."""

    def __init__(self, b, fault, over=0):
        self.b, self.begin = b, over if fault else b.size
        self.storage = b.storage(2 * b.size)

    def first(self):
        return self.b.tensor(self.storage)

    def second(self, shape=None, dtype=None):
        return self.b.tensor(self.storage, self.begin, shape, dtype)


@structure("overlap", "wrong", "planned")
def two_tensors_begin_with_one_byte(b, fault):
    def main(given, other):
        places = _Places(b, fault)
        first = b.call(b.unary(), given, into=places.first())
        second = b.call(b.unary(), b.chain(other), into=places.second())
        return b.call("sum", first, second)

    b.main(main)


@structure("overlap", "wrong", "planned")
def the_end_of_one_is_the_begin_of_another(b, fault):
    over = b.size // 4 * b.random.randrange(1, 4)

    def main(given, other):
        places = _Places(b, fault, over)
        first = b.call(b.unary(), given, into=places.first())
        second = b.call("copy", other, into=places.second())
        return b.call("difference", b.chain(second), first)

    b.main(main)


@structure("overlap", "wrong", "planned")
def place_is_given_away_while_a_view_is_read(b, fault):
    """After the last use of the tensor by its own name."""

    def main(given, other):
        places = _Places(b, fault)
        first = b.call(b.unary(), given, into=places.first())
        view = b.flat(first)
        used = b.call("twice", first)
        second = b.call(b.unary(), other, into=places.second())
        return b.call("sum", b.flat(used), b.call("difference", view, b.flat(second)))

    b.main(main)


@structure("overlap", "wrong", "planned")
def place_is_given_away_in_one_branch(b, fault):
    """What lies there is read after it."""

    def main(condition, given, other):
        places = _Places(b, fault)
        first = b.call(b.unary(), given, into=places.first())
        chosen = b.taken(
            condition,
            lambda: b.chain(b.call("twice", other, into=places.second())),
            lambda: b.chain(other),
        )
        return b.call("difference", chosen, first)

    b.main(main)


@structure("overlap", "wrong", "planned")
def two_tensors_in_a_branch(b, fault):
    """In either of them, of a storage that was allocated before."""

    def main(condition, given, other):
        places = _Places(b, fault)

        def branch():
            first = b.call(b.unary(), given, into=places.first())
            second = b.call(b.unary(), other, into=places.second())
            return b.call(b.binary(), b.chain(first), b.chain(second))

        return b.branch(condition, branch, branch)

    b.main(main)


@structure("overlap", "wrong", "planned")
def place_of_a_field_of_a_tuple_is_given_away(b, fault):
    def main(given, other):
        places = _Places(b, fault)
        first = b.call(b.unary(), given, into=places.first())
        pair = b.pair(first, b.chain(other))
        field = b.field(pair, 0)
        second = b.call(b.unary(), other, into=places.second())
        return b.call("sum", b.call("difference", second, field), b.field(pair, 1))

    b.main(main)


@structure("overlap", "wrong", "planned")
def two_tensors_of_a_function(b, fault):
    """One that is called: it has a storage of its own."""

    def computed(taken, beside):
        places = _Places(b, fault)
        first = b.call("plus", taken, into=places.first())
        second = b.call("twice", beside, into=places.second())
        return b.call("difference", first, second)

    function = b.function("computed", computed)

    def main(given, other):
        number = given.array.dtype.type
        result = (given.array + number(3)) - other.array * number(2)
        return b.chain(b.invoke(function, given, other, result=result))

    b.main(main)


@structure("overlap", "wrong", "planned")
def tensors_of_other_dtypes(b, fault):
    """Bytes of the second lie in the middle of the first."""

    def main(given, marks):
        places = _Places(b, fault, over=64 * b.random.randrange(b.size // 64))
        first = b.call(b.unary(), given, into=places.first())
        second = b.call("copy", marks, into=places.second(marks.shape, "uint8"))
        return b.chain(first), b.call("copy", second)

    b.main(main, marks=((64,), "uint8"))


@structure("overlap", "wrong", "planned")
def first_is_read_once_more(b, fault):
    """In the twin its place is free: it is read for the last time before."""

    def main(given, other):
        storage = b.storage(b.size)
        first = b.call(b.unary(), given, into=b.tensor(storage))
        read, second = b.ordered(
            fault,
            lambda: b.call("sum", first, other),
            lambda: b.call(b.unary(), other, into=b.tensor(storage)),
        )
        return b.call("difference", b.chain(second), read)

    b.main(main)
