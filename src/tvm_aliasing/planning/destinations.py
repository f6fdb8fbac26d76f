"""Where kernels write their results: over an argument, or where a concat would move them to."""

from typing import NamedTuple

from tvm import ir, relax, sym, tirx

from ..analysis.alias_classes import AliasClasses
from ..analysis.bindings import bindings_of, is_call
from ..analysis.byte_ranges import byte_size, has_byte_ranges, same
from ..analysis.expressions import variables
from ..analysis.liveness import Liveness
from ..analysis.offsets import demands_zero_offset
from ..analysis.outputs import Outputs
from ..analysis.places import leaves, roots_of
from ..analysis.symbols import (
    call_symbols,
    in_caller,
    output_types,
    points_of_symbols,
)
from ..output_policies import may_be_part
from ..values import item_bytes
from .overwrites import Overwrites
from .profile import Profile
from .updates import Updates


class Piece(NamedTuple):
    """An operand of a join: its variable, and the byte of the result where it begins."""

    operand: relax.Expr
    begin: ir.Expr


class Join(NamedTuple):
    """A join that is not run.

    Attributes
    ----------
    buffer : relax.Var
        The result of the outermost join, of which this one's result is a range.
    begin : Expr
        The byte there with which this one's result begins.
    copied : list of Piece
        The operands that are computed elsewhere.
    """

    buffer: relax.Var
    begin: ir.Expr
    copied: list


class Destinations:
    """What of a function can be written in place.

    First what can be written over arguments, as `Overwrites` says. Then the operands of joins: one
    can, where one kernel of the same block makes all of it, where it has no other place already,
    where all that use it can do so at an offset, and where it is not returned or the output policy
    lets an output be a range of the buffer; what was written over it, or it over, moves with it. Of
    an operand that comes twice the second is copied. The operands made first are given up until
    writing in place no longer raises the most bytes live: the buffer is live from the first of them
    on.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
        Before `CallTIRRewrite`.
    policy : str
        The output policy.
    joining : dict of GlobalVar to list
        The kernels that join, as `pieces_joined` describes them.
    updating : dict of GlobalVar to (int, list)
        The kernels that update, as `pieces_updated` describes them.
    overwriting : dict of GlobalVar to dict
        The kernels that may write over arguments, as `overwritable` describes them.
    over : bool
        Whether arguments may be overwritten that are no donated parameters.

    Attributes
    ----------
    joins : dict of Var to Join
        By the variable that a join's result is bound to.
    updates : dict of Var to Expr
        By the variable that an update's result is bound to the argument that holds it.
    places : dict of Root to (Var, Expr)
        For each result of a kernel that is written into a join's, or into what is updated: the
        buffer, and the byte there.
    overwrites : dict of Root to Overwrite
        For each result of a kernel that is written over an argument.
    allocated_before : dict of Var to list of Var
        By the variable of a binding the buffers that must be there from then on.
    classes : AliasClasses
    """

    def __init__(self, mod, function, policy, *, joining, updating, overwriting, over):
        self._mod, self._policy, self._joining = mod, policy, joining
        self.classes = AliasClasses(mod, function, elided=True)
        self._demanding = demands_zero_offset(mod, function, self.classes)
        self._outputs, self._returned = Outputs(self.classes), roots_of(self.classes.result)
        self._liveness = Liveness(mod, function, self.classes)
        self._symbols = points_of_symbols(function, self._liveness)
        self._profile = Profile(function, self.classes, self._liveness)
        self._storages = Overwrites(
            overwriting,
            policy,
            over=over,
            classes=self.classes,
            liveness=self._liveness,
            demanding=self._demanding,
            profile=self._profile,
        )
        self.overwrites = self._storages.chosen
        # Of each value that may lie in one of several storages, these.
        self._unsure = [
            {self._storages.place_of(root)[0] for root in leaf}
            for places in self.classes.places.values()
            for leaf in leaves(places)
            if len(leaf) > 1
        ]
        self._first = {}  # buffer -> the first root in it
        self._holders = {}  # root -> the results of joins that it lies in, inside out
        self.joins, self.places, self.allocated_before = {}, {}, {}
        self._updates = Updates(mod, function, updating, self._storages, self._can_move)
        self.updates, self.places = self._updates.chosen, dict(self._updates.places)
        found = [
            binding
            for binding in bindings_of(function.body)
            if is_call(binding.value, "relax.call_tir") and binding.value.args[0] in joining
        ]
        for binding in reversed(found):  # so that what another one joins has its place first
            self._choose(binding)
        for buffer, root in self._first.items():
            self.allocated_before.setdefault(self._made_by(root).var, []).append(buffer)

    def _choose(self, join):
        (result,) = self.classes.places[join.var]
        if result in self._updates.places:
            return
        buffer, begin = self.places.get(result, (join.var, tirx.const(0, "int64")))
        pieces = self._pieces(join.value, begin)
        if pieces is None or self.classes.memory_of(result).scope != "global":
            return
        movable = self._surely_placed(self._carried(join, result, pieces), buffer, result)
        size = self._profile.size(buffer.ty)
        carried = {}
        for is_returned in (False, True):  # what is returned holds the whole buffer to the end
            more = {r: movable[r] for r in movable if self._is_returned(r) == is_returned}
            while more and not self._profile.merge(list(more), result, size):
                del more[min(more, key=self._point_of)]
            carried |= more
        if not carried:
            return
        self.places |= {root: (buffer, piece.begin) for root, piece in carried.items()}
        holders = result, *self._holders.get(result, ())
        self._holders |= dict.fromkeys(carried, holders)
        earliest = min([*carried, self._first.get(buffer, result)], key=self._point_of)
        self._first[buffer] = earliest
        written = list(carried.values())
        copied = [piece for piece in pieces if not any(piece is other for other in written)]
        self.joins[join.var] = Join(buffer, begin, copied)

    def _pieces(self, call, begin):
        """The operands of a join whose result begins at a byte, or None where a size is unknown."""
        symbols = call_symbols(self._mod[call.args[0]], call)
        (result,) = output_types(call)
        pieces = []
        for i, element in self._joining[call.args[0]]:
            element = in_caller(element, symbols)
            if element is None or not has_byte_ranges(call.args[1][i].ty):
                return None
            at = sym.Analyzer().simplify(begin + element * item_bytes(result.dtype))
            pieces.append(Piece(call.args[1][i], at))
        return pieces

    def _carried(self, join, result, pieces):
        """The pieces that kernels can write where they belong, by what was made first in each."""
        carried = {}
        for piece in pieces:
            place = self._storages.storage_of(piece.operand)
            if place is not None and same(place[1], 0):
                root, _ = place
                movable = self._can_move(piece.operand, root, piece.begin, join, result)
                if root not in carried and movable:
                    carried[root] = piece
        return carried

    def _surely_placed(self, movable, buffer, result):
        """The pieces without those that a value is one or another of, as after an `If`.

        Once both lie in one buffer, nothing says where in it that value lies.
        """
        inside = {root for root, (its, _) in self.places.items() if its.same_as(buffer)}
        inside |= {result, *self._holders.get(result, ()), *movable}
        found = [bases & inside for bases in self._unsure]
        unsure = {root for bases in found if len(bases) > 1 for root in bases}
        return {root: piece for root, piece in movable.items() if root not in unsure}

    def _can_move(self, operand, root, begin, join, result):
        """Whether an operand, which lies in some storage, can lie in the result of a join."""
        if root.kind != "fresh" or root in self.places:
            return False
        members = {member for member, _ in self._storages.members(root)}
        if result in members:
            return False
        if self._is_returned(root) and not self._may_hold_outputs(join, result):
            return False
        if not self._stays_whole(root, join, result):
            return False
        if members & self._demanding and not same(begin, 0):
            return False
        made = self._made_by(root)
        return (
            is_call(made.value, "relax.call_tir")
            and self._is_known(begin, join, result, self._point_of(root))
            and self._path_of(made) == self._path_of(join)
            and self.classes.memory_of(root) == self.classes.memory_of(result)
            # All of what the kernel makes, and no view of a part.
            and same(byte_size(self.classes.type_of(root)), byte_size(operand.ty))
        )

    def _stays_whole(self, root, join, result):
        """Whether nothing is written over an operand while it, or what holds it, is needed."""
        storages, joined = self._storages, self._liveness.point_of[join.var]
        if any(point > joined for point in storages.overwritten_at(root)):
            return False
        return not any(
            read.point >= point
            for holder in (result, *self._holders.get(result, ()))
            for point in storages.overwritten_at(holder)
            for member, _ in storages.members(root)
            for read in storages.reads.beside(point, member)
        )

    def _is_known(self, begin, join, result, point):
        """Whether the sizes that a place depends on are known at a point, and not cast later."""
        buffer, _ = self.places.get(result, (join.var, 0))
        sizes = [*buffer.ty.shape.values, begin]
        return all(
            self._symbols.get(var, point) <= point
            for size in sizes
            if not isinstance(size, int)
            for var in variables(size)
        )

    def _is_returned(self, root):
        """Whether the function returns something that lies in a storage."""
        return any(member in self._returned for member, _ in self._storages.members(root))

    def _may_hold_outputs(self, join, result):
        """Whether outputs may be ranges of the buffer that a join's result lies in."""
        buffer, _ = self.places.get(result, (join.var, 0))
        (root,) = self.classes.places[buffer]
        whole = root in self._outputs.whole
        return may_be_part(self._policy, root, of_output=whole, donated=False)

    def _made_by(self, root):
        return self.classes.binding_of[root]

    def _point_of(self, root):
        return self._liveness.point_of[self._made_by(root).var]

    def _path_of(self, binding):
        return self._liveness.points[self._liveness.point_of[binding.var]].path
