"""The outputs of a function: what each shares storage with, and whether it is all of that."""

from functools import cached_property
from typing import NamedTuple

import tvm_ffi
from tvm import relax

from ..attributes import DONATED
from .alias_classes import Root
from .byte_ranges import byte_size, same
from .places import leaves


class Sharing(NamedTuple):
    """What an output may share storage with; as a str, what attribute `ta.source_alias` holds.

    Attributes
    ----------
    output : int
        Its position, counted from 0 through nested tuples.
    kind : str
        `param` or `constant`; `output`, an earlier one; `part`: it may be a proper range of what it
        lies in.
    other : Root, int or None
        The parameter, or the position of the other output.
    """

    output: int
    kind: str
    other: Root | int | None = None

    def __str__(self):
        if self.kind == "param":
            return f"{self.output}=param {'.'.join(map(str, self.other.site))}"
        return f"{self.output}={self.other if self.kind == 'output' else self.kind}"


class Outputs:
    """The tensors in a function's result, counted from 0 through nested tuples.

    Parameters
    ----------
    classes : AliasClasses
        Of the function.

    Attributes
    ----------
    places : list of dict
        Of each output, as `AliasClasses` has them.
    """

    def __init__(self, classes):
        self._classes, self._function = classes, classes.function
        self.places = leaves(classes.result)
        # The body's own type: that in the signature may have lost a size.
        self._types = _leaf_types(self._function.ret_ty, self._function.body.body.ty)

    @cached_property
    def sharing(self):
        """All that outputs may share storage with: a list of `Sharing`."""
        found = []
        for i, roots in enumerate(self.places):
            params = sorted((root for root in roots if root.kind == "param"), key=lambda r: r.site)
            found += [Sharing(i, "param", root) for root in params]
            if any(root.kind == "constant" for root in roots):
                found.append(Sharing(i, "constant"))
            shared = (j for j in range(i) if roots.keys() & self.places[j].keys())
            found += [Sharing(i, "output", j) for j in shared]
            if self._partly_in(i):
                found.append(Sharing(i, "part"))
        return found

    @cached_property
    def whole(self):
        """The roots that some output is the whole of, whichever path is taken."""
        return {
            root
            for i, roots in enumerate(self.places)
            for root in roots
            if len(roots) == 1 and self.is_whole(i, root)
        }

    def is_part_of_outputs(self, i):
        """Whether output `i` is a range of no storage but those that outputs are the whole of."""
        return self.whole.issuperset(self._partly_in(i))

    def is_whole(self, i, root):
        """Whether output `i` has all bytes of a storage that it may lie in.

        A range as long as its storage is all of it, wherever it is said to begin.
        """
        return are_as_long(self._types[i], self.type_of(root))

    def type_of(self, root):
        """The type of a storage in the function's own symbols, or None where nothing says it."""
        if root.kind == "constant":
            return None
        if root not in self._classes.made_in_callee:
            return self._classes.type_of(root)
        # Where the callee returns all of a storage, the result has its type here.
        classes, inner_root = self._classes.made_in_callee[root]
        inner, result = Outputs(classes), self._classes.binding_of[root].var.ty
        for i, ty in enumerate(_leaf_types(result, result)):
            if inner_root in inner.places[i] and inner.is_whole(i, inner_root):
                return ty
        return None

    def _partly_in(self, i):
        """The roots of which output `i` may be a proper range; a constant is never one.

        The object that a packed function returns is not known to be a range of anything.
        """
        if not isinstance(self._types[i], relax.TensorType):
            return []
        roots = [root for root in self.places[i] if root.kind != "constant"]
        return [root for root in roots if not self.is_whole(i, root)]


def is_donated(function, root):
    """Whether a root is a parameter that its function may overwrite."""
    donated = function.attrs.get(DONATED, ()) if function.attrs else ()
    return root.kind == "param" and function.params[root.site[0]].name in donated


def are_as_long(ty, other):
    """Whether tensors of two types surely take the same bytes: of one type they do."""
    if ty is None or other is None:
        return False
    return tvm_ffi.structural_equal(ty, other) or same(byte_size(ty), byte_size(other))


def _leaf_types(form, ty):
    """The types of a value's fields, in the form of another type of it."""
    if not isinstance(form, relax.TupleType):
        return [ty]
    fields = ty.fields if isinstance(ty, relax.TupleType) else form.fields
    return [leaf for pair in zip(form.fields, fields) for leaf in _leaf_types(*pair)]
