"""A record: what was measured, row by row, and with what."""

import json
from dataclasses import dataclass, field

#: Columns of a table that are shown only where their rows differ.
_AXES = ("planner", "placement", "fused", "exec_mode", "outputs", "dims", "threads", "target")
_MEMORY = (
    "requested",
    "planned",
    "peak",
    "retained",
    "kernels",
    "copy_kernels",
    "bytes_copied",
)


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
        """The record as JSON text."""
        return json.dumps(
            {
                "id": self.id,
                "kind": self.kind,
                "supersedes": self.supersedes,
                "provenance": self.provenance,
                "rows": self.rows,
            },
            indent=1,
        )

    def table(self):
        """The rows as a data frame: exact bytes, and those axes in which the rows differ.

        Returns
        -------
        pandas.DataFrame
        """
        lines = []
        for row in self.rows:
            memory = row["memory"] or {}
            lines.append(
                {
                    "workload": row["workload"],
                    "approach": row["approach"],
                    **{axis: self._text(row[axis]) for axis in _AXES if self.varies(axis)},
                    "correct": row["correct"],
                    **{name: memory.get(name) for name in _MEMORY},
                    "label": row["label"],
                }
            )
        import pandas as pd  # takes a third of a second, which processes that only run do not need

        frame = pd.DataFrame(lines)
        return frame.astype(dict.fromkeys(_MEMORY, "Int64"))

    def figure(self):
        """Planned and peak bytes of each row as bars, one panel a workload.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .figures import memory_bars

        return memory_bars(self)

    def memory_map(self):
        """Address over time, one panel a row; of a record that was measured in this process.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from .figures import memory_maps

        return memory_maps(self)

    def varies(self, axis):
        """Whether the rows differ in an axis."""
        return len({self._text(row[axis]) for row in self.rows}) > 1

    @staticmethod
    def _text(value):
        return json.dumps(value) if isinstance(value, dict | list) else str(value)
