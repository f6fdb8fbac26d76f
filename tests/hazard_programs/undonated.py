"""`undonated-write`: a parameter or a constant is overwritten that nobody gave up."""

import numpy as np
from tvm import relax

from .packed import COPY, SAME
from .registry import structure
from .values import Value

_BOTH = "introduced", "planned"


def _donated(b, fault, *names):
    """What the twin declares in the function itself, or its caller to `verify`."""
    in_the_module = b.either()
    if fault:
        return ()
    if in_the_module:
        return names
    b.options["donate"] = list(names)
    return ()


def _constant(b):
    array = np.arange(1, 1 + np.prod(b.shape)).reshape(b.shape).astype(b.dtype)
    return Value(relax.const(array, b.dtype), array)


@structure("undonated-write", "wrong", *_BOTH)
def parameter_is_overwritten(b, fault):
    def main(given, other):
        written = b.call(b.binary(), given, other, into=given)
        return b.chain(written)

    b.main(main, donate=_donated(b, fault, "given"), dataflow=not b.planned and b.either())


@structure("undonated-write", "wrong", *_BOTH)
def rows_of_a_parameter_are_overwritten(b, fault):
    """As a cache is updated."""
    upper = b.either()
    rows = slice(b.shape[0] // 2, None) if upper else slice(b.shape[0] // 2)

    def main(given, half):
        place = b.view(given, half.shape, upper * (b.size // 2), name="place")
        updated = given.array.copy()
        updated[rows] = b.call(b.unary(), half, into=place).array
        return b.chain(b.named(given.var, updated))

    half = (b.shape[0] // 2, *b.shape[1:]), b.dtype
    b.main(main, donate=_donated(b, fault, "given"), half=half)


@structure("undonated-write", "wrong", *_BOTH)
def constant_is_overwritten(b, fault):
    """It is wrong for the next caller. The twin overwrites a copy."""

    def main(given):
        constant = _constant(b)
        place = constant if fault else b.call("copy", constant)
        return b.chain(b.call("sum", given, place, into=place))

    b.main(main)


@structure("undonated-write", "wrong", *_BOTH)
def field_of_a_tuple_parameter_is_overwritten(b, fault):
    index = b.either() * 1

    def main(given):
        field, other = b.field(given, index), b.field(given, 1 - index)
        written = b.call(b.unary(), field, into=field)
        return b.call("difference", written, other)

    form = b.shape, b.dtype
    b.main(main, donate=_donated(b, fault, "given"), given=[form, form])


@structure("undonated-write", "wrong", *_BOTH)
def parameter_is_overwritten_in_one_branch(b, fault):
    def main(condition, given, other):
        chosen = b.taken(
            condition,
            lambda: b.call("twice", given, into=given),
            lambda: b.call("plus", other),
        )
        return b.chain(chosen)

    b.main(main, donate=_donated(b, fault, "given"))


@structure("undonated-write", "wrong", *_BOTH)
def parameter_is_given_to_a_function_that_overwrites(b, fault):
    """That one declares it; the caller was given no right to pass on."""
    function = b.function(
        "overwrites", lambda taken: b.call("plus", taken, into=taken), donate=["taken"]
    )

    def main(given, other):
        made = b.chain(other)
        written = b.invoke(function, given, result=given.array + given.array.dtype.type(3))
        return b.call(b.binary(), written, made)

    b.main(main, donate=_donated(b, fault, "given"))


@structure("undonated-write", "wrong", *_BOTH)
def function_overwrites_what_it_does_not_declare(b, fault):
    """Its caller goes on to read the argument; that of the twin knows better."""
    function = b.function(
        "overwrites",
        lambda taken: b.call("plus", taken, into=taken),
        donate=[] if fault else ["taken"],
    )

    def main(given, other):
        made = b.chain(given)
        read, written = b.ordered(
            fault,
            lambda: b.call("sum", made, other),
            lambda: b.invoke(function, made, result=made.array + made.array.dtype.type(3)),
        )
        return b.call("difference", written, read)

    b.main(main)


@structure("undonated-write", "wrong", *_BOTH)
def parameter_is_overwritten_through_another_name(b, fault):
    """A reshape, a view or a cast of it."""

    def main(given, other):
        place = b.cast(b.flat(given)) if b.either() else b.flat(b.cast(given))
        written = b.call(b.unary(), b.flat(other), into=place)
        return b.chain(written)

    b.main(main, donate=_donated(b, fault, "given"))


@structure("undonated-write", "wrong", *_BOTH)
def parameter_comes_back_from_an_extern_function(b, fault):
    """The twin's function returns a copy."""
    packed, declared = (SAME, "arg0") if fault else (COPY, "fresh")

    def main(given):
        result = b.extern(packed, given, result=given.array, declared=declared)
        return b.chain(b.call(b.unary(), result, into=result))

    b.main(main)


@structure("undonated-write", "wrong", *_BOTH)
def another_parameter_is_donated(b, fault):
    def main(given, other):
        written = b.call("difference", given, other, into=given)
        return b.call("sum", written, other)

    b.main(main, donate=["other" if fault else "given"])
