"""What the schedule rules ask of a function's blocks, and the loops that they make of them."""

import tvm
import tvm_ffi
from tvm import ir, sym, tirx
from tvm.s_tir import Schedule
from tvm.s_tir.transform import StmtSimplify
from tvm.target.codegen import target_has_features

from ..analysis.expressions import variables

#: A kernel with fewer elements than this runs faster than a second thread wakes up.
PARALLEL_FROM = 16 * 1024


def blocks_of(sch):
    """The blocks of a schedule in order, the root left out."""
    return sch.get_child_blocks(sch.get_sblock("root"))


def is_spatial(sch, block):
    """Whether each iteration of a block writes elements of its own."""
    return all(axis.iter_type == tirx.IterVar.DataPar for axis in sch.get(block).iter_vars)


def axes_of(sch, block):
    """The iterators of a block with their loops, as operators are legalised: one loop for each.

    Returns
    -------
    list of (IterVar, loop), or None
        In the order of the loops. What runs once is left out, where it has been simplified away.
        None where loops and iterators stand in another relation.
    """
    loops = sch.get_loops(block)
    realize = tvm.get_global_func("s_tir.schedule.GetSBlockRealize")(sch, block)
    axes = [
        (axis, value)
        for axis, value in zip(sch.get(block).iter_vars, realize.iter_values)
        if not isinstance(value, tirx.IntImm)
    ]
    found = []
    for loop in loops:
        statement = sch.get(loop)
        if len(found) < len(axes) and statement.loop_var.same_as(axes[len(found)][1]):
            found.append((axes[len(found)][0], loop))
        elif not sym.Analyzer().can_prove_equal(statement.extent, 1):
            return None
    return found if len(found) == len(axes) else None


def is_output(sch, block):
    """Whether no other block reads what a block writes."""
    return not sch.get_consumers(block)


def inline_spatial(func, keep=lambda sch, block: False):
    """Compute each spatial block where it is read, so that it needs no buffer.

    Parameters
    ----------
    func : tvm.tirx.PrimFunc
    keep : callable
        Called with schedule and block: whether to leave a block as it is.

    Returns
    -------
    tvm.s_tir.Schedule
    """
    sch = Schedule(func)
    for name in [sch.get(block).name_hint for block in blocks_of(sch)]:
        block = sch.get_sblock(name)
        if is_output(sch, block) or not is_spatial(sch, block) or keep(sch, block):
            continue
        try:
            sch.compute_inline(block)
        except tvm.s_tir.ScheduleError:  # it reads what it writes, say: it keeps its buffer
            continue
        # Chains of index arithmetic explode unless each step is simplified.
        sch = Schedule(StmtSimplify()(sch.mod)["main"])
    return sch


def has_condition(sch, block):
    """Whether what a block writes depends on a condition, as padding does."""
    found = []
    op = ir.Op.get("prim.if_then_else")
    tvm_ffi.structural_walk(
        sch.get(block).body,
        ((ir.Call, lambda call: found.append(call) if call.op.same_as(op) else None),),
    )
    return bool(found)


def vector_bits(target):
    """Bits in a vector register of a target.

    `tvm.target.codegen.llvm_get_vector_width` is no help: it answers 512 for every x86 target, also
    where the code may only use SSE2, as for plain `llvm`.
    """
    widths = (("avx512f", 512), ("avx", 256))
    return next((bits for name, bits in widths if target_has_features(name, target)), 128)


def vector_lanes(target, dtype):
    """Elements of a dtype in a vector register of a target."""
    return vector_bits(target) // max(8, tvm.DataType(dtype).bits)


def divides(factor, extent):
    """Whether a number is proved to divide a loop's extent."""
    return sym.Analyzer().can_prove_equal(tirx.floormod(extent, factor), 0)


def largest_divisor(extent, at_most):
    """The largest number up to a limit that is proved to divide an extent."""
    return next(factor for factor in range(at_most, 0, -1) if divides(factor, extent))


def parallel(sch, loops, elements):
    """Fuse loops and share them among threads where that pays.

    Parameters
    ----------
    sch : tvm.s_tir.Schedule
    loops : list of loops, outermost first, nothing between them
    elements : Expr
        How many elements the kernel writes or reads, whichever is more.

    Returns
    -------
    The fused loop.
    """
    fused = sch.fuse(*loops) if len(loops) > 1 else loops[0]
    if not sym.Analyzer().can_prove(elements < PARALLEL_FROM):
        sch.parallel(fused)
    return fused


def vectorize(sch, loop, lanes):
    """Vectorise a loop by as many lanes as are proved to divide it; return the loop around."""
    extent = sch.get(loop).extent
    while lanes > 1 and not divides(lanes, extent):
        lanes //= 2
    around, vector = sch.split(loop, [None, lanes])
    sch.vectorize(vector)
    return around


def depends_on(region, var):
    """The indices of a region that hold a variable."""
    return [part.min for part in region.region if var in variables(part.min)]


def last_index(region):
    """The last index of a region whose dimension has more than one element, or None."""
    wide = [
        part.min
        for part, extent in zip(region.region, region.source.ty.shape)
        if not sym.Analyzer().can_prove_equal(extent, 1)
    ]
    return wide[-1] if wide else None
