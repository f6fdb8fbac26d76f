"""Tokens: each branch of TVM's rule by hand, and drawn programs as TVM itself plans them."""

from itertools import pairwise
from random import Random

import pytest
from tvm import relax
from tvm.relax.op.builtin import alloc_tensor

from tvm_aliasing.planning.tokens import Request, assign


def chain(*sizes):
    """Requests of which each two neighbours are live together, and no others."""
    return [Request("key", size, ((k, k + 2),)) for k, size in enumerate(sizes)]


def freed(*sizes, then):
    """Requests of which all are released, in order, before the last begins to live."""
    ends = range(len(sizes), 2 * len(sizes))
    held = [Request("key", size, ((k, end),)) for k, (size, end) in enumerate(zip(sizes, ends))]
    return [*held, Request("key", then, ((2 * len(sizes), 2 * len(sizes) + 1),))]


@pytest.mark.parametrize(
    ("requests", "token", "sizes"),
    [
        (freed(32, 64, 128, then=64), 1, [32, 64, 128]),
        (freed(32, 65, 128, then=64), 1, [32, 65, 128]),
        (freed(8, 1024, then=64), 1, [8, 1024]),
        (freed(63, 1025, then=64), 0, [64, 1025]),
        (freed(1025, then=64), 1, [1025, 64]),
        (freed(16, 32, 48, then=64), 2, [16, 32, 64]),
        (freed(4, then=64), 0, [64]),
        (freed(3, then=64), 1, [3, 64]),
        (freed(4, then=79), 0, [79]),
        (freed(4, then=80), 1, [4, 80]),
        (freed(64, 64, 64, then=64), 0, [64, 64, 64]),
        (freed(32, 32, 32, then=64), 2, [32, 32, 64]),
        (freed(0, then=15), 0, [15]),
        (freed(0, then=16), 1, [0, 16]),
        (freed(1, then=0), 1, [1, 0]),
        (freed(1, 0, then=0), 1, [1, 0]),
        (freed(then=64), 0, [64]),
    ],
    ids=[
        "exact",
        "smallest that is larger",
        "16 times larger",
        "smaller where the larger are too large",
        "more than 16 times larger",
        "largest that is smaller",
        "16 times smaller",
        "more than 16 times smaller",
        "16 times smaller, rounded down",
        "16 times smaller, not rounded",
        "of the large enough the first released",
        "of the too small the last released",
        "empty, for little",
        "empty, for too much",
        "empty takes nothing that is not",
        "empty takes empty",
        "nothing is free",
    ],
)
def test_choice(requests, token, sizes):
    assert assign(requests) == ([*range(len(requests) - 1), token], sizes)


def test_the_first_released_is_the_first_in_time_not_the_first_requested():
    requests = [
        Request("key", 64, ((0, 3),)),
        Request("key", 64, ((1, 2),)),
        Request("key", 64, ((4, 5),)),
    ]
    assert assign(requests) == ([0, 1, 1], [64, 64])


def test_what_ends_where_another_begins_is_free():
    assert assign(chain(64, 64, 64, 64)) == ([0, 1, 0, 1], [64, 64])


def test_an_enlarged_token_stays_so():
    """The third enlarges the first; the fifth is smaller than what that has become."""
    assert assign(chain(32, 500, 40, 500, 8)) == ([0, 1, 0, 1, 0], [40, 500])


def test_a_larger_token_keeps_its_size():
    assert assign(chain(64, 64, 32, 64, 64)) == ([0, 1, 0, 1, 0], [64, 64])


def test_keys_do_not_mix():
    requests = [
        Request(("cuda", "global", "float32"), 64, ((0, 1),)),
        Request(("cuda", "global", "float16"), 64, ((1, 2),)),
        Request(("cuda", "global", "float32"), 64, ((2, 3),)),
    ]
    assert assign(requests) == ([0, 1, 0], [64, 64])


def test_a_token_is_held_between_two_ranges():
    requests = [
        Request("key", 64, ((0, 1), (4, 5))),
        Request("key", 64, ((2, 3),)),
        Request("key", 64, ((5, 6),)),
    ]
    assert assign(requests) == ([0, 1, 1], [64, 64])


def test_requests_come_in_the_order_of_their_first_points():
    """Of two that begin together the first given comes first: the second finds nothing free."""
    requests = [
        Request("key", 64, ((5, 6),)),
        Request("key", 32, ((5, 6),)),
        Request("key", 64, ((0, 1),)),
    ]
    assert assign(requests) == ([0, 1, 0], [64, 32])


def test_no_requests():
    assert assign([]) == ([], [])


def drawn_program(seed, kernels=60):
    """Requests, and for each kernel which of them it allocates and which it reads."""
    random = Random(seed)
    made, steps = [], []
    for _ in range(kernels):
        new = []
        for _ in range(random.choice((1, 1, 2))):
            size = random.choice((0, 1, 8, 16, 24, 64, 100, 256, 1024, 1600, 4096, 20_000))
            new.append(len(made))
            made.append((random.choice(("int8", "int8", "uint8")), size))
        read = {back for back in range(new[0]) if random.random() < 2 / (2 + new[0] - back) ** 1.5}
        steps.append((new, sorted(read)))
    requests = []
    for index, (key, size) in enumerate(made):
        uses = [point for point, (new, read) in enumerate(steps) if index in [*new, *read]]
        requests.append(Request(key, size, ((uses[0], uses[-1] + 1),)))
    return requests, steps


def planned_by_tvm(requests, steps):
    """What `StaticPlanBlockMemory` makes of a program, as `assign` gives it."""
    builder = relax.BlockBuilder()
    param = relax.Var("x", relax.TensorType((1,), "float32"))
    tensors = []
    with builder.function("main", [param]):
        for new, read in steps:
            for index in new:
                shape = relax.ShapeExpr([requests[index].size])
                tensors.append(builder.emit(alloc_tensor(shape, requests[index].key, 0)))
            arguments = [tensors[index] for index in [*read, *new]]
            builder.emit(relax.Call(relax.ExternFunc("kernel"), arguments))
        builder.emit_func_output(param)
    planned = relax.transform.StaticPlanBlockMemory()(builder.get())
    storages, sizes, token_of = [], [], []
    for binding in planned["main"].body.blocks[0].bindings:
        name = getattr(binding.value.op, "name", None)
        if name == "relax.memory.alloc_storage":
            storages.append(binding.var)
            sizes.append(int(binding.value.args[0].values[0]))
        elif name == "relax.memory.alloc_tensor":
            token_of.append(storages.index(binding.value.args[0]))
    return token_of, sizes


@pytest.mark.parametrize("seed", range(12))
def test_as_tvm_plans(seed):
    requests, steps = drawn_program(seed)
    token_of, sizes = assign(requests)
    assert len(sizes) < len(requests)
    assert (token_of, sizes) == planned_by_tvm(requests, steps)


@pytest.mark.parametrize("seed", range(12))
def test_what_holds_of_every_assignment(seed):
    requests, _ = drawn_program(seed, kernels=300)
    token_of, sizes = assign(requests)
    assert sorted(set(token_of)) == list(range(len(sizes)))
    for token, size in enumerate(sizes):
        held = [request for request, its in zip(requests, token_of) if its == token]
        assert size == max(request.size for request in held)
        assert len({request.key for request in held}) == 1
        spans = sorted((request.live[0][0], request.live[-1][1]) for request in held)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


def test_a_long_program():
    assert assign(chain(*[64] * 20_000)) == ([0, 1] * 10_000, [64, 64])
