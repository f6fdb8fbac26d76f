"""What another order of a program's kernels would give in memory by itself."""

from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.orders import blocks_of, named, needs, neighbours, runs
from ..values import check_arguments
from .bounds import live_bytes


@dataclass(frozen=True)
class Reordering:
    """What a search for a better order found.

    Attributes
    ----------
    bound_before, bound_after : int or None
        The live bounds, in bytes; None where functions call themselves.
    moves : tuple of str
        What moved before what, one after the other.
    settled : bool
        Whether the search ended because no further move helps.
    planned : tvm.IRModule
        The reordered program, planned.
    """

    bound_before: int | None
    bound_after: int | None
    moves: tuple[str, ...]
    settled: bool
    planned: tvm.IRModule


@dataclass(frozen=True)
class _State:
    order: tuple
    moves: tuple
    planned: tvm.IRModule
    peak: tuple  # the bound, and how many points reach it


def reordered_bound(built, *arrays, evaluations=1000):
    """Look for an order of a build's kernels with a lower live bound.

    The program is taken after the front, where it has value semantics. Bindings move within their
    block as far as what they read and who reads them allow, and the approach decides anew what
    shares bytes. In each step every binding is tried alone and with what only it needs, as late
    and as early as it may stand. Kept is what gives the lowest bound and then the fewest points at
    it, so that equal peaks fall one at a time.

    Parameters
    ----------
    built : Built
    *arrays : ndarray
        As for `Built.run`.
    evaluations : int
        Most orders that are tried.

    Returns
    -------
    Reordering

    Raises
    ------
    InputError
        The arrays do not fit, or the build has no program without aliasing after its front.
    UnsupportedError
        A size depends on data.
    """
    # First, because it refuses builds that have no such program.
    planned = built.planned_from(built.stages.get("front"))
    peaks = _Peaks(built, arrays)
    peak = peaks.of(planned)
    if peak is None:
        return Reordering(None, None, (), True, planned)
    before, program = peak[0], _Program(built.stages["front"])
    current = lowest = _State(program.order, (), planned, peak)
    settled = False
    while not settled and evaluations > 0:
        candidates = list(program.neighbours(current.order))
        best = current
        for words, order in candidates[:evaluations]:
            planned = built.planned_from(program.in_order(order))
            peak = peaks.of(planned, below=best.peak)
            if peak is not None:
                best = _State(order, (*current.moves, words), planned, peak)
        settled = best is current and len(candidates) <= evaluations
        evaluations -= len(candidates)
        current = best
        if current.peak[0] < lowest.peak[0]:
            lowest = current  # a peak that fell while an equal one stands is no finding
    return Reordering(before, lowest.peak[0], lowest.moves, settled, lowest.planned)


class _Peaks:
    """The peaks of a build's program in other orders."""

    def __init__(self, built, arrays):
        self._built, self._arrays = built, arrays
        self._workspaces = []  # (kernels, their workspaces)

    def of(self, planned, below=None):
        """(live bound, points that reach it); None where not below a given peak, or unbounded."""
        entry = self._built.entry
        sizes = check_arguments(planned[entry].params, self._arrays)
        # Workspaces only add, and finding them takes a hundred times as long as the rest.
        peak = _highest(live_bytes(planned, entry, sizes, None))
        if peak is not None and (below is None or peak < below):
            peak = _highest(live_bytes(planned, entry, sizes, self._workspaces_of(planned)))
        return peak if below is None or peak < below else None

    def _workspaces_of(self, planned):
        kernels = _only(tirx.PrimFunc, planned)
        for known, workspaces in self._workspaces:
            if tvm_ffi.structural_equal(known, kernels):
                return workspaces
        self._workspaces.append((kernels, self._built.workspaces_of(planned)))
        return self._workspaces[-1][1]


def _highest(live):
    return live and (max(live), live.count(max(live)))


def _only(kind, mod):
    return tvm.IRModule({n: f for n, f in mod.functions_items() if isinstance(f, kind)})


class _Program:
    """A module whose bindings move; an order holds a tuple of positions for each run of them."""

    def __init__(self, mod):
        self._mod = mod
        self._runs = [
            (block, run, needs(block.bindings))
            for function in _only(relax.Function, mod).functions.values()
            for block in blocks_of(function.body)
            for run in runs(block.bindings)
        ]
        self.order = tuple(tuple(run) for _, run, _ in self._runs)

    def neighbours(self, order):
        """What `analysis.orders.neighbours` gives, each move in words and for all runs."""
        for number, (block, _, needed) in enumerate(self._runs):
            for group, later, moved in neighbours(order[number], needed):
                words = _words(block.bindings, group, later, moved)
                yield words, (*order[:number], moved, *order[number + 1 :])

    def in_order(self, order):
        """The module in another order."""
        bindings = {}
        for (block, run, _), positions in zip(self._runs, order):
            placed = bindings.setdefault(block, list(block.bindings))
            placed[run.start : run.stop] = [block.bindings[i] for i in positions]
        mod = self._mod.clone()
        for name, function in _only(relax.Function, mod).functions.items():
            mod[name] = _Reorderer(mod, bindings).visit_expr(function)
        return mod


def _words(bindings, group, later, order):
    after = order.index(group[-1]) + 1
    who = " and ".join(named(bindings[i]) for i in group)
    where = f"before {named(bindings[order[after]])}" if after < len(order) else "to the end"
    return f"{who} {'later' if later else 'earlier'}, {where}"


@mutator
class _Reorderer(PyExprMutator):
    def __init__(self, mod, bindings):
        super().__init__(mod)
        self._bindings = bindings

    def visit_dataflow_block_(self, block):
        return super().visit_dataflow_block_(relax.DataflowBlock(self._ordered(block)))

    def visit_binding_block_(self, block):
        return super().visit_binding_block_(relax.BindingBlock(self._ordered(block)))

    def _ordered(self, block):
        return self._bindings.get(block, block.bindings)
