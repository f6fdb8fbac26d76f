"""K0's proof: a PrimFunc only reshapes when its body shows it.

`relax.analysis.has_reshape_pattern` is not such a proof: it also accepts a body that writes half
of its output, reads a strided source, leaves a second input unused, or takes a leading slice.
"""

from tvm import ir, relax, sym, tirx
from tvm.relax.analysis import post_order_visit

from ..values import element_count
from .moves import begins_at_zero, moves


def is_reshape_only(func):
    """Whether a PrimFunc copies the whole of its one input, in order, to the whole of its output.

    The identity counts. So does a chain of such copies through buffers of its own, which is what
    fusion makes of several reshapes in a row.

    Parameters
    ----------
    func : tvm.tirx.PrimFunc
        In destination-passing style: the last buffer is the output.

    Returns
    -------
    bool
        True only when proved. Symbolic shapes are compared with TVM's analyzer.
    """
    buffers = [param for param in func.params if isinstance(param.ty, tirx.BufferType)]
    if len(buffers) != 2 or not all(map(begins_at_zero, buffers)):
        return False
    source, output = buffers
    copies = [source]
    for move in moves(func) or ():
        written = any(move.dest.same_as(buffer) for buffer in copies)
        if written or not any(move.source.same_as(buffer) for buffer in copies):
            return False
        if not _is_whole(move):
            return False
        # In a thread's own memory, say, what is read need not be what was written.
        if not move.dest.same_as(output) and move.dest.ty.storage_scope != "global":
            return False
        copies.append(move.dest)
    return copies[-1].same_as(output)


def _is_whole(move):
    """Whether a move takes all of its source to all of its destination."""
    if move.dest_begin is None:
        return False
    analyzer = sym.Analyzer()
    return (
        analyzer.can_prove_equal(move.source_begin, 0)
        and analyzer.can_prove_equal(move.dest_begin, 0)
        and analyzer.can_prove_equal(move.count, element_count(move.source.ty.shape))
        and analyzer.can_prove_equal(move.count, element_count(move.dest.ty.shape))
    )


def reshape_calls(mod):
    """The calls in a module's Relax functions of kernels that only reshape.

    Parameters
    ----------
    mod : tvm.IRModule
        After legalisation: kernels are PrimFuncs called by `call_tir`.

    Returns
    -------
    list of str
        For each call the name of its kernel.
    """
    proved = {
        name
        for name, function in mod.functions_items()
        if isinstance(function, tirx.PrimFunc) and is_reshape_only(function)
    }
    found = []

    def visit(expr):
        if (
            isinstance(expr, relax.Call)
            and expr.op.same_as(ir.Op.get("relax.call_tir"))
            and expr.args[0] in proved
        ):
            found.append(expr.args[0].name_hint)

    for _, function in mod.functions_items():
        if isinstance(function, relax.Function):
            post_order_visit(function.body, visit)
    return found
