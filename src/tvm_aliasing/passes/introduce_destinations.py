"""Say where kernels write their results: calls with a destination."""

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.relax.expr_functor import PyExprMutator, mutator

from ..analysis.alias_classes import may_write_in_place
from ..analysis.joins import pieces_joined, pieces_updated
from ..analysis.places import leaves
from ..analysis.properties import PROVED
from ..analysis.symbols import output_types
from ..attributes import DONATED
from ..output_policies import policies
from ..planning.destinations import Destinations
from .copies import emit_copy_into, with_places


@tvm.transform.module_pass(opt_level=0, name="IntroduceDestinations")
class IntroduceDestinations:
    """Give kernels the place that they are to write to, by `call_tir_inplace`.

    A result may be written over an argument that nothing reads afterwards: the place is that
    argument, or a `memory.view` of it with the type of the result. A concat is replaced by a buffer
    of which the kernels before it write their ranges, each a view; the buffer is allocated before
    the first of them, and an operand that has to be computed elsewhere is copied into its range,
    only that one. So of an update in place: the kernels before it write into what it updates, and
    it is not run. Nothing is introduced in a module that writes in place already.

    Parameters
    ----------
    policy : str
        The output policy.
    joins : bool
        Whether concats are replaced, and updates of what is written over.
    over : bool
        Whether results are written over arguments that the function made itself; over donated
        parameters they are in any case.
    properties : Properties
        Who says what a kernel may write over: its body or its attributes.
    """

    def __init__(self, policy, *, joins, over, properties=PROVED):
        self.policy, self.joins, self.over = policy, joins, over
        self.properties = properties

    def transform_module(self, mod, _context):
        """Return the module with the places given."""
        joining = _asked(mod, pieces_joined) if self.joins else {}
        updating = _asked(mod, pieces_updated) if self.joins else {}
        donated = any(f.attrs and DONATED in f.attrs for _, f in mod.functions_items())
        overwriting = _asked(mod, self.properties.overwritable) if self.over or donated else {}
        if not (joining or overwriting) or may_write_in_place(mod):
            return mod
        writer = _Writer(mod)
        for name, policy in policies(mod, self.policy).items():
            function = mod[name]
            destinations = Destinations(
                mod,
                function,
                policy,
                joining=joining,
                updating=updating,
                overwriting=overwriting,
                over=self.over,
            )
            if destinations.joins or destinations.overwrites:
                writer.builder_.update_func(name, writer.write(function, destinations))
        return writer.builder_.get()


def _asked(mod, question):
    """What is to be said of the kernels of a module, without those of which there is nothing."""
    return {
        name: answer
        for name, function in mod.functions_items()
        if isinstance(function, tirx.PrimFunc) and (answer := question(function))
    }


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
        if binding.var in chosen.updates:
            made = self._over(chosen.updates[binding.var], binding.var.ty)
        elif binding.var in chosen.joins:
            made = self._join(binding)
        elif any(
            root in (chosen.places | chosen.overwrites)
            and chosen.classes.binding_of[root].same_as(binding)
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
            emit_copy_into(self.builder_, operand, place)
        return self._range_of(join.buffer, join.begin, binding.var.ty)

    def _write_in_place(self, call, roots):
        """A call that writes its results where they belong."""
        places = []
        for root, ty in zip(roots, output_types(call)):
            if root in self._destinations.overwrites:
                places.append(self._over(self._destinations.overwrites[root].argument, ty))
            elif root in self._destinations.places:
                places.append(self._range(*self._destinations.places[root], ty))
            else:
                places.append(self._allocate(ty, root))
        return with_places(self.visit_expr(call), places)

    def _over(self, argument, ty):
        """An argument as the place of a result of some type."""
        argument = self.visit_expr(argument)
        if tvm_ffi.structural_equal(argument.ty, ty):
            return argument
        return self.builder_.emit(relax.op.memory.view(argument, ty.shape, ty.dtype, 0), "place")

    def _range(self, buffer, begin, ty):
        return self.builder_.emit(self._range_of(buffer, begin, ty), "place")

    def _range_of(self, buffer, begin, ty):
        whole = self._buffers[buffer] if buffer in self._buffers else self.visit_expr(buffer)
        return relax.op.memory.view(whole, ty.shape, ty.dtype, begin)

    def _allocate(self, ty, root):
        memory = self._destinations.classes.memory_of(root)
        allocated = relax.op.builtin.alloc_tensor(
            ty.shape, str(ty.dtype), memory.device, memory.scope
        )
        if self.builder_.current_block_is_dataflow():
            return self.builder_.emit_output(allocated, "buffer")  # a later block may use it
        return self.builder_.emit(allocated, "buffer")
