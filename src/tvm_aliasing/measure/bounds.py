"""The bytes that are live at a time, whatever the planner does: what it cannot go below."""

from tvm import relax, tirx

from ..analysis.alias_classes import AliasClasses, Root
from ..analysis.bindings import callee_of
from ..analysis.liveness import Liveness
from ..analysis.places import roots_of
from ..errors import UnsupportedError
from ..values import evaluate
from .sizes import sizes_within, tensor_bytes, with_match_casts


def live_bound(mod, entry, sizes, workspaces):
    """Largest sum, over the points of a planned function, of what is live there.

    A tensor is live from its first use to its last, a returned one to the end; tensors that share
    bytes by views count once. A kernel's workspaces are live while it runs. Of an `If` each path
    is looked at and the largest counts, whichever is run.

    Parameters
    ----------
    mod : tvm.IRModule
        Planned.
    entry : str
    sizes : dict of Var to int
        The symbolic sizes that the arguments give.
    workspaces : KernelWorkspaces or None
        None: kernels have none.

    Returns
    -------
    int or None
        Bytes. None where a function calls itself or a function that is a value: how much is live
        then depends on data.

    Raises
    ------
    UnsupportedError
        A size depends on data.
    """
    live = live_bytes(mod, entry, sizes, workspaces)
    return None if live is None else max(live)


def live_bytes(mod, entry, sizes, workspaces):
    """What is live at each point of a planned function, in order; `live_bound` is the largest.

    Parameters and errors are those of `live_bound`.

    Returns
    -------
    list of int or None
    """
    try:
        return _Function(mod, mod[entry], sizes, workspaces, ()).at_points()
    except _Unbounded:
        return None


def value_bound(mod, entry, sizes):
    """`live_bound` without workspaces: of a module in which nothing is elided, of its values."""
    return live_bound(mod, entry, sizes, None)


class _Unbounded(Exception):
    """How much is live depends on data."""


class _Function:
    """What is live at each point of one function, in bytes."""

    def __init__(self, mod, function, sizes, workspaces, active):
        if any(function.same_as(other) for other in active):
            raise _Unbounded
        self._mod, self._workspaces, self._active = mod, workspaces, (*active, function)
        self._sizes = with_match_casts(function, sizes)
        self._classes = AliasClasses(mod, function, elided=True)
        self._liveness = Liveness(mod, function, self._classes)
        self.tensors = {}  # root -> (path, bytes)
        self._beside = [self._at(number) for number in range(len(self._liveness.points))]

    def at_points(self):
        """The bytes that are live at each point."""
        live = [[] for _ in self._beside]
        for root, tensor in self.tensors.items():
            for begin, end in self._liveness.live(root):
                for point in range(begin, end):
                    live[point].append(tensor)
        return [beside + _on_one_path(held) for beside, held in zip(self._beside, live)]

    def _at(self, number):
        """Bytes live at a point besides the tensors; what it allocates is noted."""
        path, binding = self._liveness.points[number]
        if binding is None:
            return 0
        value = binding.value
        size = tensor_bytes(value)
        if size is not None:
            (root,) = self._classes.places[binding.var]
            self.tensors[root] = (path, self._number(size))
            return 0
        if isinstance(value, relax.Call) and isinstance(value.op, relax.Var):
            raise _Unbounded
        callee = callee_of(value, self._mod)
        if isinstance(callee, relax.Function):
            return self._of_call(binding, callee, path, number + 1)
        if self._workspaces is not None and isinstance(callee, tirx.PrimFunc):
            return self._workspace(value)
        return 0

    def _of_call(self, binding, callee, path, after):
        """Most bytes live within a called function; what it returns is noted."""
        call = binding.value
        within = _Function(
            self._mod,
            callee,
            sizes_within(callee, call, self._sizes),
            self._workspaces,
            self._active,
        )
        for root in roots_of(self._classes.places[binding.var]):
            inner = Root(root.kind, root.site[1:])
            made_here = binding.same_as(self._classes.binding_of.get(root))
            if made_here and inner in within.tensors:
                its_path, size = within.tensors[inner]
                in_callee = (((after, branching), branch) for branching, branch in its_path)
                self.tensors[root] = ((*path, *in_callee), size)
        return max(within.at_points())

    def _workspace(self, call):
        return self._workspaces.of(call.op.name_hint, [self._argument(a) for a in call.args])

    def _argument(self, argument):
        if not isinstance(argument.ty, relax.TensorType):
            return self._number(argument)
        return [self._number(extent) for extent in argument.ty.shape.values]

    def _number(self, size):
        number = evaluate(size, self._sizes)
        if number is None:
            raise UnsupportedError(
                f"what is live depends on data: the size {size} is not given by an input's shape"
            )
        return number


def _on_one_path(tensors):
    """The largest sum of `(path, bytes)` that a single run can have."""
    total = sum(size for path, size in tensors if not path)
    below = {}
    for path, size in tensors:
        if path:
            (branching, branch), *rest = path
            below.setdefault(branching, {}).setdefault(branch, []).append((rest, size))
    for branches in below.values():
        total += max(map(_on_one_path, branches.values()))
    return total
