"""Bytes that are overwritten before a value in them is read: kinds `write-live` and `overlap`."""

from dataclasses import replace

from tvm import relax, tirx

from ..bindings import callee_of, operands, operator_of
from ..in_place import overwritable
from ..operators import ALLOCATIONS, AT_ZERO, ELIDED, KERNEL_CALLS, STORAGES, VIEWS
from ..places import typed_leaves
from ..writes import loaded_params
from .effects import uses_of, written_leaves
from .hazard import Found, Hazard, call_name
from .names import Mark, Name, State
from .storage_bytes import are_one, covers, overlap


def overwritten(facts):
    """Find values that are read after their bytes were overwritten.

    One walk over the function, path by path. A variable stands for what its bytes held when it was
    bound. A write makes every other variable stale that held something there, and the result of the
    call, or a renaming after it, is the new name of those bytes. To read a stale variable is the
    hazard; a view of one is stale as it is.

    Parameters
    ----------
    facts : Facts

    Returns
    -------
    list of Found
        At the binding that reads.
    """
    walk = _Walk(facts)
    walk.run()
    return walk.found


class _Walk:
    def __init__(self, facts):
        self._facts, self._classes = facts, facts.classes
        self._state, self._names = State(), {}
        self._point = 0
        self._last_use = _last_uses(facts.function)
        self._cells = []  # by number the last use of a name in it
        self._ending = {}  # point -> the names that nothing mentions after it
        self._reported = set()
        self._binding_var = None
        self.found = []

    def run(self):
        for param in self._facts.function.params:
            self._names[param] = self._named(param, self._classes.places[param], [])
        result = self._body(self._facts.function.body)
        self._binding_var = None
        self._read(result, "the return", returns=True)

    def _body(self, body):
        """Walk a body and return the names of its result."""
        for block in body.blocks:
            for binding in block.bindings[:]:
                self._binding(binding)
        self._point += 1
        return self._names_of(body.body)

    def _binding(self, binding):
        self._point += 1
        here, var, value = self._point, binding.var, binding.value
        self._binding_var = var
        uses = uses_of(value, self._facts)
        for use in uses:
            if use.reads:
                self._read(self._names_of(use.argument), call_name(value))
        if isinstance(value, relax.If):
            sources, how = self._branches(value), "renaming"
        else:
            self._check_call(value, uses)
            sources, how = self._write(value, uses, var)
        if operator_of(value) not in STORAGES:
            places = self._classes.places[var]
            self._names[var] = self._named(var, places, sources, how)
        if isinstance(value, relax.If):
            self._state.forget_all_until(self._point)
        else:
            self._forget(here)

    def _branches(self, value):
        """Walk both branches; the names of what they give."""
        before = self._state
        self._state = before.copy()
        results = [self._body(value.true_branch)]
        first, self._state = self._state, before
        results.append(self._body(value.false_branch))
        self._state.join(first)
        return results

    # Names

    def _names_of(self, expr):
        """The names of a value: nested as its type is."""
        if isinstance(expr, relax.Tuple):
            return [self._names_of(field) for field in expr.fields]
        if isinstance(expr, relax.TupleGetItem):
            names = self._names_of(expr.tuple_value)
            return names[expr.index] if isinstance(names, list) else names
        return self._names.get(expr) if isinstance(expr, relax.Var) else None

    def _named(self, var, places, sources, how="made"):
        """Give a variable's tensors their names.

        Parameters
        ----------
        var : relax.Var
        places : places
        sources : list of names
            What it may be a view or a renaming of, or was made in.
        how : str
            Which of that: `view`, `renaming` or `made`.
        """
        tensors = list(typed_leaves(var.ty, places))
        aligned = [list(_leaves(source)) for source in sources]
        last_use = self._last_use.get(var, 0)
        made = []
        for i, (ty, leaf) in enumerate(tensors):
            if not leaf or isinstance(ty, relax.ShapeType):
                made.append(None)
                continue
            its_sources = [
                name
                for source in aligned
                for name in (source if len(source) != len(tensors) else source[i : i + 1])
                if name is not None
            ]
            made.append(self._name(var, ty, leaf, its_sources, last_use, how))
        return _nested(places, iter(made))

    def _name(self, var, ty, leaf, sources, last_use, how):
        its = self._facts.bytes.of(ty, leaf)
        content = []
        for part in its:
            made = self._classes.binding_of.get(part.root)
            allocated = made is not None and operator_of(made.value) in ALLOCATIONS
            content += self._state.holds(part) if allocated else [part]
        name = Name(var, its, *self._cell(sources, last_use, how), last_use, empty=not content)
        marks = [mark for source in sources for mark in self._inherited(source, its, how)]
        if last_use >= self._point:
            self._state.hold(name, content, marks)
            self._ending.setdefault(last_use, []).append(name)
        return name

    def _cell(self, sources, last_use, how):
        """The cell of a new name, and all that a write through it is meant for."""
        its = {source.cell for source in sources}
        if how == "view" or len(its) != 1:
            its = {len(self._cells)}
            self._cells.append(last_use)
        (cell,) = its
        self._cells[cell] = max(self._cells[cell], last_use)
        # Nothing mentions the others any more.
        above = {cell for source in sources for cell in source.cells}
        return cell, frozenset(c for c in {cell, *above} if self._cells[c] >= self._point)

    def _inherited(self, source, its, how):
        """What a view or a renaming of a name takes over from it."""
        state = self._state
        marks = state.marks.get(source, ())
        if how == "made":
            return []
        if how == "view":
            lost = [mark for mark in marks if any(overlap(mark.bytes, part) for part in its)]
            return [replace(mark, renews=False) for mark in lost]
        if source in state.renamed_next:  # from now on this is the name of what was written
            state.mark(source, state.renamed_next.pop(source))
        return [mark for mark in marks if not mark.renews]

    def _forget(self, point):
        for name in self._ending.pop(point, ()):
            self._state.forget(name)

    # Reads and writes

    def _read(self, names, reader, returns=False):
        for name in _leaves(names):
            for mark in self._state.marks.get(name, ()):
                if not (returns and mark.renews and self._is_update(name)):
                    self._report(mark, name, reader)

    def _is_update(self, name):
        """Whether to return a tensor that was written through views means what is there then.

        TVM's `CanonicalizeBindings`, which `FuseTIR` calls, drops the renaming that says so.
        """
        facts = self._facts
        return facts.planned or any(facts.is_donated(part.root) for part in name.bytes)

    def _write(self, value, uses, var):
        """Do what a call writes; what its result is another name of, and how."""
        if not uses:
            return self._renamed(value)
        results = list(typed_leaves(var.ty, self._classes.places[var]))
        result_roots = {root for _, leaf in results for root in leaf}
        sources = []
        for use in uses:
            if use.writes is None:
                continue
            for name, written in self._targets(use):
                renamed = any(part.root in result_roots for part in name.bytes)
                self._write_through(name, call_name(value), renamed, use.reads)
                if renamed:
                    sources.append(name)
        # Each result is the new name of what it lies in.
        return [[_lies_in(leaf, sources) for _, leaf in results]] if sources else [], "made"

    def _renamed(self, value):
        """What a view or a renaming is of, and which of both it is."""
        if not isinstance(value, relax.Call):
            return [self._names_of(value)], "renaming"
        if operator_of(value) in (*VIEWS, *AT_ZERO, *ELIDED):
            return [self._names_of(value.args[0])], "view"
        return [], "made"

    def _targets(self, use):
        """The names that a use writes, each with its places."""
        names = list(_leaves(self._names_of(use.argument)))
        leaves = list(_with_paths(self._classes.of(use.argument)))
        for name, (path, leaf) in zip(names, leaves):
            if name is None:
                continue
            empty = use.writes == "empty" and not self._state.content.get(name, name.bytes)
            if empty or any(True for _ in written_leaves(leaf, use.writes, path)):
                yield name, leaf

    def _write_through(self, target, writer, renamed, reads):
        facts, state = self._facts, self._state
        for written in target.bytes:
            for name in list(state.held.get(written.base, ())):
                if not any(overlap(written, part) for part in name.bytes):
                    continue
                self._meet(name, target, written, writer, renamed, reads)
            state.note_written(written)
        if facts.lowered or target.empty:
            state.marks.pop(target, None)  # it stands for what is written now

    def _meet(self, name, target, written, writer, renamed, reads):
        """What a write does to a name whose bytes it overlaps."""
        state = self._state
        content = [piece for piece in state.content[name] if overlap(written, piece)]
        same_root = any(part.root == written.root for part in name.bytes)
        meant = name.cell in target.cells
        if not content:
            if same_root:
                state.gain(name, written)
            return
        if meant and (name.empty or self._facts.lowered or self._updates(name, written, reads)):
            state.gain(name, written)
            return
        mark = Mark(
            self._point,
            writer,
            target.var,
            name,
            written,
            across=not same_root,
            renews=meant and name is not target,
        )
        if name is target and not renamed:
            state.renamed_next[name] = mark
        else:
            state.mark(name, mark)

    def _updates(self, name, written, reads):
        """Whether a write through a view of a tensor puts a new part into it.

        In a planned function, that is how a part is computed in place: nothing of it is read, and
        something else is left.
        """
        return self._facts.planned and not reads and not any(covers(written, p) for p in name.bytes)

    # Within one call

    def _check_call(self, value, uses):
        """A place that overlaps another argument: only where the kernel reads that first."""
        for use in uses:
            if use.writes is None:
                continue
            for target, _ in self._targets(use):
                for other in uses:
                    if other is not use:
                        self._check_pair(value, use, target, other)

    def _check_pair(self, value, use, target, other):
        for name in _leaves(self._names_of(other.argument)):
            if name is None:
                continue
            pairs = [
                (one, another)
                for one in target.bytes
                for another in name.bytes
                if overlap(one, another)
            ]
            if pairs and not self._is_proved(value, use, other, pairs):
                across = all(one.root != another.root for one, another in pairs)
                self._report_pair(value, target, name, across)

    def _is_proved(self, value, use, other, pairs):
        kernel = self._kernel(value)
        if kernel is None:
            return False
        touched = {*loaded_params(kernel)}
        if other.position not in touched and other.writes is None:
            return True
        over = other.position in overwritable(kernel).get(use.position, ())
        return over and len(pairs) == 1 and are_one(*pairs[0])

    def _kernel(self, value):
        if operator_of(value) in KERNEL_CALLS:
            return self._facts.mod[value.args[0]]
        callee = callee_of(value, self._facts.mod)
        return callee if isinstance(callee, tirx.PrimFunc) else None

    # Reports

    def _report(self, mark, name, reader):
        kind = "overlap" if mark.across else "write-live"
        roots = frozenset(part.root for part in mark.victim.bytes)
        if (mark.point, roots) in self._reported:
            return
        self._reported.add((mark.point, roots))
        label = self._facts.label
        target, victim, read = label(mark.target), label(mark.victim.var), label(name.var)
        said = f"{read}" if read == victim else f"{read}, which holds what {victim} did,"
        if mark.across:
            message = (
                f"{target} and {victim} overlap in one storage, and {mark.writer} writes {target} "
                f"before {reader} reads {said}: place them apart, or read it before the write"
            )
        else:
            message = (
                f"{mark.writer} overwrites {victim} through {target} before {reader} reads {said}: "
                "read it before the write, or give the result bytes of its own"
            )
        bindings = tuple(dict.fromkeys([target, victim, read]))
        key = kind, mark.point, mark.victim.var
        self.found.append(Found(self._binding_var, key, Hazard(kind, bindings, message), roots))

    def _report_pair(self, value, target, name, across):
        kind = "overlap" if across else "write-live"
        roots = frozenset(part.root for part in name.bytes)
        if (self._point, roots) in self._reported:
            return
        self._reported.add((self._point, roots))
        label = self._facts.label
        message = (
            f"{call_name(value)} writes {label(target.var)} over {label(name.var)}, and is not "
            "proved to read each byte of that before: give the result bytes of its own"
        )
        bindings = tuple(dict.fromkeys([label(target.var), label(name.var)]))
        key = kind, self._point, name.var
        self.found.append(Found(self._binding_var, key, Hazard(kind, bindings, message), roots))


def _lies_in(leaf, names):
    """The first of several names whose bytes a tensor's places may lie in."""
    return next((name for name in names if any(its.root in leaf for its in name.bytes)), None)


def _leaves(names):
    if isinstance(names, list):
        return [leaf for field in names for leaf in _leaves(field)]
    return [names]


def _with_paths(places, path=()):
    if isinstance(places, list):
        for i, field in enumerate(places):
            yield from _with_paths(field, (*path, i))
    else:
        yield path, places


def _nested(places, made):
    """Names in the form of places."""
    if isinstance(places, list):
        return [_nested(field, made) for field in places]
    return next(made)


def _last_uses(function):
    """The last point that mentions each variable, counted as the walk does."""
    found, point = {}, 0

    def visit(body):
        nonlocal point
        for block in body.blocks:
            for binding in block.bindings[:]:
                point += 1
                value = binding.value
                if isinstance(value, relax.If):
                    found.update(dict.fromkeys(operands(value.cond), point))
                    visit(value.true_branch)
                    visit(value.false_branch)
                else:
                    found.update(dict.fromkeys(operands(value), point))
        point += 1
        found.update(dict.fromkeys(operands(body.body), point))

    visit(function.body)
    return found
