"""`write-live`: bytes are overwritten that a live value still reads."""

from .kernels import UNSAFE_IN_PLACE
from .packed import COPY, SAME
from .registry import structure

_BOTH = "introduced", "planned"


@structure("write-live", "wrong", *_BOTH)
def operand_is_read_after_its_overwriting(b, fault):
    """In the twin the same kernel reads it before."""

    def main(given, other):
        made = b.chain(given)
        read, written = b.ordered(
            fault,
            lambda: b.call("sum", made, other),
            lambda: b.call(b.unary(), made, into=made),
        )
        return b.call("difference", b.chain(written), read)

    b.main(main, dataflow=not b.planned and b.either())


@structure("write-live", "wrong", *_BOTH)
def view_is_read_after_its_source_is_overwritten(b, fault):
    def main(given):
        made = b.chain(given)
        viewed = b.flat(made)
        read, written = b.ordered(
            fault,
            lambda: b.chain(viewed),
            lambda: b.call(b.unary(), made, into=made),
        )
        return b.call("sum", b.flat(written), read)

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def source_is_read_after_a_view_is_overwritten(b, fault):
    """Half of it is."""
    rows = b.shape[0] // 2

    def main(given, half):
        made = b.chain(given)
        place = b.view(made, half.shape, b.either() * (b.size // 2), name="place")
        read, written = b.ordered(
            fault,
            lambda: b.chain(made),
            lambda: b.call(b.unary(), half, into=place),
        )
        return read, b.chain(written)

    b.main(main, half=((rows, *b.shape[1:]), b.dtype))


@structure("write-live", "wrong", *_BOTH)
def field_of_a_tuple_is_read_after_its_overwriting(b, fault):
    def main(given, other):
        made, beside = b.chain(given), b.chain(other)
        pair = b.pair(beside, made)
        field = b.field(pair, 1)
        read, written = b.ordered(
            fault,
            lambda: b.call("difference", field, other),
            lambda: b.call(b.unary(), made, into=made),
        )
        return b.call("sum", b.call("sum", written, read), b.field(pair, 0))

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def overwriting_in_one_branch(b, fault):
    """On the other path nothing is overwritten."""

    def main(condition, given):
        made = b.chain(given)
        branches = lambda: b.call(b.unary(), made, into=made), lambda: b.chain(given)
        read, chosen = b.ordered(
            fault,
            lambda: b.call("twice", made),
            lambda: b.taken(condition, *branches),
        )
        return b.call("difference", read, chosen)

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def cast_is_read_after_its_source_is_overwritten(b, fault):
    """Or the source, after the cast is."""
    through_cast = b.either()

    def main(given, other):
        made = b.chain(given)
        cast = b.cast(made)
        target, kept = (cast, made) if through_cast else (made, cast)
        read, written = b.ordered(
            fault,
            lambda: b.call("sum", kept, other),
            lambda: b.call(b.unary(), target, into=target),
        )
        return b.call("difference", written, read)

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def extern_result_is_read_after_the_argument_is_overwritten(b, fault):
    """It is declared to be the argument; in the twin it is a copy, and declared fresh."""
    packed, declared = (SAME, "arg0") if fault else (COPY, "fresh")

    def main(given):
        made = b.chain(given)
        result = b.extern(packed, made, result=made.array, declared=declared)
        written = b.call(b.unary(), made, into=made)
        return b.call("difference", b.chain(written), result)

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def argument_is_read_after_a_function_overwrote_it(b, fault):
    """The function says that it may: its parameter is donated."""
    function = b.function(
        "overwrites", lambda taken: b.call("plus", taken, into=taken), donate=["taken"]
    )

    def main(given, other):
        made = b.chain(given)
        read, written = b.ordered(
            fault,
            lambda: b.call("difference", made, other),
            lambda: b.invoke(function, made, result=made.array + made.array.dtype.type(3)),
        )
        return b.call("sum", written, read)

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def kernel_reads_an_element_after_it_wrote_its_bytes(b, fault):
    """Which no order of the calls can mend: the twin has memory of its own for the result."""
    # To accept the overlap would make one parameter of two, and of the fault another program.
    b.noalias = b.accept_overlaps = False

    def main(given, other):
        made = b.chain(given)
        kernel = b.random.choice(UNSAFE_IN_PLACE)
        moved = b.call(kernel, made, into=made if fault else None)
        return b.call("sum", moved, other)

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def place_overlaps_one_that_was_written(b, fault):
    """Two ranges of one buffer, which lie apart in the twin."""
    rows = b.shape[0]

    def main(given, other):
        whole = b.buffer((3 * rows, *b.shape[1:]))
        overlapping = b.random.choice([1, 2, 3]) * b.size // 4
        first = b.view(whole, given.shape, 0, name="place")
        filled = b.call(b.unary(), given, into=first)
        second = b.view(whole, given.shape, overlapping if fault else b.size, name="place")
        beside = b.call(b.unary(), other, into=second)
        return b.call("sum", filled, beside)

    b.main(main)


@structure("write-live", "wrong", "introduced")
def overwritten_value_is_returned(b, fault):
    """Beside the result; the twin returns a copy that was made in time."""

    def main(given):
        made = b.chain(given)
        kept = made if fault else b.call("copy", made)
        written = b.call(b.unary(), made, into=made)
        return b.call("twice", written), kept

    b.main(main)


@structure("write-live", "wrong", *_BOTH)
def condition_is_overwritten_before_it_is_asked(b, fault):
    """A flag, written over by another one; in the twin that has memory of its own."""
    flag = ((), "bool")

    def main(given, asked, opposite):
        opposite.array[...] = not asked.array
        chosen_by = b.call("copy", asked)
        other = b.call("copy", opposite, into=chosen_by if fault else None)
        result = b.branch(chosen_by, lambda: b.call("plus", given), lambda: b.call("twice", given))
        return result, b.call("copy", other)

    b.main(main, asked=flag, opposite=flag)
