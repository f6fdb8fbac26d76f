"""A record: what was measured, row by row, and with what."""

import json
import re
from dataclasses import dataclass, field

from ..errors import InputError

_KEYS = ("id", "kind", "supersedes", "provenance", "rows")
# A list of numbers as `json.dumps` lays it out; inside a string there is no raw line break.
_NUMBERS = re.compile(r"\[\n\s*([-+.\deE,\s]+?)\n\s*\]")
#: Columns of a table that are shown only where their rows differ.
_AXES = (
    *("planner", "placement", "fused", "exec_mode", "outputs", "donate"),
    *("dims", "threads", "target"),
)
_MEMORY = (
    "requested",
    "planned",
    "peak",
    "retained",
    "workspace",
    "value_bound",
    "live_bound",
    "kernels",
    "copy_kernels",
    "bytes_copied",
)
_LATENCY = ("ratio", "lo", "hi", "aa_lo", "aa_hi")


def program_of(row):
    """What a row was built from, by name: with a parameter donated it is another program.

    Parameters
    ----------
    row : dict
        Of a record of kind `compare`.

    Returns
    -------
    str
    """
    donated = f", {', '.join(row['donate'])} donated" if row["donate"] else ""
    return f"{row['workload']}{donated}"


@dataclass
class Record:
    """Rows measured in one go.

    Attributes
    ----------
    kind : str
        `compare`; other kinds come with what they record.
    provenance : dict
        Versions, machine and command.
    rows : list of dict
        `results/README.md` lists the keys.
    id, supersedes : str or None
        Set when a record is stored.
    maps : list
        For each row its memory map, or None; not part of the stored record.
    """

    kind: str
    provenance: dict
    rows: list
    id: str | None = None
    supersedes: str | None = None
    maps: list = field(default_factory=list, repr=False)

    def to_json(self):
        """The record as JSON text, a list of numbers on one line."""
        text = json.dumps({key: getattr(self, key) for key in _KEYS}, indent=1)
        return _NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text)

    @classmethod
    def from_json(cls, text):
        """Read a record from JSON text.

        Parameters
        ----------
        text : str or bytes

        Returns
        -------
        Record

        Raises
        ------
        InputError
            The text is not that of a record.
        """
        try:
            read = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"not a record: not JSON: {error}") from error
        if not isinstance(read, dict) or set(read) != set(_KEYS):
            raise InputError(f"not a record: its keys have to be {', '.join(_KEYS)}")
        record = cls(**read)
        if not (
            isinstance(record.kind, str)
            and isinstance(record.provenance, dict)
            and isinstance(record.rows, list)
            and all(isinstance(row, dict) for row in record.rows)
            and isinstance(record.id, str | None)
            and isinstance(record.supersedes, str | None)
        ):
            raise InputError(
                "not a record: kind has to be a text, provenance a dictionary, rows a list of"
                " dictionaries, id and supersedes a text or null"
            )
        return record

    def table(self):
        """The rows as a data frame: exact bytes, and those axes in which the rows differ.

        Ratios of latency, where some row has one, are rounded to three digits.

        Where the rows are not builds of programs: what they hold, without lists and dictionaries.

        Returns
        -------
        pandas.DataFrame
        """
        if self.kind != "compare":
            return self._plain_table()
        timed = any(row["latency"] for row in self.rows)
        lines = []
        for row in self.rows:
            memory, latency = row["memory"] or {}, row["latency"] or {}
            lines.append(
                {
                    "workload": row["workload"],
                    "approach": row["approach"],
                    **{axis: self._text(row[axis]) for axis in _AXES if self.varies(axis)},
                    "correct": row["correct"],
                    **{name: memory.get(name) for name in _MEMORY},
                    **{name: latency.get(name) for name in _LATENCY if timed},
                    "label": row["label"],
                }
            )
        import pandas as pd  # takes a third of a second, which processes that only run do not need

        frame = pd.DataFrame(lines)
        kinds = {**dict.fromkeys(_MEMORY, "Int64"), **dict.fromkeys(_LATENCY, float)}
        frame = frame.astype({name: kind for name, kind in kinds.items() if name in frame})
        return frame.round(3)

    def _plain_table(self):
        """Every key whose values are neither lists nor dictionaries, as a column."""
        import pandas as pd

        nested = {name for row in self.rows for name in row if isinstance(row[name], dict | list)}
        columns = dict.fromkeys(name for row in self.rows for name in row if name not in nested)
        lines = [[row.get(name) for name in columns] for row in self.rows]
        frame = pd.DataFrame(lines, columns=list(columns), dtype=object)
        integers = [
            name
            for name, values in zip(columns, zip(*lines))
            if {type(value) for value in values if value is not None} == {int}
        ]
        return frame.astype(dict.fromkeys(integers, "Int64"))

    def figure(self):
        """Planned and peak bytes of each row as bars, one panel a workload.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .figures import memory_bars

        return memory_bars(self)

    def memory_map(self, approaches=None):
        """Address over time, one panel a row; of a record that was measured in this process.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .figures import memory_maps

        return memory_maps(self, approaches)

    def latency_figure(self, approaches=None):
        """Ratios of latency with their intervals, one panel a fusion setting.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .figures import latency_intervals

        return latency_intervals(self, approaches)

    def varies(self, axis):
        """Whether the rows differ in an axis."""
        return len({self._text(row[axis]) for row in self.rows}) > 1

    @staticmethod
    def _text(value):
        return json.dumps(value) if isinstance(value, dict | list) else str(value)
