"""Which results can be written over an argument that nothing reads afterwards."""

from typing import NamedTuple

from tvm import ir, relax

from ..analysis.alias_classes import Root
from ..analysis.bindings import is_call
from ..analysis.byte_ranges import apart, byte_size, same
from ..analysis.outputs import is_donated
from ..analysis.places import leaves, roots_of, shifted
from ..analysis.reads import Reads
from ..analysis.symbols import output_types
from ..output_policies import may_be_part


class Overwrite(NamedTuple):
    """A result that lies where an argument of its kernel lies.

    Attributes
    ----------
    argument : relax.Expr
    base : Root
        The storage, by what was made in it first.
    begin : int or Expr
        The byte there with which both begin.
    """

    argument: relax.Expr
    base: Root
    begin: int | ir.Expr


class Overwrites:
    """The results of a function that are written over arguments.

    One is, where its kernel may do so, where what lies there is a donated parameter or was made by
    the function itself, where nothing reads those bytes later, and where that does not raise the
    most bytes live. A result that is returned must be all of the storage, unless the output policy
    lets it be a range.

    Parameters
    ----------
    kernels : dict of GlobalVar to dict of int to sequence of int
        For each kernel its outputs that may lie over inputs, as `overwritable` describes them.
    policy : str
        The output policy.
    over : bool
        Whether what the function made itself counts, and not only donated parameters.
    classes : AliasClasses
        Of the function, before `CallTIRRewrite`.
    liveness : Liveness
    demanding : set of Root
        The roots that must begin a storage.
    profile : Profile
        Is told what shares storage.

    Attributes
    ----------
    chosen : dict of Root to Overwrite
    reads : Reads
    """

    def __init__(
        self,
        kernels,
        policy,
        *,
        over,
        classes,
        liveness,
        demanding,
        profile,
    ):
        self._kernels, self._policy, self._over = kernels, policy, over
        self.classes, self.liveness, self.profile = classes, liveness, profile
        self._demanding = demanding
        self._returned = roots_of(classes.result)
        self.reads = Reads(classes, liveness)
        self._members = {}  # root -> those that were put where it lies
        self.chosen = {}
        for number, point in enumerate(liveness.points):
            if point.binding is not None and is_call(point.binding.value, "relax.call_tir"):
                self._choose(number, point.binding)

    def place_of(self, root):
        """The storage that a root lies in, by what was made in it first, and the byte there."""
        chosen = self.chosen.get(root)
        return (root, 0) if chosen is None else (chosen.base, chosen.begin)

    def members(self, base):
        """The roots that lie in the storage of one, with the byte where each begins."""
        return [(base, 0), *self._members.get(base, ())]

    def overwritten_at(self, base):
        """The points at which something is written over what lies in a storage."""
        made_by = (self.classes.binding_of[member].var for member, _ in self.members(base)[1:])
        return [self.liveness.point_of[var] for var in made_by]

    def storage_of(self, argument):
        """The one storage that a tensor lies in, and the byte there; None where not known."""
        places = self.classes.of(argument)
        if isinstance(places, list) or len(places) != 1:
            return None
        ((root, begin),) = places.items()
        base, at = self.place_of(root)
        begin = shifted(at, begin)
        return None if begin is None else (base, begin)

    def put(self, root, base, begin):
        """Note that a root lies in the storage of another one, and at which byte."""
        self._members.setdefault(base, []).append((root, begin))

    def _choose(self, point, binding):
        call = binding.value
        candidates = self._kernels.get(call.args[0], {})
        arguments, types = list(call.args[1]), output_types(call)
        results = leaves(self.classes.places[binding.var])
        written = []  # an argument has room for one result
        for output, inputs in sorted(candidates.items()):
            result = output - len(arguments)
            (root,) = results[result]
            size = byte_size(types[result])
            places = {i: self.storage_of(arguments[i]) for i in inputs}
            # A donated parameter takes no bytes of its own.
            for i in sorted(inputs, key=lambda i: (not self._is_param(places[i]), i)):
                if places[i] is None or size is None or places[i] in written:
                    continue
                chosen = Overwrite(arguments[i], *places[i])
                can = self._can(point, call, inputs, root, size, chosen)
                if can and self.profile.merge([root], chosen.base):
                    self.chosen[root] = chosen
                    self.put(root, chosen.base, chosen.begin)
                    written.append(places[i])
                    break

    def _is_param(self, place):
        return place is not None and place[0].kind == "param"

    def _can(self, point, call, inputs, root, size, chosen):
        """Whether a result of some bytes can be written over an argument."""
        _, base, begin = chosen
        if not self._may_write(base) or not self._same_memory(root, base):
            return False
        if root in self._demanding and not same(begin, 0):
            return False
        if root in self._returned and not self._may_be_output(base, begin, size):
            return False
        return self._nothing_else_reads(call, inputs, chosen, size) and self._is_dead(
            point, base, begin, size
        )

    def _may_write(self, base):
        if base.kind == "param":
            return is_donated(self.classes.function, base)
        return base.kind == "fresh" and self._over and base not in self.classes.foreign

    def _may_be_output(self, base, begin, size):
        """Whether an output may lie in some bytes of a storage that no other output lies in."""
        whole = same(begin, 0) and same(byte_size(self.classes.type_of(base)), size)
        return whole or may_be_part(self._policy, base, of_output=False, donated=True)

    def _same_memory(self, root, base):
        memory = self.classes.memory_of(root)
        return memory.scope == "global" and memory == self.classes.memory_of(base)

    def _nothing_else_reads(self, call, inputs, chosen, size):
        """Whether no other argument, and no result, has the bytes that are written."""
        _, base, begin = chosen
        for i, argument in enumerate(call.args[1]):
            if not isinstance(argument.ty, relax.TensorType):
                continue
            places = self.classes.of(argument)
            surely = len(places) == 1  # after an `If` a value may be one of several
            for root, at in places.items():
                held, offset = self.place_of(root)
                if held != base:
                    continue
                at = shifted(offset, at)
                its_size = byte_size(argument.ty)
                over_it = i in inputs and surely and same(at, begin) and same(its_size, size)
                if not over_it and not apart(begin, size, at, its_size):
                    return False
        return True

    def _is_dead(self, point, base, begin, size):
        """Whether nothing that lies in some bytes now is read after a point."""
        return all(
            apart(begin, size, shifted(offset, read.begin), read.size)
            for root, offset in self.members(base)
            for read in self.reads.after(point, root)
        )
