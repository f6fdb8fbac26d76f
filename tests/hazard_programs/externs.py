"""`extern-alias`: the result of a packed function is its argument, and is taken for fresh.

The function is the same in a hazard and its twin, but for what it returns: its argument, of which
nothing is declared; or a copy, which is declared to be `fresh`.
"""

from .packed import BOTH, BOTH_COPIES, COPY, SAME, SECOND, SECOND_COPY
from .registry import structure

_BOTH = "introduced", "planned"


def _same(b, fault, value):
    """The result of the function of one argument."""
    packed, declared = (SAME, None) if fault else (COPY, "fresh")
    return b.extern(packed, value, result=value.array, declared=declared)


def _reused(b, given):
    """A value, and a tensor for another one at the place of it."""
    storage = b.storage(b.size)
    return b.call(b.unary(), given, into=b.tensor(storage)), b.tensor(storage)


@structure("extern-alias", "wrong", "planned")
def storage_of_the_argument_is_given_away(b, fault):
    def main(given, other):
        made, place = _reused(b, given)
        result = _same(b, fault, made)
        return b.call("difference", b.call(b.unary(), other, into=place), result)

    b.main(main)


@structure("extern-alias", "wrong", *_BOTH)
def argument_is_overwritten(b, fault):
    """By a kernel that runs in place."""

    def main(given, other):
        made = b.chain(given)
        result = _same(b, fault, made)
        written = b.call("sum", made, other, into=made)
        return b.call("difference", b.chain(written), result)

    b.main(main)


@structure("extern-alias", "wrong", *_BOTH)
def result_is_overwritten(b, fault):
    """And the argument read."""

    def main(given, other):
        made = b.chain(given)
        result = _same(b, fault, made)
        written = b.call(b.unary(), result, into=result)
        return b.call("sum", b.call("difference", written, made), other)

    b.main(main)


@structure("extern-alias", "wrong", "planned")
def result_is_the_second_argument(b, fault):
    def main(given, other):
        made, place = _reused(b, other)
        packed, declared = (SECOND, None) if fault else (SECOND_COPY, "fresh")
        result = b.extern(packed, given, made, result=made.array, declared=declared)
        return b.call("difference", b.call(b.unary(), given, into=place), result)

    b.main(main)


@structure("extern-alias", "wrong", "planned")
def results_in_a_tuple(b, fault):
    """Each is the other argument."""

    def main(given, other):
        made, place = _reused(b, given)
        beside = b.chain(other)
        packed, declared = (BOTH, None) if fault else (BOTH_COPIES, "fresh")
        result = b.extern_pair(packed, made, beside, declared=declared)
        field = b.field(result, 1)
        written = b.call(b.unary(), other, into=place)
        return b.call("sum", b.call("difference", written, field), b.field(result, 0))

    b.main(main)


@structure("extern-alias", "wrong", "planned")
def result_of_a_result(b, fault):
    def main(given, other):
        made, place = _reused(b, given)
        result = _same(b, fault, _same(b, fault, made))
        return b.call("difference", b.call(b.unary(), other, into=place), result)

    b.main(main)


@structure("extern-alias", "wrong", *_BOTH)
def result_of_a_view(b, fault):
    def main(given, other):
        made = b.chain(given)
        result = _same(b, fault, b.flat(made))
        written = b.call("sum", made, other, into=made)
        return b.call("difference", b.flat(written), result)

    b.main(main)


@structure("extern-alias", "wrong", "planned")
def result_in_one_branch(b, fault):
    def main(condition, given, other):
        made, place = _reused(b, given)
        result = b.taken(condition, lambda: _same(b, fault, made), lambda: b.chain(other))
        return b.call("difference", b.call(b.unary(), other, into=place), result)

    b.main(main)


@structure("extern-alias", "wrong", *_BOTH)
def function_returns_the_result(b, fault):
    """It calls the packed function, and its caller overwrites the argument."""
    function = b.function("asked", lambda taken: _same(b, fault, taken))

    def main(given, other):
        made = b.chain(given)
        result = b.invoke(function, made, result=made.array)
        written = b.call("sum", made, other, into=made)
        return b.call("difference", b.chain(written), result)

    b.main(main)


@structure("extern-alias", "wrong", "planned")
def result_is_returned(b, fault):
    """As an output, after its place was given away."""

    def main(given, other):
        made, place = _reused(b, given)
        result = _same(b, fault, made)
        return b.chain(b.call(b.unary(), other, into=place)), result

    b.main(main)
