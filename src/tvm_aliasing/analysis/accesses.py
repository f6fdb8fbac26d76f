"""The loads and stores of a PrimFunc's body, each with its place in the program."""

from dataclasses import dataclass

import tvm
import tvm_ffi
from tvm import ir, sym, tirx
from tvm.s_tir import SBlock, SBlockRealize
from tvm.s_tir.transform import ConvertBlocksToOpaque, LowerInitBlock

#: Annotations and attributes that leave the order of statements as it is; `axis` is a note of TOPI.
_HARMLESS = {"axis", "buffer_dim_align", "pragma_auto_unroll_max_step", "pragma_unroll_explicit"}


@dataclass(frozen=True, eq=False)
class Access:
    """A load or a store of one element, in every iteration of the loops around it.

    Attributes
    ----------
    buffer : Var
    indices : tuple of Expr
        In the variables of the loops, where what they are bound to can be read off.
    place : tuple of int and tirx.For
        The way to it from the root: each loop that is entered, and the position of each statement
        or part of one among those that run one after the other.
    is_store : bool
    """

    buffer: ir.Var
    indices: tuple[ir.Expr, ...]
    place: tuple[int | tirx.For, ...]
    is_store: bool

    @property
    def loops(self):
        """The loops around the access, outermost first."""
        return loops_of(self.place)


def loops_of(place):
    """The loops on the way to a place, outermost first."""
    return [step for step in place if isinstance(step, tirx.For)]


def accesses(func):
    """Every load and store of a PrimFunc.

    Parameters
    ----------
    func : tvm.tirx.PrimFunc

    Returns
    -------
    list of Access, or None
        In program order. None where the body may touch memory in any other way, or in another
        order than that of its statements.
    """
    if _is_annotated(func.body):  # lowering drops the annotations of blocks
        return None
    lowered = tvm.ir.transform.Sequential([LowerInitBlock(), ConvertBlocksToOpaque()])(
        tvm.IRModule({"main": func})
    )
    collector = _Collector()
    try:
        collector.visit(lowered["main"].body, ())
    except _OpaqueError:
        return None
    return collector.found


class _OpaqueError(Exception):
    """Something whose effect on memory is not known."""


def _is_annotated(body):
    """Whether loops or blocks carry annotations that may change the order of what they do."""
    keys = []
    tvm_ffi.structural_walk(
        body, [(kind, lambda node: keys.extend(node.annotations)) for kind in (tirx.For, SBlock)]
    )
    return not _HARMLESS.issuperset(keys)


class _Collector:
    def __init__(self):
        self.found = []
        self._bound = {}
        self._loop_vars = set()

    def visit(self, statement, place):
        """Collect what a statement does at a place."""
        match statement:
            case tirx.SeqStmt():
                for i, part in enumerate(statement.seq):
                    self.visit(part, (*place, i))
            case tirx.For():
                self._visit_loop(statement, place)
            case SBlockRealize() if not statement.block.match_buffers:
                self._loads(statement.predicate, (*place, 0))
                self.visit(statement.block.body, (*place, 1))
            case tirx.IfThenElse():
                self._loads(statement.condition, (*place, 0))
                self.visit(statement.then_case, (*place, 1))
                if statement.else_case is not None:
                    self.visit(statement.else_case, (*place, 2))
            case tirx.BufferStore():
                for part in (statement.value, *statement.indices):
                    self._loads(part, (*place, 0))
                self._add(statement.buffer, statement.indices, (*place, 1), is_store=True)
            case tirx.Bind():
                self._loads(statement.value, place)
                self._bind(statement.var, statement.value)
            case tirx.AssertStmt():
                self._loads(statement.condition, place)
            case tirx.AttrStmt() if statement.attr_key in _HARMLESS:
                self.visit(statement.body, place)
            case tirx.Evaluate():
                self._loads(statement.value, place)
            case tirx.AllocBuffer():
                pass
            case _:
                raise _OpaqueError

    def _visit_loop(self, loop, place):
        if loop.step is not None and not sym.Analyzer().can_prove_equal(loop.step, 1):
            raise _OpaqueError
        if loop.loop_var in self._loop_vars:  # one name, two ranges
            raise _OpaqueError
        self._loop_vars.add(loop.loop_var)
        # Generated C evaluates the bounds again in every iteration.
        for bound in (loop.min, loop.extent):
            self._loads(bound, (*place, loop, 0))
        self.visit(loop.body, (*place, loop, 1))

    def _bind(self, var, value):
        # The value of a load is not that of the same load later.
        self._bound[var] = None if _reads(value) else self._expanded(value)

    def _expanded(self, expression):
        return tvm_ffi.structural_map(
            expression, (ir.Var, lambda var: var if (v := self._bound.get(var)) is None else v)
        )

    def _add(self, buffer, indices, place, is_store):
        if any(index.ty.dtype.lanes != 1 for index in indices):
            raise _OpaqueError
        indices = tuple(map(self._expanded, indices))
        self.found.append(Access(buffer, indices, place, is_store))

    def _loads(self, expression, place):
        """Collect the loads of an expression, which must do nothing else to memory."""
        variables, loads, calls = [], [], []
        tvm_ffi.structural_walk(
            expression,
            ((ir.TensorLoad, loads.append), (ir.Call, calls.append), (ir.Var, variables.append)),
        )
        # A buffer that is not loaded from here is handed to something that does as it likes.
        buffers = [var for var in variables if isinstance(var.ty, tirx.BufferType)]
        if len(buffers) != len(loads) or not all(map(_is_pure, calls)):
            raise _OpaqueError
        for load in loads:
            self._add(load.source, load.indices, place, is_store=False)


def _reads(expression):
    found = []
    tvm_ffi.structural_walk(expression, (ir.TensorLoad, found.append))
    return bool(found)


def _is_pure(call):
    """Whether a call computes its result from the values of its arguments and does nothing else."""
    if not isinstance(call.op, ir.Op) or call.op.same_as(ir.Op.get("tirx.address_of")):
        return False
    pure = (tirx.CallEffectKind.ExprAnnotation.value, tirx.CallEffectKind.Pure.value)
    return call.op.get_attr("TCallEffectKind") in pure
