"""The memory and the kernels of one call."""

from dataclasses import dataclass
from math import prod

import tvm
from tvm import relax, tirx
from tvm.relax.analysis import post_order_visit

from ..analysis.bindings import callee_of
from ..analysis.moves import moves
from ..errors import UnsupportedError
from ..values import check_arguments, evaluate, item_bytes
from . import native
from .bounds import live_bound, value_bound
from .sizes import sizes_of_call, sizes_within, storage_bytes, tensor_bytes, with_match_casts


@dataclass(frozen=True)
class MemoryReport:
    """Exact figures of one call, in bytes unless said otherwise.

    Attributes
    ----------
    requested : int
        Sum of all tensor allocations in the lowered function, no reuse.
    planned : int
        Sum of the storages after planning, of both branches of an `If`, outputs included.
    peak : int or None
        Largest number of bytes live during the call, in the virtual machine's allocators and in
        the workspaces of the kernel that runs; inputs and weights excluded, outputs included. None
        when nothing was run.
    retained : int or None
        Bytes still held after the call, outputs kept. None when nothing was run.
    workspace : int
        Most bytes that one of the kernels executed holds in buffers of its own; see
        `KernelWorkspaces`.
    live_bound : int or None
        What the planner cannot go below once the approach has decided what shares bytes,
        workspaces included. None where functions call themselves.
    value_bound : int or None
        The same where nothing shares bytes, as under `copy`, without workspaces.
    kernels : int
        PrimFunc calls executed, without the functions that compute shapes.
    copy_kernels : int
        Those among them that only move contiguous data unmodified.
    bytes_copied : int
        What the copy kernels write.
    """

    requested: int
    planned: int
    peak: int | None
    retained: int | None
    workspace: int
    live_bound: int | None
    value_bound: int | None
    kernels: int
    copy_kernels: int
    bytes_copied: int


def measure_memory(built, tensors):
    """Measure one call of a build.

    Parameters
    ----------
    built : Built
    tensors : sequence of TVM tensors
        The arguments, checked.

    Returns
    -------
    MemoryReport

    Raises
    ------
    UnsupportedError
        A size depends on data, so that the plan has no size in bytes before the run.
    """
    planned_module, entry = built.stages["planned"], built.entry
    sizes = check_arguments(planned_module[entry].params, tensors)
    counter = _KernelCounter(planned_module)
    twin = built.bytecode_twin()
    peak, retained = _peak_and_retained(twin, tensors, counter)
    if twin is not built:
        # Nothing sees the kernels of compiled code: they and their workspaces are the twin's.
        compiled_peak, retained = _peak_and_retained(built, tensors)
        peak = max(peak, compiled_peak)
    in_kernels, workspace = counter.with_workspaces(built.workspaces)
    copying = built.planned_by_copy
    return MemoryReport(
        requested=_allocated(planned_module, entry, tensor_bytes, sizes),
        planned=_allocated(planned_module, entry, storage_bytes, sizes),
        peak=max(peak, in_kernels),
        retained=retained,
        workspace=workspace,
        live_bound=live_bound(planned_module, entry, sizes, built.workspaces),
        value_bound=value_bound(copying, entry, check_arguments(copying[entry].params, tensors)),
        kernels=counter.kernels,
        copy_kernels=counter.copy_kernels,
        bytes_copied=counter.bytes_copied,
    )


def _allocated(mod, name, bytes_of, sizes):
    """Sum over a planned function's allocations, a called Relax function's at each call."""

    def total(function, active, sizes):
        sizes = with_match_casts(function, sizes)
        # Collected first: an error raised in TVM's visitor would lose its class.
        calls, found = [], 0
        post_order_visit(
            function.body, lambda e: calls.append(e) if isinstance(e, relax.Call) else None
        )
        for call in calls:
            size = bytes_of(call)
            if size is not None:
                size = evaluate(size, sizes)
                if size is None:
                    raise UnsupportedError(
                        f"the planned bytes of {name} depend on data: "
                        "a size in it is not given by the shape of an input"
                    )
                found += size
            callee = callee_of(call, mod)
            if isinstance(callee, relax.Function) and call.op.name_hint not in active:
                within = sizes_within(callee, call, sizes)
                found += total(callee, {*active, call.op.name_hint}, within)
        return found

    return total(mod[name], {name}, sizes)


def _peak_and_retained(built, tensors, counter=None):
    """Bytes at the peak of a call in a machine of its own, and after it with the result kept."""
    native.load()
    live, peak, reset = (
        tvm.get_global_func(f"tvm_aliasing.{name}")
        for name in ("live_bytes", "peak_bytes", "reset_peak")
    )
    machine = built.machine(memory_cfg="naive")
    before = live()
    if counter is not None:
        counter.live = lambda: live() - before
        machine.set_instrument(counter)
    reset()
    result = machine[built.entry](*tensors)
    del machine  # it holds its last result and what it has not dropped yet
    peak_bytes, retained = peak() - before, live() - before
    del result
    return peak_bytes, retained


class _KernelCounter:
    """Counts the kernels of a call: an instrument of the virtual machine."""

    def __init__(self, planned_module):
        self.kernels = self.copy_kernels = self.bytes_copied = 0
        self.live = None
        self._calls = []  # (bytes live, kernel, its arguments as `KernelWorkspaces` takes them)
        # Functions that compute shapes come later in the pipeline and are not in this module.
        self._written = {
            name.name_hint: (_written_by_moves(function), function)
            for name, function in planned_module.functions_items()
            if isinstance(function, tirx.PrimFunc)
        }

    def __call__(self, _function, name, before, _result, *arguments):
        if before and name in self._written:
            self.kernels += 1
            shapes = [getattr(argument, "shape", argument) for argument in arguments]
            self._calls.append((self.live(), name, shapes))
            written, function = self._written[name]
            if written is not None:
                self.copy_kernels += 1
                self.bytes_copied += _bytes_written(written, function, shapes)
        return 0  # TVM's code for "go on"

    def with_workspaces(self, workspaces):
        """Most bytes live while a kernel runs, its workspaces included; most in workspaces."""
        # Not during the call: an error raised within the machine would lose its class.
        held = [(live, workspaces.of(*call)) for live, *call in self._calls]
        most = max((live + workspace for live, workspace in held), default=0)
        return most, max((workspace for _, workspace in held), default=0)


def _written_by_moves(function):
    """The moves of a copy kernel, by position of the parameter that is written.

    Returns
    -------
    dict of int to Expr, or None
        Elements moved there; None for any other kernel.
    """
    found = moves(function)
    if found is None:
        return None
    return {
        i: sum(counts[1:], counts[0])
        for i, param in enumerate(function.params)
        if (counts := [move.count for move in found if move.dest.same_as(param)])
    }


def _bytes_written(written, function, arguments):
    """Bytes that a copy kernel writes in a call; an element that is written twice counts once."""
    sizes = sizes_of_call(function, arguments)
    return sum(
        min(evaluate(count, sizes), prod(arguments[i])) * item_bytes(function.params[i].ty.dtype)
        for i, count in written.items()
    )
