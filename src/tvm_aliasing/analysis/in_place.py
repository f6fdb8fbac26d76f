"""Which outputs a kernel may write over which of its inputs, proved from its body.

The proof belongs to the schedule: another order of the loops needs another proof. It is one of
order alone: where bytes are loaded for the last time before they are stored, nothing is lost.
"""

from functools import lru_cache
from itertools import accumulate
from math import prod
from operator import mul

import tvm
import tvm_ffi
from tvm import ir, sym, tirx

from ..values import element_count
from .accesses import accesses, loops_of
from .digits import determine
from .expressions import variables
from .moves import is_compact

_SYMBOLIC = sym.ProofStrength.SYMBOLIC_BOUND


@lru_cache(maxsize=1024)  # several passes ask about the same kernels
def overwritable(kernel):
    """The inputs of a PrimFunc that its outputs may lie over, as the body shows.

    To lie over an input is to begin with the same byte and to have as many. Such a kernel must not
    promise `tirx.noalias`. Each pair stands by itself, for one output on one input; a tensor that
    is passed for several inputs may be written over where the output may lie over all of them.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
        In destination-passing style, every access within the bounds of its buffer.

    Returns
    -------
    dict of int to tuple of int
        For each output, by its position among the parameters, the positions of those inputs. An
        output is a parameter that is stored to before it is loaded from.
    """
    found = accesses(kernel)
    if found is None:
        return {}
    sizes = _sizes(kernel)
    loads, stores, outputs = {}, {}, []
    for access in found:
        buffer = access.buffer
        if access.is_store and buffer not in loads and buffer not in stores:
            outputs.append(buffer)
        (stores if access.is_store else loads).setdefault(buffer, []).append(access)
    inputs = [param for param in kernel.params if param in loads and param not in stores]
    position = {param: i for i, param in enumerate(kernel.params)}
    return {
        position[output]: tuple(
            position[source]
            for source in inputs
            if _same_bytes(source, output)
            and all(_comes_first(load, s, sizes) for load in loads[source] for s in stores[output])
        )
        for output in sorted((o for o in outputs if o in position), key=position.get)
    }


def _sizes(kernel):
    """The variables that are the same throughout a call."""
    found = {param for param in kernel.params if isinstance(param.ty, ir.PrimType)}
    for param in kernel.params:
        if isinstance(param.ty, tirx.BufferType):
            found.update(var for extent in param.ty.shape for var in variables(extent))
    return found


def _same_bytes(source, output):
    """Whether two buffers are compact, with as many elements of the same width."""
    widths = [_width(buffer) for buffer in (source, output)]
    counts = [element_count(buffer.ty.shape) for buffer in (source, output)]
    return (
        None not in widths
        and widths[0] == widths[1]
        and sym.Analyzer().can_prove_equal(*counts)
        and all(buffer.ty.storage_scope == "global" for buffer in (source, output))
        and is_compact(source)
        and is_compact(output)
    )


def _width(buffer):
    """Bits of an element, or None where elements are no whole bytes or several values."""
    dtype = tvm.DataType(buffer.ty.dtype)
    return dtype.bits if dtype.bits % 8 == 0 and dtype.lanes == 1 else None


def _comes_first(load, store, sizes):
    """Whether no byte is loaded after it has been stored."""
    shared = next(i for i, (a, b) in enumerate(zip(load.place, store.place)) if a != b)
    loops = loops_of(load.place[:shared])
    in_order = load.place[shared] < store.place[shared]
    return in_order and _one_thread(loops) and _same_iteration(load, store, loops, sizes)


def _one_thread(loops):
    """Whether an iteration of the loops belongs to one thread, in a launch if there is one."""
    bound = [loop for loop in loops if loop.thread_binding is not None]
    if not bound:
        return True
    # Every statement of a launch runs in all of its threads, those bound elsewhere too.
    inside = []
    tvm_ffi.structural_walk(bound[0], (tirx.For, inside.append))
    return _threads(inside) <= _threads(bound)


def _threads(loops):
    """The thread indices that loops are bound to."""
    return {loop.thread_binding.thread_tag for loop in loops if loop.thread_binding is not None}


def _same_iteration(load, store, loops, sizes):
    """Whether load and store of one byte are always in the same iteration of the loops."""
    analyzer, shared = sym.Analyzer(), {}
    for loop in dict.fromkeys([*load.loops, *store.loops]):
        extent = ir.Range.from_min_extent(loop.min, loop.extent)
        analyzer.bind(loop.loop_var, extent)
        if loop in loops:
            shared[loop.loop_var] = extent

    def simplified(number):
        return analyzer.simplify(_without_wraps(number, analyzer))

    def is_constant(number):
        return isinstance(number, int) or _is_known(number, sizes)

    same = []
    for pairs in _numbers(load, store, loops, simplified, is_constant):
        for a, b in pairs:
            if _is_known(b, shared.keys() | sizes) and analyzer.can_prove_equal(a, b):
                same.append(b)
        if determine(same, shared):
            return True
    return not shared


def _without_wraps(number, analyzer):
    """The same number without remainders of what is smaller: they hinder simplification."""

    def without(remainder):
        a, b = remainder.a, remainder.b
        is_small = analyzer.can_prove(0 <= a) and analyzer.can_prove(a < b, _SYMBOLIC)
        return a if is_small else remainder

    return tvm_ffi.structural_map(number, (tirx.FloorMod, without))


def _is_known(expression, known):
    """Whether an expression holds known variables only, and no loads."""
    return all(var in known for var in variables(expression))


def _numbers(load, store, loops, simplified, is_constant):
    """Ways to say which byte is accessed, each a list of pairs: of the load and of the store.

    Where the bytes are the same, so are the two of each pair.
    """

    def flat(first_dim):
        return [
            simplified(_flat(a.buffer.ty.shape[first_dim:], a.indices[first_dim:])) for a in both
        ]

    both = load, store
    yield [flat(0)]
    shapes = [access.buffer.ty.shape for access in both]
    if _are_equal(*shapes):
        yield [map(simplified, pair) for pair in zip(load.indices, store.indices)]
        yield [flat(i) for i in range(1, len(shapes[0]) - 1)]
        strides = []
    else:
        strides = [stride for shape in shapes for stride in accumulate(reversed(shape[1:]), mul)]
    strides += [prod(loop.extent for loop in access.loops[len(loops) :]) for access in both]
    for stride in filter(is_constant, strides):
        yield [[simplified(tirx.floordiv(number, stride)) for number in flat(0)]]


def _are_equal(shape, other):
    return len(shape) == len(other) and all(map(sym.Analyzer().can_prove_equal, shape, other))


def _flat(shape, indices):
    """The position of an element in row-major order."""
    # TVM does not simplify through casts: no wider type than the count asks for.
    is_small = sym.Analyzer().can_prove(element_count(shape) < 2**31)
    flat = tirx.const(0, indices[0].ty.dtype if is_small and len(indices) else "int64")
    for extent, index in zip(shape, indices):
        flat = flat * extent + index
    return flat
