"""The memory and the kernels of one call."""

from dataclasses import dataclass
from math import prod

import tvm
from tvm import ir, relax, tirx
from tvm.relax.analysis import post_order_visit

from ..analysis.moves import moves
from ..errors import UnsupportedError
from ..values import check_arguments, evaluate, item_bytes
from . import native
from .sizes import sizes_within, with_match_casts


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
        Largest number of bytes live in the virtual machine's allocators during the call; inputs
        and weights excluded, outputs included. None when nothing was run.
    retained : int or None
        Bytes still held after the call, outputs kept. None when nothing was run.
    workspace, live_bound, value_bound : int or None
        None: not measured yet.
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
    workspace: int | None
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
    planned_module = built.stages["planned"]
    sizes = check_arguments(planned_module[built.entry].params, tensors)
    counter = _KernelCounter(planned_module)
    twin = built.bytecode_twin()
    peak, retained = _peak_and_retained(twin, tensors, counter)
    if twin is not built:
        peak, retained = _peak_and_retained(built, tensors)
    return MemoryReport(
        requested=_allocated(planned_module, built.entry, _tensor_bytes, sizes),
        planned=_allocated(planned_module, built.entry, _storage_bytes, sizes),
        peak=peak,
        retained=retained,
        workspace=None,
        live_bound=None,
        value_bound=None,
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
            callee = mod.functions.get(call.op) if isinstance(call.op, ir.GlobalVar) else None
            if isinstance(callee, relax.Function) and call.op.name_hint not in active:
                within = sizes_within(callee, call, sizes)
                found += total(callee, {*active, call.op.name_hint}, within)
        return found

    return total(mod[name], {name}, sizes)


def _storage_bytes(call):
    """What a call allocates as storage, or None where it allocates none."""
    if call.op.same_as(ir.Op.get("relax.memory.alloc_storage")):
        return prod(call.args[0].values, start=tirx.const(1, "int64"))
    return None


def _tensor_bytes(call):
    """What a call allocates as a tensor, or None where it allocates none."""
    if call.op.same_as(ir.Op.get("relax.memory.alloc_tensor")):
        count = prod(call.args[2].values, start=tirx.const(1, "int64"))
        return count * item_bytes(call.args[3].value)
    return None


def _peak_and_retained(built, tensors, instrument=None):
    """Bytes at the peak of a call in a machine of its own, and after it with the result kept."""
    native.load()
    live, peak, reset = (
        tvm.get_global_func(f"tvm_aliasing.{name}")
        for name in ("live_bytes", "peak_bytes", "reset_peak")
    )
    machine = built.machine(memory_cfg="naive")
    if instrument is not None:
        machine.set_instrument(instrument)
    before = live()
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
        # Functions that compute shapes come later in the pipeline and are not in this module.
        self._written = {
            name.name_hint: _written_by_moves(function)
            for name, function in planned_module.functions_items()
            if isinstance(function, tirx.PrimFunc)
        }

    def __call__(self, _function, name, before, _result, *arguments):
        if before and name in self._written:
            self.kernels += 1
            written = self._written[name]
            if written is not None:
                self.copy_kernels += 1
                self.bytes_copied += sum(_bytes(arguments[i]) for i in written)
        return 0  # TVM's code for "go on"


def _written_by_moves(function):
    """Positions of the parameters that a copy kernel writes; None for any other kernel."""
    found = moves(function)
    if found is None:
        return None
    return [
        i
        for i, param in enumerate(function.params)
        if any(move.dest.same_as(param) for move in found)
    ]


def _bytes(tensor):
    return prod(tensor.shape) * item_bytes(tensor.dtype)
