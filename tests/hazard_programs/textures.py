"""`nonflat-elision`: a reshape is elided where it would have to move data.

No run on a CPU can show it: all its memory is flat. In each twin a kernel runs.
"""

from tvm import te

from .registry import structure
from .scopes import Scopes


@structure("nonflat-elision", "", "planned", "introduced")
def parameter_is_reshaped(b, fault):
    scopes = Scopes(b)

    def main(given):
        flat = scopes.flattened(given, fault)
        return b.call(b.unary(), flat) if not b.planned else scopes.made(flat)

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def tensor_is_reshaped(b, fault):
    scopes = Scopes(b)

    def main(given):
        made = scopes.made(given)
        return scopes.made(scopes.flattened(made, fault))

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def storage_alone_says_the_scope(b, fault):
    """The types of its tensors say nothing, as those of our planners' do not."""
    scopes = Scopes(b, typed=False)

    def main(given):
        made = scopes.made(given)
        return scopes.made(scopes.flattened(made, fault))

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def reshape_behind_other_names(b, fault):
    """A cast and a tuple stand between the texture and what is elided."""
    scopes = Scopes(b)

    def main(given):
        made = scopes.made(given)
        pair = b.pair(b.cast(made), given)
        return scopes.made(scopes.flattened(b.field(pair, 0), fault))

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def reshape_in_one_branch(b, fault):
    """In the other one a kernel runs."""
    scopes = Scopes(b)

    def main(condition, given):
        made = scopes.made(given)
        first = b.either()
        return b.branch(
            condition,
            lambda: scopes.made(scopes.flattened(made, fault and first)),
            lambda: scopes.made(scopes.flattened(made, fault and not first)),
        )

    b.main(main, given=(b.shape, b.dtype, scopes.texture))


@structure("nonflat-elision", "", "planned")
def reshape_in_a_function(b, fault):
    """The caller's tensor is a texture, as the parameter is."""
    scopes = Scopes(b)
    texture = b.shape, b.dtype, scopes.texture
    function = b.function(
        "computed",
        lambda taken: scopes.made(scopes.flattened(scopes.made(taken), fault)),
        taken=texture,
    )

    def main(given):
        made = scopes.made(given)
        return b.invoke(function, made, result=None)

    b.main(main, given=texture)


@structure("nonflat-elision", "", "planned")
def view_of_rows_of_a_texture(b, fault):
    """A range of it; the twin copies it out by a kernel."""
    scopes = Scopes(b)
    rows = b.shape[0] // 2, *b.shape[1:]

    def upper(tensor):
        return te.compute(rows, lambda *i: tensor(*i), "made")

    def main(given):
        made = scopes.made(given)
        if fault:
            view = b.view(made, rows)
        else:
            place = scopes.tensor(scopes.storage(b.size // 2), rows)
            view = b.run(upper, "upper", made, into=place, as_=lambda array: array[: rows[0]])
        return scopes.made(view)

    b.main(main, given=(b.shape, b.dtype, scopes.texture))
