"""`offset-abi`: a tensor that begins inside its storage meets what cannot take it there."""

import numpy as np
from tvm import topi

from tvm_aliasing.passes.accept_offsets import with_offsets

from .kernels import KERNELS, kernel_of
from .packed import FIRST_BYTES
from .registry import structure


def _half(b):
    return (b.shape[0] // 2, *b.shape[1:])


@structure("offset-abi", "fails", "planned")
def kernel_is_given_a_tensor_of_an_arena(b, fault):
    """In the twin its kernels declare offsets."""
    b.accept_offsets = not fault

    def main(given):
        arena = b.storage(2 * b.size + 64)
        first = b.call(b.unary(), given, into=b.tensor(arena))
        second = b.call(b.unary(), first, into=b.tensor(arena, b.size + b.either() * 64))
        return b.call("sum", first, second)

    b.main(main)


@structure("offset-abi", "fails", "planned")
def kernel_is_given_a_view(b, fault):
    b.accept_offsets = not fault

    def main(given, half):
        rows = b.view(b.chain(given), half.shape, b.size // 2)
        return b.call("difference", b.chain(half), rows)

    b.main(main, half=(_half(b), b.dtype))


@structure("offset-abi", "fails", "planned")
def kernel_writes_to_a_view(b, fault):
    b.accept_offsets = not fault

    def main(given, half):
        whole = b.buffer()
        parts = [b.view(whole, half.shape, i * (b.size // 2), name="place") for i in range(2)]
        filled = [b.call(b.unary(), half, into=part).array for part in parts]
        return b.call("sum", b.view(whole, array=np.concatenate(filled)), given)

    b.main(main, half=(_half(b), b.dtype))


@structure("offset-abi", "wrong", "planned")
def packed_function_is_given_a_view(b, fault):
    """It reads from the first byte of the storage. The twin's is given a copy."""

    def main(given, half):
        rows = b.view(b.chain(given), half.shape, b.size // 2)
        passed = rows if fault else b.call("copy", rows)
        result = b.extern(FIRST_BYTES, passed, result=rows.array, declared="fresh")
        return b.call("sum", result, half)

    b.main(main, half=(_half(b), b.dtype))


@structure("offset-abi", "wrong", "planned")
def condition_lies_at_an_offset(b, fault):
    """The machine asks the first byte, where another flag lies."""
    flag = (), "bool"

    def main(given, asked, opposite):
        opposite.array[...] = not asked.array
        flags = b.storage(128)
        places = [b.tensor(flags, begin, *flag) for begin in ((0, 64) if fault else (64, 0))]
        b.call("copy", opposite, into=places[0])
        condition = b.call("copy", asked, into=places[1])
        return b.branch(
            condition, lambda: b.chain(given), lambda: b.call("difference", given, given)
        )

    b.main(main, asked=flag, opposite=flag)


@structure("offset-abi", "wrong", "planned")
def kernel_hands_its_pointer_on(b, fault):
    """Sorting is left to a library, which is told of no offset, whatever the kernel declares."""

    def main(given):
        arena = b.storage(2 * b.size)
        begin = b.size if fault else 0
        made = b.call("twice", given, into=b.tensor(arena, begin))
        beside = b.call("less", given, into=b.tensor(arena, b.size - begin))
        axis = len(b.shape) - 1
        ordered = b.run(
            lambda tensor: topi.sort(tensor, axis=axis),
            "sort",
            made,
            as_=lambda array: np.sort(array, axis=axis),
        )
        return b.chain(b.call("difference", ordered, beside))

    b.main(main)


@structure("offset-abi", "fails", "planned")
def kernel_of_a_function_is_given_a_view(b, fault):
    """It is the caller that knows of the offset."""
    b.accept_offsets = not fault
    function = b.function(
        "doubled", lambda taken: b.call("twice", taken), taken=(_half(b), b.dtype)
    )

    def main(given, half):
        rows = b.view(b.chain(given), half.shape, b.size // 2)
        called = b.invoke(function, rows, result=rows.array * rows.array.dtype.type(2))
        return b.call("sum", called, half)

    b.main(main, half=(_half(b), b.dtype))


@structure("offset-abi", "fails", "planned")
def kernel_accepts_an_offset_of_another_argument(b, fault):
    b.accept_offsets = False
    accepted = b.either() * 1

    def main(given, half):
        kernel = kernel_of(KERNELS["difference"][0], half, half)
        rows = b.view(b.chain(given), half.shape, b.size // 2)
        pair = [half, half]
        pair[1 - accepted if fault else accepted] = rows
        array = pair[0].array - pair[1].array
        accepting = with_offsets(kernel, {accepted: 64})
        return b.call_function(accepting, "difference", *pair, array=array)

    b.main(main, half=(_half(b), b.dtype))


@structure("offset-abi", "fails", "planned")
def offset_is_no_multiple_of_what_the_kernel_declares(b, fault):
    """It was compiled for multiples of 64 bytes."""
    b.accept_offsets = False

    def main(given, row):
        item = row.array.dtype.itemsize
        begin = 64 * b.random.randrange(1, 3) + fault * item * b.random.randrange(1, 64 // item)
        view = b.view(b.chain(given), row.shape, begin)
        kernel = with_offsets(kernel_of(KERNELS["plus"][0], row), {0: 64})
        moved = b.call_function(kernel, "plus", view, array=view.array + view.array.dtype.type(3))
        return b.call("sum", moved, row)

    b.main(main, row=((8,), b.dtype))
