"""What is known of one Relax function before it is checked, and of which stage it is."""

import itertools
from functools import cached_property

from tvm import relax, tirx

from ...attributes import DONATED, NAMES_MERGED, SOURCE_ALIAS
from ..alias_classes import AliasClasses
from ..bindings import bindings_of, callee_of, operator_of
from ..externs import declared_aliases
from ..operators import BYTELESS_PACKED, IN_STORAGE, KERNEL_CALLS, STORAGES, VM_ONLY
from ..places import roots_of
from ..size_bounds import SizeBounds
from .storage_bytes import StorageBytes


class Facts:
    """One function of a module, with the alias classes that all checks share.

    Parameters
    ----------
    mod : tvm.IRModule
    name : str
    function : tvm.relax.Function
    donated : frozenset of str
        Parameters that it may overwrite, besides those of its attribute `ta.donated`.
    policy : str
        The output policy that it heeds.
    flat_scopes : frozenset of str
        Memory scopes in which a reshape leaves every byte in its place.
    inner : bool
        Whether only functions of the module call it.
    others : dict of GlobalVar to Facts
        Those of every function of the module, this one too.
    trusting : bool
        Whether packed functions are taken to return memory of their own.

    Attributes
    ----------
    bindings : list of Binding
        In order, those of branches after the `If` around them.
    lowered : bool
        Whether it is what the virtual machine runs: there are no renamings left.
    planned : bool
        Whether its kernels are called with their outputs.
    names_merged : bool
        Whether a tensor that was updated in place may bear the name that it had before.
    elided : bool
        Whether `relax.reshape` is a view. Before that it means a value.
    """

    def __init__(self, mod, name, function, *, trusting=False, **options):
        self.mod, self.name, self.function = mod, name, function
        self._options, self.trusting = options, trusting
        self.policy, self.flat_scopes = options["policy"], options["flat_scopes"]
        self.inner, self.others = options["inner"], options["others"]
        attrs = function.attrs or {}
        self.donated = options["donated"] | set(attrs.get(DONATED, ()))
        self.bindings = list(bindings_of(function.body))
        self.names_merged = NAMES_MERGED in attrs
        self.lowered, self.planned = _stage(mod, self.bindings)
        self.planned = self.planned or bool(attrs.get("relax.force_pure", 0))
        self.elided = self.planned or SOURCE_ALIAS in attrs
        self.classes = AliasClasses(mod, function, elided=self.elided, trusting=trusting)
        self.uses, self.written = {}, None  # what `effects` finds
        self.bytes = StorageBytes(self.classes, SizeBounds(function), self.lowered)

    @cached_property
    def is_source(self):
        """Whether nothing but the program itself, or the front, has decided about memory yet."""
        if self.planned:
            return False
        seen_by_front = self.function.attrs and SOURCE_ALIAS in self.function.attrs
        kernels = (operator_of(binding.value) in KERNEL_CALLS for binding in self.bindings)
        return bool(seen_by_front) or not any(kernels)

    @cached_property
    def undeclared_calls(self):
        """Packed functions that may return an argument, each with the variable of its result.

        Operators that the virtual machine calls as packed functions are none.
        """
        declared, found = declared_aliases(self.function), []
        for binding in self.bindings:
            value = binding.value
            if not isinstance(value, relax.Call) or operator_of(value) not in (
                None,
                "relax.call_pure_packed",
            ):
                continue
            packed = value.op if operator_of(value) is None else value.args[0]
            name = packed.global_symbol if isinstance(packed, relax.ExternFunc) else None
            known = name is None or declared.get(name, "may") != "may"
            if not known and roots_of(self.classes.places[binding.var]):
                found.append((name, binding.var))
        return found

    @cached_property
    def trustful(self):
        """The same where packed functions return memory of their own."""
        if not any(its.undeclared_calls for its in self.others.values()):
            return self
        return Facts(self.mod, self.name, self.function, trusting=True, **self._options)

    def label(self, var):
        """How messages name a variable: by its function, and as the printed function has it."""
        return f"{self.name}.{self._printed.get(var, var.name)}"

    @cached_property
    def _printed(self):
        """The names of variables in print: the second of one name gets a number."""
        found, taken = {}, set()
        for var in (*self.function.params, *(b.var for b in self.bindings)):
            numbered = (f"{var.name}_{i}" for i in itertools.count(1))
            names = itertools.chain([var.name], numbered)
            found[var] = next(name for name in names if name not in taken)
            taken.add(found[var])
        return found

    def is_donated(self, root):
        """Whether a root is a parameter that the function may overwrite."""
        return root.kind == "param" and self.function.params[root.site[0]].name in self.donated

    def may_write_to(self, root):
        """Whether the function may overwrite a storage."""
        return root.kind == "fresh" or self.is_donated(root)


def _stage(mod, bindings):
    """Whether a function is lowered to what the virtual machine runs, and whether it is planned."""
    planned = False
    for binding in bindings:
        value = binding.value
        operator = operator_of(value)
        if operator in VM_ONLY:
            return True, True
        if isinstance(value, relax.Call) and isinstance(value.op, relax.ExternFunc):
            if value.op.global_symbol in BYTELESS_PACKED:
                return True, True
        elif operator in (*STORAGES, *IN_STORAGE):
            planned = True
        elif isinstance(callee_of(value, mod), tirx.PrimFunc):
            planned = True
    return False, planned
