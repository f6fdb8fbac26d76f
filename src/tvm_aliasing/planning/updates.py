"""Which updates in place need not run, because what they put in can be computed there."""

from tvm import relax, sym

from ..analysis.bindings import bindings_of, is_call
from ..analysis.byte_ranges import apart, as_number, byte_size, same
from ..analysis.places import shifted
from ..analysis.symbols import call_symbols, in_caller, output_types
from ..values import item_bytes


class Updates:
    """The updates of a function that are not run.

    One that is written over what it updates has nothing left to do, where each piece that it puts
    in is made by one kernel of the same block that can write it where it belongs. Nothing may read
    the bytes there from then until the update, nor the piece by itself after it.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
    kernels : dict of GlobalVar to (int, list)
        The kernels that update, as `pieces_updated` describes them.
    storages : Overwrites
        Of that function.
    can_move : callable
        Called with a piece, the storage that it lies in, the byte where it would begin, the binding
        of the update and the root of its result: whether the piece can be computed there.

    Attributes
    ----------
    chosen : dict of Var to Expr
        By the variable of an update's binding the argument that holds its result.
    places : dict of Root to (Var, int or Expr)
        For each piece the tensor that it is put into, and the byte there.
    """

    def __init__(self, mod, function, kernels, storages, can_move):
        self._mod, self._function, self._kernels = mod, function, kernels
        self._storages, self._can_move = storages, can_move
        self.chosen, self.places = {}, {}
        for binding in bindings_of(function.body):
            if is_call(binding.value, "relax.call_tir") and binding.value.args[0] in kernels:
                self._choose(binding)

    def _choose(self, update):
        call, storages = update.value, self._storages
        updated, pieces = self._kernels[call.args[0]]
        (result,) = storages.classes.places[update.var]
        over = storages.chosen.get(result)
        if over is None or not over.argument.same_as(call.args[1][updated]):
            return
        base = self._variable(over.base)
        symbols = call_symbols(self._mod[call.args[0]], call)
        width = item_bytes(output_types(call)[0].dtype)
        places, ranges = {}, []
        for i, element in pieces:
            element = in_caller(element, symbols)
            stored = storages.storage_of(call.args[1][i])
            if base is None or element is None or stored is None or not same(stored[1], 0):
                return
            begin = as_number(sym.Analyzer().simplify(over.begin + element * width))
            root, piece = stored[0], call.args[1][i]
            if root in places or not self._can_move(piece, root, begin, update, result):
                return
            size = byte_size(piece.ty)
            if not self._is_unread(root, over.base, begin, size, update):
                return
            if not all(apart(begin, size, *other) for other in ranges):
                return
            places[root] = base, begin
            ranges.append((begin, size))
        if storages.profile.merge(list(places), over.base):
            self.places |= places
            self.chosen[update.var] = over.argument
            for root, (_, begin) in places.items():
                storages.put(root, over.base, begin)

    def _variable(self, base):
        """The variable that is the whole of a storage, or None where that is a field of a tuple."""
        if base.kind == "param":
            var = self._function.params[base.site[0]]
        else:
            var = self._storages.classes.binding_of[base].var
        return var if isinstance(var.ty, relax.TensorType) else None

    def _is_unread(self, root, base, begin, size, update):
        """Whether nothing needs what is there once a piece is made, nor the piece once it is in."""
        storages, points = self._storages, self._storages.liveness.point_of
        made, put = points[storages.classes.binding_of[root].var], points[update.var]
        if base.kind == "fresh" and points[storages.classes.binding_of[base].var] >= made:
            return False
        between = [
            apart(begin, size, shifted(offset, read.begin), read.size)
            for member, offset in storages.members(base)
            for read in storages.reads.beside(made, member)
            if made <= read.point < put
        ]
        return all(between) and not any(
            storages.reads.after(put, member) for member, _ in storages.members(root)
        )
