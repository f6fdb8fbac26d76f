"""`undeclared-output-alias`: an output aliases what neither policy nor source says.

Each twin either returns a copy, or says it: by the policy that `verify` is told, or in the module.
"""

import numpy as np
from tvm import relax

from tvm_aliasing.attributes import SOURCE_ALIAS

from .packed import COPY, SAME
from .registry import structure

_BOTH = "introduced", "planned"


class _Cure:
    """What a twin does about an output: a copy, a policy, or a word of the source program."""

    def __init__(self, b, fault, policy, *words):
        chosen = b.random.choice(["copy", "policy", "source"])
        self.b, self.copies, self.attrs = b, not fault and chosen == "copy", {}
        if not fault and chosen == "policy":
            b.options["outputs"] = policy
        if not fault and chosen == "source":
            self.attrs = {SOURCE_ALIAS: list(words)}

    def output(self, value):
        return self.b.call("copy", value) if self.copies else value


@structure("undeclared-output-alias", "wrong", *_BOTH)
def view_of_a_parameter_is_returned(b, fault):
    cure = _Cure(b, fault, "alias_params", "0=param 0")

    def main(given, other):
        return cure.output(b.flat(given)), b.chain(other)

    b.main(main, attrs=cure.attrs)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def rows_of_a_parameter_are_returned(b, fault):
    cure = _Cure(b, fault, "alias_params", "1=param 1", "1=part")

    def main(given, other):
        begin = b.either() * (b.size // 2)
        rows = b.view(other, (b.shape[0] // 2, *b.shape[1:]), begin)
        return b.chain(given), cure.output(rows)

    b.main(main, attrs=cure.attrs)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def constant_is_returned(b, fault):
    """Itself or through a view: no policy allows it."""
    b.options["outputs"] = b.random.choice(["copy", "share", "view", "alias_params"])
    array = b.numbers(b.shape, b.dtype)
    through_view = b.either()

    def main(given):
        constant = b.named(relax.const(array, b.dtype), array)
        kept = b.flat(constant) if through_view else constant
        return b.chain(given), kept if fault else b.call("copy", kept)

    b.main(main)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def value_and_its_view_are_returned(b, fault):
    cure = _Cure(b, fault, "share", "1=0")

    def main(given):
        made = b.chain(given)
        return made, cure.output(b.flat(made))

    b.main(main, attrs=cure.attrs)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def two_views_of_one_value_are_returned(b, fault):
    cure = _Cure(b, fault, "share", "2=0")

    def main(given, other):
        made = b.chain(given)
        second = b.view(made, tuple(reversed(made.shape)))
        return b.flat(made), b.chain(other), cure.output(second)

    b.main(main, attrs=cure.attrs)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def one_branch_gives_a_view_of_a_parameter(b, fault):
    """What one path alone says is not the meaning of the program: the twin copies."""

    def main(condition, given):
        def kept():
            return b.flat(given) if fault else b.call("copy", b.flat(given))

        return b.taken(condition, kept, lambda: b.flat(b.chain(given)))

    b.main(main)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def function_returns_a_view_of_its_parameter(b, fault):
    """And its caller the result. The twin's function copies."""
    flat = (int(np.prod(b.shape)),)

    def returned(taken):
        return b.flat(taken) if fault else b.call("copy", b.flat(taken))

    function = b.function("returned", returned)

    def main(given, other):
        made = b.chain(other)
        return made, b.invoke(function, given, result=given.array.reshape(flat))

    b.main(main)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def extern_function_returns_its_argument(b, fault):
    packed, declared = (SAME, "arg0") if fault else (COPY, "fresh")

    def main(given, other):
        result = b.extern(packed, given, result=given.array, declared=declared)
        return b.chain(other), result

    b.main(main)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def output_deep_in_a_tuple_is_a_view_of_another(b, fault):
    cure = _Cure(b, fault, "share", "2=1")

    def main(given, other):
        made = b.chain(given)
        view = cure.output(b.flat(made))
        return b.chain(other), (made, (view, b.chain(other)))

    b.main(main, attrs=cure.attrs)


@structure("undeclared-output-alias", "wrong", *_BOTH)
def source_says_it_of_another_output(b, fault):
    """That of output 1 is said, that of output 2 is not; the twin copies it."""

    def main(given, other):
        made = b.chain(given)
        third = b.flat(other)
        return made, b.flat(made), third if fault else b.call("copy", third)

    b.main(main, attrs={SOURCE_ALIAS: ["1=0"]})


@structure("undeclared-output-alias", "wrong", *_BOTH)
def policy_allows_less(b, fault):
    """Outputs may share with each other, and this one shares with a parameter."""

    def main(given):
        made = b.chain(given)
        return made, b.flat(made), b.flat(given)

    b.options["outputs"] = b.random.choice(["share", "view"]) if fault else "alias_params"
    b.main(main)
