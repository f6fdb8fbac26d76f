"""The places of a value: for each of its tensors the roots that it may lie in, and where.

The places of a tensor are a dict of root to the byte at which it begins there: an integer, an
expression in symbolic sizes, or None for somewhere in it. Those of a tuple are a list.
"""

from tvm import relax, sym


def leaves(places):
    """The places of a value's tensors, from left to right."""
    if isinstance(places, list):
        return [leaf for field in places for leaf in leaves(field)]
    return [places]


def typed_leaves(ty, places):
    """Pairs of a tensor's type and its places, from left to right."""
    if isinstance(places, list):
        for field, place in zip(ty.fields, places):
            yield from typed_leaves(field, place)
    else:
        yield ty, places


def roots_of(places):
    """The roots of all of a value's tensors, as a set."""
    return {root for leaf in leaves(places) for root in leaf}


def fill(ty, leaf, path=()):
    """Places in the form of a type."""
    if isinstance(ty, relax.TupleType):
        return [fill(field, leaf, (*path, i)) for i, field in enumerate(ty.fields)]
    return dict(leaf(path))


def mapped(places, change):
    """The places with each tensor's changed."""
    if isinstance(places, list):
        return [mapped(field, change) for field in places]
    return change(places)


def shaped_as(ty, places):
    """Places in the form of a type: one of `Any` may hide a tuple, and a cast show it."""
    if not isinstance(ty, relax.TupleType):
        return anywhere_in([places]) if isinstance(places, list) else places
    if not isinstance(places, list):
        places = [anywhere_in([places])] * len(ty.fields)
    return [shaped_as(field, place) for field, place in zip(ty.fields, places)]


def anywhere_in(places):
    """A place that may be any of those of several values."""
    return dict.fromkeys(root for value in places for root in roots_of(value))


def join(one, other):
    """The places of a value that is one of two."""
    if _alike(one, other):
        return [join(left, right) for left, right in zip(one, other)]
    if isinstance(one, list) or isinstance(other, list):
        return anywhere_in([one, other])
    joined = {**one, **other}
    for root in one.keys() & other.keys():
        joined[root] = one[root] if _same(one[root], other[root]) else None
    return joined


def common(one, other):
    """The roots that both branches of an `If` give."""
    if _alike(one, other):
        return [common(left, right) for left, right in zip(one, other)]
    joined = join(one, other)
    shared = roots_of(one) & roots_of(other)
    return {root: begin for root, begin in joined.items() if root in shared}


def _alike(one, other):
    """Whether both are the places of tuples of one length."""
    return isinstance(one, list) and isinstance(other, list) and len(one) == len(other)


def shifted(begin, more):
    """A begin and an offset from there, None where one is not known."""
    return None if begin is None or more is None else begin + more


def _same(begin, other):
    """Whether two begins are known and equal."""
    if begin is None or other is None:
        return False
    difference = begin - other
    return difference == 0 if isinstance(difference, int) else _is_zero(difference)


def _is_zero(expr):
    return bool(sym.Analyzer().can_prove_equal(expr, 0))
