"""Which tensors may begin inside a storage, who meets them, and who cannot take them.

A kernel takes a tensor at an offset once its buffer declares one. A packed function, the condition
of an `If` and the operators of the virtual machine read from the first byte of what they are given.
"""

from functools import lru_cache
from math import gcd

from tvm import ir, relax, sym, tirx

from ..values import item_bytes
from .alias_classes import AliasClasses, Root
from .bindings import bindings_of, callee_of, operands, operator_of
from .moves import begins_at_zero
from .operators import ELIDED, IN_STORAGE, KERNEL_CALLS, VIEWS
from .places import leaves, roots_of
from .writes import handed_on

#: Bytes: the alignment of TVM's storages. An offset that is a multiple of it costs nothing.
ALIGNMENT = 64

_RENAMINGS = (relax.Var, relax.Tuple, relax.TupleGetItem, ir.Constant)
_TENSORS = (relax.TensorType, relax.TupleType, relax.AnyType)


def demands_zero_offset(mod, function, classes, _active=()):
    """The roots that reach something that reads from the first byte of what it is given.

    Parameters
    ----------
    mod : tvm.IRModule
    function : tvm.relax.Function
    classes : AliasClasses
        Of that function.

    Returns
    -------
    set of Root
    """
    found = set()
    for binding in bindings_of(function.body):
        value = binding.value
        for var in read_from_first_byte(mod, value, (*_active, function)):
            found |= roots_of(classes.of(var))
        if operator_of(value) == "relax.call_tir":
            # Its results are the last parameters of the kernel.
            results = leaves(classes.places[binding.var])
            for i in demanding_parameters(mod[value.args[0]]):
                result = i - len(value.args[1])
                found |= roots_of(results[result]) if result >= 0 else set()
    return found


@lru_cache(maxsize=1024)
def demanding_parameters(kernel):
    """The positions of the parameters that a kernel cannot take at any offset.

    It hands on the pointer to their storage, which knows nothing of an offset; or it declares
    offsets of its own, and not every one.

    Parameters
    ----------
    kernel : tvm.tirx.PrimFunc

    Returns
    -------
    tuple of int
    """
    pointers = handed_on(kernel)
    return tuple(
        i
        for i, param in enumerate(kernel.params)
        if isinstance(param.ty, tirx.BufferType)
        and (param in pointers or not _declares_any_offset(param))
    )


def _declares_any_offset(buffer):
    ty = buffer.ty
    if begins_at_zero(buffer):
        return True  # it can be made to
    return isinstance(ty.elem_offset, ir.Var) and ty.offset_factor <= 1


def takes_offset(kernel, i, alignment):
    """Whether a kernel takes its parameter `i` at every multiple of some bytes."""
    buffer = kernel.params[i]
    if buffer in handed_on(kernel) or not isinstance(buffer.ty.elem_offset, ir.Var):
        return False
    return alignment % (max(1, int(buffer.ty.offset_factor)) * item_bytes(buffer.ty.dtype)) == 0


def read_from_first_byte(mod, value, _active=()):
    """The variables in a binding's value that are read from their first byte.

    Parameters
    ----------
    mod : tvm.IRModule
    value : relax.Expr

    Returns
    -------
    list of Var
    """
    callee = callee_of(value, mod)
    if isinstance(value, relax.If):
        return operands(value.cond)
    if isinstance(callee, relax.Function):
        if any(callee.same_as(caller) for caller in _active):
            return operands(value)
        inner = AliasClasses(mod, callee, elided=True)
        demanding = demands_zero_offset(mod, callee, inner, _active)
        positions = {root.site[0] for root in demanding if root.kind == "param"}
        return [var for i in sorted(positions) for var in operands(value.args[i])]
    operator = operator_of(value)
    if isinstance(callee, tirx.PrimFunc):
        return _demanded(callee, value.args)
    if operator in KERNEL_CALLS:
        return _demanded(mod[value.args[0]], value.args[1])
    if isinstance(value, _RENAMINGS) or operator in (*VIEWS, *ELIDED):
        return []
    return [var for var in operands(value) if isinstance(var.ty, _TENSORS)]


def _demanded(kernel, arguments):
    positions = [i for i in demanding_parameters(kernel) if i < len(arguments)]
    return [var for i in positions for var in operands(arguments[i])]


def begins_inside(places):
    """Whether a value, or a field of it, may begin after the first byte of its storage."""
    return any(
        not isinstance(begin, int) or begin != 0
        for leaf in leaves(places)
        for begin in leaf.values()
    )


def kernel_offsets(mod):
    """The parameters of kernels that may be given a tensor at an offset.

    Parameters
    ----------
    mod : tvm.IRModule
        Planned: kernels are called with their outputs.

    Returns
    -------
    dict of GlobalVar to dict of int to int
        For each kernel that meets an offset, by parameter, the bytes of which all its offsets are
        multiples: at most `ALIGNMENT`.
    """
    classes = {
        name: AliasClasses(mod, function, elided=True)
        for name, function in mod.functions_items()
        if isinstance(function, relax.Function)
    }
    kernels = {}
    for name, offsets in known_offsets(mod, classes).items():
        for binding in bindings_of(classes[name].function.body):
            if isinstance(callee_of(binding.value, mod), tirx.PrimFunc):
                known = kernels.setdefault(binding.value.op, {})
                for key, alignment in offsets.met_by_kernel(binding.value):
                    _note(known, key, alignment)
    for kernel, params in kernels.items():
        for i, alignment in params.items():
            if alignment % item_bytes(mod[kernel].params[i].ty.dtype):
                raise ValueError(
                    f"kernel {kernel.name_hint} is given a view that begins at a multiple of "
                    f"{alignment} bytes, and {mod[kernel].params[i].ty.dtype} needs more: copy it "
                    "from a view of bytes first"
                )
    return {kernel: params for kernel, params in kernels.items() if params}


def known_offsets(mod, classes):
    """What is known of offsets in each function, once those of its arguments are.

    Parameters
    ----------
    mod : tvm.IRModule
    classes : dict of GlobalVar to AliasClasses
        Of every Relax function.

    Returns
    -------
    dict of GlobalVar to Offsets
    """
    arguments = {name: {} for name in classes}  # param root -> alignment of its offset
    changed = True
    while changed:  # an alignment only falls: it ends
        changed = False
        for name in classes:
            offsets = Offsets(classes[name], arguments[name])
            for binding in bindings_of(classes[name].function.body):
                if isinstance(callee_of(binding.value, mod), relax.Function):
                    known = arguments[binding.value.op]
                    for key, alignment in offsets.met_by_function(binding.value):
                        changed |= _note(known, key, alignment)
    return {name: Offsets(classes[name], arguments[name]) for name in classes}


class Offsets:
    """The offsets that the arguments of one function's calls may have.

    Parameters
    ----------
    classes : AliasClasses
    params : dict of Root to int
        The alignments of the function's own arguments that may begin inside a storage.
    """

    def __init__(self, classes, params):
        self._classes, self._params = classes, params

    def met_by_kernel(self, call):
        """The alignment of each tensor that a kernel is given, by its position."""
        for i, argument in enumerate(call.args):
            if isinstance(argument.ty, relax.TensorType):
                yield i, self.alignment(self._classes.of(argument), argument.ty)

    def met_by_function(self, call):
        """The same for each tensor in a called function's arguments, by its root there."""
        for i, argument in enumerate(call.args):
            for path, leaf in _paths(self._classes.of(argument)):
                ty = argument.ty
                for index in path:
                    ty = ty.fields[index]
                yield Root("param", (i, *path)), self.alignment(leaf, ty)

    def alignment(self, leaf, ty):
        """Bytes of which the offset of a tensor is a multiple; 0 where it is surely zero."""
        # Of an offset that is not known, all that can be said is that elements are whole.
        item = item_bytes(ty.dtype) if isinstance(ty, relax.TensorType) and ty.dtype else 1
        return gcd(
            *(
                self._of_root(root, begin) if begin is not None else item
                for root, begin in leaf.items()
            )
        )

    def _of_root(self, root, begin):
        base = 0
        if root.kind == "param":
            base = self._params.get(root, 0)
        elif root in self._classes.binding_of:
            value = self._classes.binding_of[root].value
            if operator_of(value) in IN_STORAGE:
                base = multiple_of(value.args[1])
        return gcd(base, multiple_of(begin))


def multiple_of(begin):
    """The largest number of bytes, up to `ALIGNMENT`, that divides an offset; 0 for offset 0."""
    if isinstance(begin, tirx.IntImm):
        begin = int(begin)
    if not isinstance(begin, int):
        known = sym.Analyzer().modular_set(begin)
        begin = gcd(int(known.coeff), int(known.base))
    return gcd(begin, ALIGNMENT) if begin else 0


def _note(known, key, alignment):
    """Lower what is known of a key's alignment; whether that changed it."""
    if alignment == 0:
        return False
    lowered = gcd(known.get(key, 0), alignment, ALIGNMENT)
    changed = known.get(key) != lowered
    known[key] = lowered
    return changed


def _paths(places, path=()):
    if isinstance(places, list):
        for i, field in enumerate(places):
            yield from _paths(field, (*path, i))
    else:
        yield path, places
