"""What the names of a function stand for at one moment: content, or nothing, or what is gone."""

from dataclasses import dataclass, field

from tvm import relax

from .storage_bytes import Bytes, covers, overlap


@dataclass(eq=False)
class Name:
    """A tensor by the variable, or the field of one, that names it.

    Attributes
    ----------
    var : relax.Var
    bytes : tuple of Bytes
    cell : int
        Shared with what it is a renaming of.
    cells : frozenset of int
        Its own, and those of what it is a view of: a write through it is meant for all of them.
    last_use : int
        The point after which nothing mentions it.
    empty : bool
        Whether its bytes held nothing when they were named: writes fill it.
    """

    var: relax.Var
    bytes: tuple[Bytes, ...]
    cell: int
    cells: frozenset
    last_use: int
    empty: bool = False


@dataclass(eq=False)
class Mark:
    """A write to bytes of a name that was not meant for it.

    Attributes
    ----------
    point : int
    writer : str
        The call, in words.
    target : relax.Var
        What was written through.
    victim : Name
        What the bytes held first.
    bytes : Bytes
        What was written.
    across : bool
        Whether the two lie in different allocations of one storage.
    renews : bool
        Whether the name was written through a view of it, so that a renaming means what is there
        now.
    """

    point: int
    writer: str
    target: relax.Var
    victim: Name
    bytes: Bytes
    across: bool
    renews: bool = False


@dataclass
class State:
    """What is known on a path.

    Attributes
    ----------
    content : dict of Name to tuple of Bytes
        What of it held something when it was named, or was written for it.
    marks : dict of Name to tuple of Mark
        What it lost since.
    renamed_next : dict of Name to Mark
        Names written through that keep standing for their bytes until these are renamed.
    held : dict of Root to dict of Name to None
        The names of tensors in each storage, in order.
    written : dict of Root to dict of key to Bytes
        What has been written of what the function allocates.
    """

    content: dict = field(default_factory=dict)
    marks: dict = field(default_factory=dict)
    renamed_next: dict = field(default_factory=dict)
    held: dict = field(default_factory=dict)
    written: dict = field(default_factory=dict)

    def copy(self):
        """The same, to go on with on one of two paths."""
        return State(
            dict(self.content),
            dict(self.marks),
            dict(self.renamed_next),
            {base: dict(names) for base, names in self.held.items()},
            {root: dict(written) for root, written in self.written.items()},
        )

    def join(self, other):
        """Go on where another path ends too: what may be on either."""
        for name, content in other.content.items():
            self.content[name] = _united(self.content.get(name, ()), content)
        for name, marks in other.marks.items():
            self.marks[name] = _united(self.marks.get(name, ()), marks)
        for name, mark in other.renamed_next.items():
            self.renamed_next.setdefault(name, mark)
        for base, names in other.held.items():
            self.held.setdefault(base, {}).update(names)
        for root, written in other.written.items():
            self.written.setdefault(root, {}).update(written)

    def hold(self, name, content, marks=()):
        """Begin to watch a name."""
        self.content[name] = tuple(content)
        if marks:
            self.marks[name] = tuple(marks)
        for its in name.bytes:
            self.held.setdefault(its.base, {})[name] = None

    def forget(self, name):
        """Stop watching a name."""
        self.content.pop(name, None)
        self.marks.pop(name, None)
        self.renamed_next.pop(name, None)
        for its in name.bytes:
            names = self.held.get(its.base)
            if names is not None:
                names.pop(name, None)
                if not names:
                    del self.held[its.base]

    def forget_all_until(self, point):
        """Stop watching what nothing after a point mentions."""
        for name in [name for name in self.content if name.last_use <= point]:
            self.forget(name)

    def mark(self, name, mark):
        """Note a write that was not meant for a name."""
        self.marks[name] = _united(self.marks.get(name, ()), (mark,))

    def gain(self, name, its):
        """Note a write that was."""
        content = self.content.get(name, ())
        if not any(covers(piece, its) for piece in content):
            self.content[name] = (*content, its)

    def holds(self, its):
        """Those parts of bytes that hold something: all that the function did not allocate."""
        return [
            written for written in self.written.get(its.root, {}).values() if overlap(written, its)
        ]

    def note_written(self, its):
        """Note that bytes hold something from now on."""
        numbers = isinstance(its.begin, int) and isinstance(its.size, int)
        key = (its.begin, its.size) if numbers else (str(its.begin), str(its.size))
        self.written.setdefault(its.root, {})[key] = its


def _united(some, more):
    return some + tuple(one for one in more if not any(one is known for known in some))


def leaves_of(names):
    """The names of a value's tensors, from left to right."""
    if isinstance(names, list):
        return [leaf for field in names for leaf in leaves_of(field)]
    return [names]
