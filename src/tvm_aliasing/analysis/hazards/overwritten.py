"""Bytes that are overwritten before a value in them is read: kinds `write-live` and `overlap`."""

from itertools import product

from tvm import relax

from ..bindings import operator_of
from ..operators import AT_ZERO, ELIDED, STORAGES, VIEWS
from ..places import typed_leaves
from .effects import uses_of, written_leaves
from .hazard import Found, Hazard, call_name
from .names import Mark, leaves_of
from .naming import Names
from .proved_overlaps import is_proved, overlapping
from .storage_bytes import covers, overlap


def overwritten(facts):
    """Find values that are read after their bytes were overwritten.

    One walk over the function, path by path. A variable stands for what its bytes held when it was
    bound. A write makes every other variable stale that held something there, and the result of the
    call, or a renaming after it, is the new name of those bytes. To read a stale variable is the
    hazard; a view of one is stale as it is. Once a function is lowered there are no renamings: a
    write through a tensor, or a view of it, then counts as meant for it.

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
        self._facts, self._names = facts, Names(facts)
        self._here = None  # the variable of the binding that is walked
        self._reported = set()
        self.found = []

    def run(self):
        for param in self._facts.function.params:
            self._names.give(param)
        result = self._body(self._facts.function.body)
        self._here = None
        stale = self._stale(result)
        self._report(
            [(name, mark) for name, mark in stale if not (mark.renews and self._is_update(name))],
            "the return",
        )

    def _body(self, body):
        """Walk a body and return the names of its result."""
        for block in body.blocks:
            for binding in block.bindings[:]:
                self._binding(binding)
        self._names.point += 1
        return self._names.of(body.body)

    def _binding(self, binding):
        names, value = self._names, binding.value
        names.point += 1
        self._here = binding.var
        uses = uses_of(binding, self._facts)
        for use in uses:
            stale = self._stale(names.of(use.argument))
            if stale and use.reads:
                self._report(stale, call_name(value))
        if isinstance(value, relax.If):
            names.give(binding.var, self._branches(value), "renaming")
            names.state.forget_all_until(names.point)
            return
        self._check_call(value, uses)
        made_in = self._write(value, uses, binding.var)
        if made_in:
            names.give(binding.var, made_in)
        elif operator_of(value) not in STORAGES:
            names.give(binding.var, *_naming_of(value, uses, names))
        names.forget()

    def _branches(self, value):
        """Walk both branches; the names of what they give."""
        names = self._names
        before = names.state
        names.state = before.copy()
        results = [self._body(value.true_branch)]
        first, names.state = names.state, before
        results.append(self._body(value.false_branch))
        names.state.join(first)
        return results

    def _stale(self, names):
        """What the tensors of a value have lost: pairs of `Name` and `Mark`."""
        marks = self._names.state.marks
        return [(name, mark) for name in leaves_of(names) for mark in marks.get(name, ())]

    def _is_update(self, name):
        """Whether a tensor that was written in part is meant to be read as it then is.

        A donated parameter may be: to return it is to return what became of it. So may any once TVM
        has merged names, as `CanonicalizeBindings` does, which `FuseTIR` calls: the renaming that
        says so is gone.
        """
        facts = self._facts
        return facts.names_merged or any(facts.is_donated(part.root) for part in name.bytes)

    # Writes

    def _write(self, value, uses, var):
        """Do what a call writes; for each of its results the name that it was written through."""
        results = [leaf for _, leaf in typed_leaves(var.ty, self._facts.classes.places[var])]
        result_roots = {root for leaf in results for root in leaf}
        targets = []
        for use in uses:
            for name in self._targets(use):
                renamed = any(part.root in result_roots for part in name.bytes)
                self._write_through(name, call_name(value), renamed, use)
                targets += [name] if renamed else []
        return [[_lies_in(leaf, targets) for leaf in results]] if targets else []

    def _targets(self, use):
        """The names that a use writes."""
        if use.writes is None:
            return
        names = leaves_of(self._names.of(use.argument))
        for name, (path, leaf) in zip(names, _with_paths(self._facts.classes.of(use.argument))):
            if name is None:
                continue
            content = self._names.state.content.get(name, name.bytes)
            is_empty = use.writes == "empty" and not content
            if is_empty or list(written_leaves(leaf, use.writes, path)):
                yield name

    def _write_through(self, target, writer, renamed, use):
        state = self._names.state
        for written in target.bytes:
            for name in list(state.held.get(written.base, ())):
                if any(overlap(written, part) for part in name.bytes):
                    self._meet(name, target, written, writer, renamed, use)
            state.note_written(written)
        if self._facts.lowered or target.empty:
            state.marks.pop(target, None)  # it stands for what is written now

    def _meet(self, name, target, written, writer, renamed, use):
        """What a write does to a name whose bytes it overlaps."""
        state = self._names.state
        same_root = any(part.root == written.root for part in name.bytes)
        meant = name.cell in target.cells
        if not any(overlap(written, piece) for piece in state.content[name]):
            if same_root:
                state.gain(name, written)
            return
        if meant and (name.empty or self._facts.lowered or self._updates(name, written, use)):
            state.gain(name, written)
            return
        mark = Mark(
            self._names.point,
            writer,
            target.var,
            name,
            written,
            across=not same_root,
            renews=meant and name.cell != target.cell,
        )
        if name is target and not renamed:
            state.renamed_next[name] = mark
        else:
            state.mark(name, mark)

    def _updates(self, name, written, use):
        """Whether a write through a view of a tensor puts a new part into it, and reads nothing."""
        part = not any(covers(written, its) for its in name.bytes)
        return self._facts.planned and part and self._is_update(name) and not use.reads

    def _check_call(self, value, uses):
        """Check that what a call writes overlaps no other argument in a way that is not proved."""
        for use, other in product(uses, uses):
            for target in self._targets(use):
                for name in self._others(target, other, use):
                    pairs = overlapping(target, name)
                    if pairs and not is_proved(value, self._facts.mod, use, other, pairs):
                        across = all(one.root != two.root for one, two in pairs)
                        self._report_pair(value, target, name, across)

    def _others(self, target, other, use):
        """The tensors of an argument besides one that is written; a tuple may hold it twice."""
        names = [name for name in leaves_of(self._names.of(other.argument)) if name is not None]
        if other is use and target in names:
            names.remove(target)
        return names

    # Reports

    def _report(self, stale, reader):
        for name, mark in stale:
            self._report_one(mark, name, reader)

    def _report_one(self, mark, name, reader):
        label = self._facts.label
        target, victim, read = label(mark.target), label(mark.victim.var), label(name.var)
        said = read if read == victim else f"{read} (what {victim} held)"
        if mark.across:
            message = (
                f"{target} and {victim} overlap in one storage, and {mark.writer} writes {target} "
                f"before {reader} reads {said}: place them apart, or read it before the write"
            )
        else:
            through = f" through {target}" if target != victim else ""
            message = (
                f"{mark.writer} overwrites {victim}{through} before {reader} reads {said}: "
                "read it before the write, or give the result bytes of its own"
            )
        self._note(mark.across, mark.point, mark.victim, (target, victim, read), message)

    def _report_pair(self, value, target, name, across):
        written, other = self._facts.label(target.var), self._facts.label(name.var)
        message = (
            f"{call_name(value)} writes {written} over {other}, and is not proved to read each "
            "byte of that before: give the result bytes of its own"
        )
        self._note(across, self._names.point, name, (written, other), message)

    def _note(self, across, point, victim, names, message):
        """Note a hazard, the first that a write does to what lies in some storages."""
        roots = frozenset(part.root for part in victim.bytes)
        if (point, roots) not in self._reported:
            self._reported.add((point, roots))
            kind = "overlap" if across else "write-live"
            hazard = Hazard(kind, tuple(dict.fromkeys(names)), message)
            self.found.append(Found(self._here, (kind, point, victim.var), hazard, roots))


def _naming_of(value, uses, names):
    """What a binding's value is another name of, and which: as `Names.give` has it."""
    if isinstance(value, relax.TupleGetItem):
        return [names.of(value)], "field"
    if not isinstance(value, relax.Call):
        return [names.of(value)], "renaming"
    if not uses and operator_of(value) in (*VIEWS, *AT_ZERO, *ELIDED):
        return [names.of(value.args[0])], "view"
    return [], "made"


def _lies_in(leaf, names):
    """The first of several names whose bytes a tensor's places may lie in."""
    return next((name for name in names if any(its.root in leaf for its in name.bytes)), None)


def _with_paths(places, path=()):
    if isinstance(places, list):
        for i, field in enumerate(places):
            yield from _with_paths(field, (*path, i))
    else:
        yield path, places
