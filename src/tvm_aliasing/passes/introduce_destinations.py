"""Let what a concat joins be computed in its place: calls with a destination."""

import tvm
from tvm import relax, tirx, topi
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import may_write_in_place
from ..analysis.joins import pieces_joined
from ..analysis.places import leaves
from ..analysis.symbols import output_types
from ..output_policies import policies
from ..planning.destinations import Destinations


@tvm.transform.module_pass(opt_level=0, name="IntroduceDestinations")
class IntroduceDestinations:
    """Replace concats by a buffer of which the kernels before them write their ranges.

    The buffer is allocated before the first of them. Each is given its range, a `memory.view`, as a
    destination, by `call_tir_inplace`. An operand that has to be computed elsewhere is copied into
    its range, and only that one. Nothing is introduced in a module that writes in place already.

    Parameters
    ----------
    policy : str
        The output policy.
    """

    def __init__(self, policy):
        self.policy = policy

    def transform_module(self, mod, _context):
        """Return the module with the destinations in place of the concats."""
        joining = {
            name: pieces
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc)
            and (pieces := pieces_joined(function)) is not None
        }
        if not joining or may_write_in_place(mod):
            return mod
        writer = _Writer(mod)
        for name, policy in policies(mod, self.policy).items():
            destinations = Destinations(mod, mod[name], joining, policy)
            if destinations.joins:
                writer.builder_.update_func(name, writer.write(mod[name], destinations))
        return writer.builder_.get()


@mutator
class _Writer(PyExprMutator):
    def write(self, function, destinations):
        """A function with its joins replaced."""
        self._destinations = destinations
        self._buffers = {}  # the result of a join -> the variable that is allocated for it
        return self.visit_expr(function)

    def visit_var_binding_(self, binding):
        chosen = self._destinations
        for buffer in chosen.allocated_before.get(binding.var, ()):
            (root,) = chosen.classes.places[buffer]
            self._buffers[buffer] = self._allocate(buffer.ty, root)
        roots = [
            next(iter(leaf), None) for leaf in leaves(chosen.classes.places.get(binding.var, {}))
        ]
        if binding.var in chosen.joins:
            made = self._join(binding)
        elif any(
            root in chosen.places and chosen.classes.binding_of[root].same_as(binding)
            for root in roots
        ):
            made = self._write_in_place(binding.value, roots)
        else:
            super().visit_var_binding_(binding)
            return
        made = self.builder_.normalize(made)
        self.builder_.emit_normalized(relax.VarBinding(binding.var, made))

    def _join(self, binding):
        """The range that holds all operands once those computed elsewhere are copied there."""
        join = self._destinations.joins[binding.var]
        for piece in join.copied:
            operand = self.visit_expr(piece.operand)
            place = self._range(join.buffer, piece.begin, operand.ty)
            copy = self.builder_.call_te(topi.identity, operand, primfunc_name_hint="copy")
            self.builder_.emit(_with_destinations(copy, [place]), "copied")
        return self._range_of(join.buffer, join.begin, binding.var.ty)

    def _write_in_place(self, call, roots):
        """A call that writes its results where they belong."""
        places = []
        for root, ty in zip(roots, output_types(call)):
            if root in self._destinations.places:
                places.append(self._range(*self._destinations.places[root], ty))
            else:
                places.append(self._allocate(ty, root))
        return _with_destinations(self.visit_expr(call), places)

    def _range(self, buffer, begin, ty):
        return self.builder_.emit(self._range_of(buffer, begin, ty), "place")

    def _range_of(self, buffer, begin, ty):
        return relax.op.memory.view(self._buffers[buffer], ty.shape, ty.dtype, begin)

    def _allocate(self, ty, root):
        memory = self._destinations.classes.memory_of(root)
        allocated = relax.op.builtin.alloc_tensor(
            ty.shape, str(ty.dtype), memory.device, memory.scope
        )
        if self.builder_.current_block_is_dataflow():
            return self.builder_.emit_output(allocated, "buffer")  # a later block may use it
        return self.builder_.emit(allocated, "buffer")


def _with_destinations(call, places):
    """A `call_tir` as a call that is given where to write."""
    kernel, arguments = call.args[0], list(call.args[1])
    indices = list(range(len(arguments), len(arguments) + len(places)))
    types = output_types(call)
    return relax.op.call_tir_inplace(
        kernel,
        relax.Tuple([*arguments, *places]),
        indices,
        types if isinstance(call.ty_args[0], relax.TupleType) else types[0],
    )
