"""The bytes live at each point of a function, and whether sharing storage would raise the most."""

import numpy as np
from tvm import relax, tirx

from ..analysis.expressions import variables
from ..attributes import UPPER_BOUNDS
from ..values import evaluate, item_bytes

#: What a symbolic size without a bound counts as where two ways are weighed.
NOMINAL_SIZE = 64


class Profile:
    """Live bytes over the points of a function, as alias classes are merged.

    Parameters
    ----------
    function : tvm.relax.Function
        Before `CallTIRRewrite`: what a kernel makes is bound to a variable.
    classes : AliasClasses
    liveness : Liveness
    """

    def __init__(self, function, classes, liveness):
        self._liveness = liveness
        self._bounds = function.attrs.get(UPPER_BOUNDS, {}) if function.attrs else {}
        self._merged = {}  # root -> the root that it was merged into
        self._uses = dict(liveness.uses)
        self._bytes = {root: self._made(root, classes) for root in classes.binding_of}
        self._load = np.zeros(len(liveness.points) + 1, dtype="int64")
        self._return = len(liveness.points) - 1
        for root in self._bytes:
            self._add(root, 1)

    def merge(self, roots, into, size=None, copied=0):
        """Let roots share the storage of one, unless that raises the most bytes live.

        Parameters
        ----------
        roots : sequence of Root
        into : Root
            One of a parameter or a constant has no bytes here.
        size : int, optional
            Bytes of the storage; by default those of `into`.
        copied : int
            Bytes of the copies of them that the function will then return.

        Returns
        -------
        bool
            Whether they share it now.
        """
        into = self.class_of(into)
        parts = {self.class_of(root) for root in roots} - {into}
        before = self._load.max()
        kept = {root: (self._uses.get(root), self._bytes.get(root, 0)) for root in (into, *parts)}
        for root in kept:
            self._add(root, -1)
        self._uses[into] = sorted(use for uses, _ in kept.values() for use in uses or ())
        self._bytes[into] = kept[into][1] if size is None else size
        self._add(into, 1)
        self._load[self._return] += copied
        if self._load.max() <= before:
            self._merged.update(dict.fromkeys(parts, into))
            return True
        self._load[self._return] -= copied
        self._add(into, -1)
        for root, (uses, size) in kept.items():
            self._uses[root], self._bytes[root] = uses, size
            self._add(root, 1)
        return False

    def class_of(self, root):
        """The root that stands for all that share its storage."""
        while root in self._merged:
            root = self._merged[root]
        return root

    def size(self, ty):
        """Bytes of a tensor type, symbolic sizes at their bound or a nominal value."""
        count = 1
        for extent in ty.shape.values:
            if isinstance(extent, tirx.IntImm):
                count *= int(extent)
            else:
                sizes = {var: self._bounds.get(var.name, NOMINAL_SIZE) for var in variables(extent)}
                count *= max(0, evaluate(extent, {var: int(s) for var, s in sizes.items()}))
        return count * item_bytes(ty.dtype)

    def _made(self, root, classes):
        """Bytes of what a binding makes, 0 where its type does not say."""
        ty = classes.type_of(root)
        sized = isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr)
        return self.size(ty) if sized and ty.dtype else 0

    def _add(self, root, sign):
        size = self._bytes.get(root, 0)
        if size and self._uses.get(root):
            for begin, end in self._liveness.live_over(self._uses[root]):
                self._load[begin:end] += sign * size
