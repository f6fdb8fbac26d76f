"""The bytes that are live at a time, whatever the planner does: what it cannot go below."""

from tvm import relax, tirx

from ..analysis.expressions import variables
from ..analysis.storage_roots import Root, StorageRoots, leaves
from ..errors import UnsupportedError
from ..values import evaluate
from .sizes import callee_of, sizes_within, tensor_bytes, with_match_casts


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
    try:
        return _Liveness(mod, mod[entry], sizes, workspaces, ()).largest()
    except _Unbounded:
        return None


def value_bound(mod, entry, sizes):
    """`live_bound` without workspaces: of a module in which nothing is elided, of its values."""
    return live_bound(mod, entry, sizes, None)


def roots_read(value, roots):
    """The storage roots that a binding's value reads.

    Of an `If` those of its condition; of a field of a tuple not those of the other fields.

    Parameters
    ----------
    value : relax.Expr
    roots : StorageRoots

    Returns
    -------
    set of Root
    """
    if isinstance(value, relax.TupleGetItem):
        places = [roots.of(value)]
    else:
        read = value.cond if isinstance(value, relax.If) else value
        places = [roots.places.get(var, frozenset()) for var in variables(read)]
    return {root for place in places for leaf in leaves(place) for root in leaf}


class _Unbounded(Exception):
    """How much is live depends on data."""


class _Liveness:
    """What is live at each point of one function.

    A path says which branches lead to a point: pairs of an `If` and a branch. A point is a binding
    or, where a called function's results begin to live, what follows it.
    """

    def __init__(self, mod, function, sizes, workspaces, active):
        if any(function.same_as(other) for other in active):
            raise _Unbounded
        self._mod, self._workspaces, self._active = mod, workspaces, (*active, function)
        self._sizes = with_match_casts(function, sizes)
        self._roots = StorageRoots(mod, function, elided=True)
        self._points = []  # (path, bytes live there besides the tensors)
        self._uses = {}  # root -> [(point, path)], in order
        self.tensors = {}  # root -> (path, bytes)
        self._visit(function.body, ())
        self._point((), 0)
        for leaf in leaves(self._roots.result):
            self._use(leaf, ())

    def largest(self):
        """Most bytes that are live at a point."""
        live = [[] for _ in self._points]
        for root, (path, size) in self.tensors.items():
            for point in self._held_at(self._uses.get(root, [])):
                live[point].append((path, size))
        return max(
            beside + _on_one_path(tensors) for (_, beside), tensors in zip(self._points, live)
        )

    def _held_at(self, uses):
        """The points that have a use before them and one after, on one path."""
        if not uses:
            return
        for point in range(uses[0][0], uses[-1][0] + 1):
            path = self._points[point][0]
            on_path = [use for use, its_path in uses if _meet(path, its_path)]
            if on_path and on_path[0] <= point <= on_path[-1]:
                yield point

    def _visit(self, body, path):
        for block in body.blocks:
            for binding in block.bindings:
                value = binding.value
                size = tensor_bytes(value)
                if size is not None:
                    (root,) = self._roots.places[binding.var]
                    self.tensors[root] = (path, self._number(size))
                    continue
                callee = callee_of(value, self._mod)
                read = roots_read(value, self._roots)
                if isinstance(callee, relax.Function):
                    self._visit_call(binding, callee, read, path)
                    continue
                if isinstance(value, relax.Call) and isinstance(value.op, relax.Var):
                    raise _Unbounded
                is_kernel = self._workspaces is not None and isinstance(callee, tirx.PrimFunc)
                self._point(path, self._workspace(value) if is_kernel else 0)
                self._use(read, path)
                if isinstance(value, relax.If):
                    here = len(self._points)
                    self._visit(value.true_branch, (*path, (here, True)))
                    self._visit(value.false_branch, (*path, (here, False)))

    def _visit_call(self, binding, callee, read, path):
        call = binding.value
        within = _Liveness(
            self._mod,
            callee,
            sizes_within(callee, call, self._sizes),
            self._workspaces,
            self._active,
        )
        self._point(path, within.largest())
        self._use(read, path)
        here = len(self._points)
        self._point(path, 0)
        for leaf in leaves(self._roots.places[binding.var]):
            for root in leaf - read:
                inner = Root(root.kind, root.site[1:])
                if inner in within.tensors:
                    its_path, size = within.tensors[inner]
                    in_callee = (((here, branching), branch) for branching, branch in its_path)
                    self.tensors[root] = ((*path, *in_callee), size)
            self._use(leaf - read, path)

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

    def _point(self, path, beside):
        self._points.append((path, beside))

    def _use(self, roots, path):
        """The last point uses the roots."""
        for root in roots:
            self._uses.setdefault(root, []).append((len(self._points) - 1, path))


def _meet(path, other):
    """Whether one run can take both paths."""
    return not (path and other) or all(
        branch == dict(other).get(branching, branch) for branching, branch in path
    )


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
