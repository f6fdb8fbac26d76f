"""Kernels that are given the same bytes twice, to read and to write."""

from typing import NamedTuple

import tvm
import tvm_ffi
from tvm import ir, relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator
from tvm.s_tir import renew_defs
from tvm.tirx.transform import RemoveNoOp

from ..analysis.alias_classes import AliasClasses
from ..analysis.bindings import bindings_of, callee_of
from ..analysis.byte_ranges import may_overlap, same
from ..analysis.moves import begins_at_zero
from ..analysis.writes import written_params
from .drop_noalias import DropNoalias


class Overlap(NamedTuple):
    """How what a kernel writes lies over its other arguments.

    Attributes
    ----------
    merged : tuple of (int, int)
        A parameter and an earlier one that is given the same tensor.
    partial : bool
        Whether arguments overlap in another way: as tensors of other types, say.
    """

    merged: tuple[tuple[int, int], ...]
    partial: bool


def overlap_of(call, kernel, classes):
    """The overlap of a call's arguments, or None where there is none.

    Parameters
    ----------
    call : relax.Call
        Of a kernel in a planned module: its outputs are arguments.
    kernel : tvm.tirx.PrimFunc
    classes : AliasClasses
        Of the function that calls it.

    Returns
    -------
    Overlap or None
    """
    tensors = [i for i, arg in enumerate(call.args) if isinstance(arg.ty, relax.TensorType)]
    first, partial = {}, False
    for output in written_params(kernel):
        for other in tensors:
            if other == output or not may_overlap(call.args[output], call.args[other], classes):
                continue
            if _are_one(call.args, kernel, output, other, classes):
                one, another = sorted((_first(first, output), _first(first, other)))
                if one != another:
                    first[another] = one
            else:
                partial = True
    merged = tuple((i, _first(first, i)) for i in sorted(first))
    return Overlap(merged, partial) if merged or partial else None


def _first(first, i):
    """The first parameter that is given the same tensor as parameter `i`, as far as is known."""
    while i in first:
        i = first[i]
    return i


def _are_one(arguments, kernel, one, other, classes):
    """Whether two arguments are the same bytes as tensors of the same type."""
    params = kernel.params[one], kernel.params[other]
    if not all(map(begins_at_zero, params)):
        return False
    alike = tvm_ffi.structural_equal(*(param.ty for param in params))
    places, others = classes.of(arguments[one]), classes.of(arguments[other])
    surely = len(places) == len(others) == 1  # after an `If` a value may be one of several
    return alike and surely and all(same(at, others.get(root)) for root, at in places.items())


def overlaid(kernel, merged):
    """A kernel whose parameters that are given the same tensor are one.

    What stores an element where it is goes.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc
    merged : tuple of (int, int)
        As in `Overlap`; not empty.

    Returns
    -------
    tvm.tirx.PrimFunc
    """
    renamed = {kernel.params[i]: kernel.params[j] for i, j in merged}
    body = tvm_ffi.structural_map(kernel.body, (ir.Var, lambda var: renamed.get(var, var)))
    params = [param for param in kernel.params if param not in renamed]
    kernel = renew_defs(tirx.PrimFunc(params, body, kernel.ret_type, kernel.attrs))
    return RemoveNoOp()(tvm.IRModule({"main": kernel}))["main"]


@tvm.transform.module_pass(opt_level=0, name="AcceptOverlaps")
class AcceptOverlaps:
    """Call kernels that are given the same bytes twice in a form that allows it.

    Parameters that are given the same tensor become one. Where anything else overlaps,
    `tirx.noalias` would be a lie, and no kernel keeps it: TVM's LLVM code generator takes that of
    the kernel whose name sorts last for all of them.

    Runs on a planned module, where every argument is known, and after scheduling, as
    `AcceptOffsets`. Other calls of the same kernels stay as they are.
    """

    def transform_module(self, mod, _context):
        """Return the module with those kernels, and their calls."""
        overlaps = {}
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                found = _overlaps_in(mod, function)
                if found:
                    overlaps[name] = found
        if not overlaps:
            return mod
        caller = _Caller(mod)
        for name, found in overlaps.items():
            caller.builder_.update_func(name, caller.call(mod[name], found))
        mod = caller.builder_.get()
        partial = any(overlap.partial for found in overlaps.values() for overlap in found.values())
        return DropNoalias()(mod) if partial else mod


def _overlaps_in(mod, function):
    """The overlaps of a function's calls, by the variable of the binding."""
    classes = AliasClasses(mod, function, elided=True)
    found = {}
    for binding in bindings_of(function.body):
        callee = callee_of(binding.value, mod)
        if isinstance(callee, tirx.PrimFunc):
            overlap = overlap_of(binding.value, callee, classes)
            if overlap is not None:
                found[binding.var] = overlap
    return found


@mutator
class _Caller(PyExprMutator):
    def __init__(self, mod):
        super().__init__(mod)
        self._mod = mod
        self._kernels = {}  # (kernel, what is merged) -> the kernel for that

    def call(self, function, overlaps):
        """A function with the kernels of its overlaps."""
        self._overlaps = overlaps
        return self.visit_expr(function)

    def visit_var_binding_(self, binding):
        overlap = self._overlaps.get(binding.var)
        if overlap is None or not overlap.merged:
            super().visit_var_binding_(binding)
            return
        call = self.visit_expr(binding.value)
        key = call.op, overlap.merged
        if key not in self._kernels:
            kernel = overlaid(self._mod[call.op], overlap.merged)
            self._kernels[key] = self.builder_.add_func(kernel, f"{call.op.name_hint}_in_place")
        dropped = dict(overlap.merged)
        arguments = [arg for i, arg in enumerate(call.args) if i not in dropped]
        made = relax.Call(self._kernels[key], arguments, call.attrs, call.ty_args)
        self.builder_.emit_normalized(relax.VarBinding(binding.var, self.builder_.normalize(made)))
