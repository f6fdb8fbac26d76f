"""`undominated-storage`: a storage is used on a path on which it was not allocated.

In each twin it is allocated before the paths part. What becomes of a hazard depends on what the
machine's register holds by chance: it raises, or the process dies.
"""

from .registry import structure


def _use(b, given, storage):
    """A value of a few steps, the first of which writes to a tensor of the storage."""
    return b.chain(b.call(b.unary(), given, into=b.tensor(storage)))


@structure("undominated-storage", "fails", "planned")
def allocated_in_an_earlier_branch(b, fault):
    """As TVM's planner does it (apache/tvm#20191)."""
    storage = b.storage_to_be()

    def main(condition, given):
        condition.array[...] = False  # the branch that allocates nothing
        if not fault:
            b.allocate(storage, b.size)

        def first():
            if fault:
                b.allocate(storage, b.size)
            return _use(b, given, storage)

        return b.branch(condition, first, lambda: _use(b, given, storage))

    b.main(main)


@structure("undominated-storage", "fails", "planned")
def allocated_in_a_later_branch(b, fault):
    storage = b.storage_to_be()

    def main(condition, given):
        condition.array[...] = True
        if not fault:
            b.allocate(storage, b.size)

        def second():
            if fault:
                b.allocate(storage, b.size)
            return _use(b, given, storage)

        return b.branch(condition, lambda: _use(b, given, storage), second)

    b.main(main)


@structure("undominated-storage", "fails", "planned")
def allocated_in_a_branch_and_used_after_it(b, fault):
    storage = b.storage_to_be()

    def main(condition, given, other):
        condition.array[...] = False
        if not fault:
            b.allocate(storage, b.size)

        def first():
            if fault:
                b.allocate(storage, b.size)
            return _use(b, given, storage)

        chosen = b.branch(condition, first, lambda: b.chain(other))
        return b.call("sum", b.chain(chosen), _use(b, other, storage))

    b.main(main)


@structure("undominated-storage", "fails", "planned")
def allocated_in_a_branch_of_a_branch(b, fault):
    """And used in the outer one, after the inner."""
    storage = b.storage_to_be()

    def main(condition, asked, given):
        condition.array[...], asked.array[...] = True, False
        if not fault:
            b.allocate(storage, b.size)

        def innermost():
            if fault:
                b.allocate(storage, b.size)
            return _use(b, given, storage)

        def outer():
            chosen = b.branch(asked, innermost, lambda: b.chain(given))
            return b.call("difference", _use(b, given, storage), b.chain(chosen))

        return b.branch(condition, outer, lambda: b.chain(given))

    b.main(main, asked=((), "bool"))


@structure("undominated-storage", "fails", "planned")
def used_before_it_is_allocated(b, fault):
    storage = b.storage_to_be()

    def main(given):
        made = b.chain(given)
        if not fault:
            b.allocate(storage, b.size)
        used = _use(b, made, storage)
        if fault:
            b.allocate(storage, b.size)
        return b.call("sum", used, given)

    b.main(main)


@structure("undominated-storage", "fails", "planned")
def allocated_in_another_function(b, fault):
    """The caller's is used; the twin's function has one of its own."""
    storage, own = b.storage_to_be(), b.storage_to_be()

    def used(taken):
        if not fault:
            b.allocate(own, b.size)
        return b.call("twice", taken, into=b.tensor(storage if fault else own))

    function = b.function("used", used)

    def main(given, other):
        b.allocate(storage, b.size)
        made = _use(b, given, storage)
        called = b.invoke(function, made, result=made.array * made.array.dtype.type(2))
        return b.call("difference", called, other)

    b.main(main)
