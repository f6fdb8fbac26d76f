"""Faults in what passes made: planted in a right plan, or TVM's own."""

from tvm import relax

from tvm_aliasing.attributes import DONATED
from tvm_aliasing.passes.accept_offsets import AcceptOffsets
from tvm_aliasing.passes.accept_overlaps import AcceptOverlaps
from tvm_aliasing.passes.copies import with_places

from . import plans
from .packed import COPY, SAME
from .registry import structure
from .source import Source


@structure("write-live", "wrong", "introduced")
def result_planted_over_an_operand(b, fault):
    """Of which there is another use; in the twin over one of which there is none."""
    source = Source(b)

    def main(given, other):
        return source.several(given, other, count=6)

    source.main(main, symbolic=b.either())
    mod = source.stage("k0", upto="introduced")
    bindings = plans.bindings(mod)
    found = []
    for i, binding in enumerate(bindings):
        for operand in plans.made_operands(binding, bindings[:i]):
            later = any(operand in plans.operands(after) for after in bindings[i + 1 :])
            if later == fault:
                found.append((i, operand))
    i, operand = b.random.choice(found)
    call = relax.BlockBuilder().normalize(with_places(bindings[i].value, [operand]))
    bindings[i] = relax.VarBinding(bindings[i].var, call)
    return plans.with_bindings(mod, bindings)


def _uneven(b, source, count):
    """A program with tensors of two sizes: an arena has them at offsets."""
    source.main(
        lambda given, wide: source.several(given, wide, count=count),
        wide=((3 * b.shape[0], *b.shape[1:]), b.dtype),
    )


def _tensors_at_once(b, mod):
    """Two tensors of a plan, the second written while the first is still to be read.

    Of one storage, where there are such.
    """
    tensors = plans.tensors(mod)
    pairs = [
        (first, second)
        for first in tensors
        for second in tensors
        if first.written < second.written < first.read
        and first.size >= second.size
        and first.var not in second.sources
    ]
    together = [pair for pair in pairs if pair[0].storage.same_as(pair[1].storage)]
    return b.random.choice(together or pairs)


def _moved(b, planner, fault):
    """A plan, with a tensor moved to where another lies that is live."""
    source = Source(b)
    _uneven(b, source, count=8)
    mod = source.stage("k0", planner=planner, accepted=False)
    if fault:
        first, second = _tensors_at_once(b, mod)
        bindings = plans.bindings(mod)
        at = next(i for i, binding in enumerate(bindings) if binding.var.same_as(second.var))
        bindings[at] = plans.at(second, first.storage, first.begin)
        mod = plans.with_bindings(mod, bindings)
    return AcceptOffsets()(AcceptOverlaps()(mod))


@structure("overlap", "wrong", "planned")
def tensor_moved_within_an_arena(b, fault):
    """To the offset of a tensor that is live."""
    return _moved(b, "arena", fault)


@structure("overlap", "wrong", "planned")
def tensor_moved_to_a_token_in_use(b, fault):
    """To the storage of a tensor that is live."""
    return _moved(b, "token", fault)


@structure("undonated-write", "wrong", "planned", "introduced")
def donation_that_was_built_with_is_forgotten(b, fault):
    source = Source(b)

    def main(given, other):
        return source.chain(source.binary(given, other))

    source.main(main, symbolic=b.either())
    stage = "planned" if b.planned else "introduced"
    mod = source.stage("alias", upto=stage, donate=("given",))
    if fault:
        mod["main"] = mod["main"].without_attr(DONATED)
    return mod


@structure("undeclared-output-alias", "wrong", "planned", "introduced")
def module_built_under_a_wider_policy(b, fault):
    """It returns a value, a reshape of it, and a reshape of a parameter."""
    source = Source(b)

    def main(given, other):
        made = source.chain(given)
        return made, source.flat(made), source.flat(other)

    source.main(main)
    stage = "planned" if b.planned else "introduced"
    wider = b.random.choice(["share", "view", "alias_params"])
    mod = source.stage("alias", upto=stage, outputs=wider)
    if not fault:
        b.options["outputs"] = wider
    return mod


@structure("undeclared-output-alias", "wrong", "planned")
def stock_returns_a_folded_constant(b, fault):
    """TVM's FoldConstant folds the reshape, and the caller gets the constant itself."""
    source = Source(b)
    source.main(lambda given: (source.chain(given), source.flat(source.constant())))
    if fault:
        return source.stage("stock", planner="tvm", fused=True)
    return source.stage("k0", fused=True)


@structure("offset-abi", "fails", "planned")
def kernel_of_an_arena_forgets_its_offsets(b, fault):
    source = Source(b)
    _uneven(b, source, count=6)
    mod = source.stage("k0", planner="arena", accepted=False)
    accepting = AcceptOffsets()(mod)
    changed = [name for name in accepting.get_global_vars() if plans.differ(mod, accepting, name)]
    if fault:
        name = b.random.choice(sorted(changed, key=lambda name: name.name_hint))
        accepting[name] = mod[name]
    return accepting


@structure("noalias-overlap", "", "planned")
def kernels_are_left_with_their_promise(b, fault):
    """In place, and marked as before.

    No run shows it: LLVM has no reason to move anything in kernels as simple as these.
    """
    source = Source(b)
    source.main(lambda given, other: source.chain(source.binary(given, other), count=3))
    if fault:
        return AcceptOffsets()(source.stage("alias", accepted=False))
    return source.stage("alias")


@structure("undominated-storage", "fails", "planned")
def stock_planner_on_branches(b, fault):
    """A storage that one branch allocates is used in the other one (apache/tvm#20191)."""
    source = Source(b)

    def main(condition, given):
        condition.array[...] = False
        made = source.unary(given)

        def branch(count):
            value = made
            for _ in range(count):
                value = source.unary(source.reshaped(source.flat(value)))
            return source.reshaped(source.flat(value))

        counts = [b.random.randrange(1, 3) for _ in range(2)]
        return source.branch(condition, *(lambda c=c: branch(c) for c in counts))

    source.main(main, dataflow=False)
    return source.stage("stock", planner="tvm" if fault else "token")


@structure("mixed-storage", "", "planned")
def stock_planner_on_two_devices(b, fault):
    """TVM's planner asks for scope and dtype of a free storage, and not for its device."""
    source = Source(b)
    devices = [relax.VDevice("llvm", i, "global") for i in range(2)]

    def main(given, other):
        pair = [given, other]
        for _ in range(b.random.randrange(3, 6)):
            pair = [source.unary(value) for value in pair]
        return tuple(pair)

    types = [(b.shape, b.dtype, device) for device in devices]
    source.main(main, vdevices=devices, given=types[0], other=types[1])
    return source.stage("stock", planner="tvm" if fault else "token")


@structure("nonflat-elision", "", "planned")
def stock_elides_a_reshape_of_a_texture(b, fault):
    """TVM's RewriteDataflowReshape does not ask where the tensor lies."""
    source = Source(b)
    scopes = [relax.VDevice("llvm", 0, scope) for scope in ("global", "global.texture")]

    def main(given):
        return source.chain(source.flat(source.chain(given)))

    source.main(main, vdevices=scopes, given=(b.shape, b.dtype, scopes[1]))
    if fault:
        return source.stage("stock", planner="tvm")
    return source.stage("k0")


@structure("extern-alias", "wrong", "planned")
def stock_planner_on_an_extern_result(b, fault):
    """It takes the result for fresh, and reuses the storage of the argument."""
    source = Source(b)
    packed, declared = (SAME, {}) if fault else (COPY, {COPY: "fresh"})

    def main(given, other):
        made = source.chain(given)
        result = source.extern(packed, made)
        beside = source.chain(other, count=2)
        return source.unary(source.difference(beside, result))

    source.main(main, externs=declared)
    return source.stage("stock", planner="tvm")
