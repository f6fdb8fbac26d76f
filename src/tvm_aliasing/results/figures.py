"""Figures, legible in grey and at the width of a GitHub page."""

import io

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ..errors import InputError
from .record import program_of

MIB = 2**20
_WIDTH = 9.0  # inches; at 100 dots an inch what a GitHub page shows without scaling
_STYLE = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
_USUAL = ("copy", "stock", "k0", "alias")  # all approaches side by side are too many for a page
_GREYS = ("0.45", "0.65", "0.8")
_MARKERS = "osD^v"
#: Lines in a map, behind the tensors and before them: where both are equal, both are seen.
_BOUNDS = {
    "value_bound": {"color": "0.6", "linewidth": 3.5, "zorder": 0.5},
    "live_bound": {"color": "0", "linewidth": 1.2, "linestyle": ":", "zorder": 2},
}


class PngFigure(Figure):
    """A figure that a notebook shows as PNG, byte for byte the same each time."""

    def _repr_png_(self):
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
        return buffer.getvalue()


def memory_bars(record):
    """Planned and peak bytes as bars, one panel a workload.

    Parameters
    ----------
    record : Record

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = [row for row in record.rows if row.get("memory")]
    programs = _in_order(map(program_of, table))
    if not programs:
        raise InputError("no row of this record has memory figures: nothing to draw")
    longest = max(sum(program_of(row) == name for row in table) for name in programs)
    with rc_context(_STYLE):
        figure = PngFigure(
            figsize=(_WIDTH, len(programs) * (0.55 + 0.2 * longest)), layout="constrained"
        )
        for axes, name in zip(figure.subplots(len(programs), squeeze=False)[:, 0], programs):
            rows = [row for row in table if program_of(row) == name]
            labels = [_label(record, row) for row in rows]
            planned = [row["memory"]["planned"] / MIB for row in rows]
            peak = [row["memory"]["peak"] / MIB for row in rows]
            places = range(len(rows))
            axes.barh(places, planned, 0.7, fill=False, edgecolor="0.2", label="planned")
            axes.barh(places, peak, 0.45, color=_GREYS[0], label="peak")
            axes.set_yticks(places, labels)
            axes.invert_yaxis()
            axes.set_title(name, loc="left", fontsize=9, fontweight="bold")
        axes.set_xlabel("MiB")
        figure.axes[0].legend(loc="lower right", frameon=False, ncols=2, bbox_to_anchor=(1, 1))
        _sign(figure, record, table)
    return figure


def memory_maps(record, approaches=None):
    """Address over time: a row of panels a workload and planner, a panel a row of the record.

    Where a row has them, its bounds are lines across: no plan of it can be lower.

    Parameters
    ----------
    record : Record
        Measured in this process; a record read from a file holds no maps.
    approaches : sequence of str, optional
        Which ones to draw; by default copy, stock, k0 and alias, or all where none is there.

    Returns
    -------
    matplotlib.figure.Figure
    """
    there = [pair for pair in zip(record.rows, record.maps) if pair[1] is not None]
    named = _USUAL if approaches is None else approaches
    drawn = [pair for pair in there if pair[0]["approach"] in named]
    if approaches is None and not drawn:
        drawn = there
    if not drawn:
        raise InputError(
            f"no memory map of {', '.join(named)} to draw: nothing in this record was measured"
            " under them, or it was read from a file: compare again"
        )
    lines = _in_order(_line(row) for row, _ in drawn)
    columns = _in_order(_label(record, row, ("planner",)) for row, _ in drawn)
    with rc_context(_STYLE):
        figure = PngFigure(figsize=(_WIDTH, 0.6 + 1.9 * len(lines)), layout="constrained")
        panels = figure.subplots(len(lines), len(columns), sharey="row", squeeze=False)
        for axes in panels.flat:
            axes.set_axis_off()
        tops = dict.fromkeys((program for program, _ in lines), 0)
        for row, lifetimes in drawn:
            line, column = _line(row), _label(record, row, ("planner",))
            axes = panels[lines.index(line), columns.index(column)]
            axes.set_axis_on()
            _draw_map(axes, lifetimes)
            bounds = _draw_bounds(axes, row["memory"])
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.set_xlim(0, max((lifetime.end for lifetime in lifetimes), default=0) + 1)
            peak = row["memory"]["peak"] / MIB
            planner = f"{row['planner']}, " if len({planner for _, planner in lines}) > 1 else ""
            axes.set_title(
                f"{program_of(row)}, {column}\n{planner}peak {peak:.2f} MiB",
                loc="left",
                fontsize=8,
            )
            ends = [lifetime.address + lifetime.size for lifetime in lifetimes]
            tops[program_of(row)] = max([tops[program_of(row)], *ends, *bounds])
        for axes, (program, _) in zip(panels[:, 0], lines):
            axes.set_ylabel("address (MiB)")
            axes.set_ylim(0, 1.05 * (tops[program] or MIB) / MIB)
        for axes in panels[-1]:
            axes.set_xlabel("kernel")
        _name_bounds(figure)
        _sign(figure, record, [row for row, _ in drawn])
    return figure


def latency_intervals(record, approaches=None):
    """Latency as ratios with their intervals, one panel a fusion setting.

    The grey band behind a program is what two identical builds of the reference differ by.

    Parameters
    ----------
    record : Record
        Some of its rows have a latency.
    approaches : sequence of str, optional
        Which ones to draw; by default all but the reference.

    Returns
    -------
    matplotlib.figure.Figure
    """
    timed = [row for row in record.rows if row.get("latency")]
    drawn = [
        row
        for row in timed
        if row["approach"] != row["latency"]["ratio_to"]
        and (approaches is None or row["approach"] in approaches)
    ]
    if not drawn:
        raise InputError("no row of this record has a latency to draw: compare with latency_to")
    programs = _in_order(map(program_of, drawn))
    names = _in_order(_label(record, row, ("fused",)) for row in drawn)
    settings = _in_order(str(row["fused"]) for row in drawn)
    (reference,) = {row["latency"]["ratio_to"] for row in drawn}
    with rc_context(_STYLE):
        figure = PngFigure(
            figsize=(_WIDTH, 1.0 + len(programs) * (0.12 + 0.16 * len(names))),
            layout="constrained",
        )
        panels = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
        for axes, fused in zip(panels, settings):
            for row in (row for row in drawn if str(row["fused"]) == fused):
                label = _label(record, row, ("fused",))
                place = programs.index(program_of(row))
                _draw_interval(axes, row, label, place, names.index(label), len(names))
            axes.axvline(1, color="0.2", linewidth=0.8)
            axes.set_yticks(range(len(programs)), programs)
            axes.set_title(f"fused={fused}", loc="left", fontsize=9)
            axes.set_ylim(len(programs) - 0.5, -0.5)
        figure.supxlabel(f"time of a call / time under {reference}", fontsize=9)
        handles = dict(zip(*reversed(panels[0].get_legend_handles_labels())))
        figure.legend(
            handles.values(), handles.keys(), loc="outside upper right", frameon=False, ncols=5
        )
        _sign(figure, record, drawn)
    return figure


def _draw_interval(axes, row, label, place, nth, count):
    """A ratio and its interval, over the band of the A/A row."""
    latency = row["latency"]
    if nth == 0:
        axes.fill_betweenx(
            (place - 0.45, place + 0.45), latency["aa_lo"], latency["aa_hi"], color="0.88", lw=0
        )
    axes.errorbar(
        latency["ratio"],
        place + (nth - (count - 1) / 2) * 0.8 / count,
        xerr=[[latency["ratio"] - latency["lo"]], [latency["hi"] - latency["ratio"]]],
        fmt=_MARKERS[nth % len(_MARKERS)],
        color="0.15",
        markersize=4,
        linewidth=1,
        label=label,
    )


def _draw_map(axes, lifetimes):
    """Storages as dashed outlines, the tensors in them as grey boxes."""
    tensors = 0
    for lifetime in lifetimes:
        if lifetime.storage is None:
            look = {"facecolor": "none", "linestyle": "--", "linewidth": 0.8}
        else:
            look = {"facecolor": _GREYS[tensors % len(_GREYS)], "linewidth": 0.5}
            tensors += 1
        axes.add_patch(
            Rectangle(
                (lifetime.begin, lifetime.address / MIB),
                lifetime.end + 1 - lifetime.begin,
                lifetime.size / MIB,
                edgecolor="0.1",
                **look,
            )
        )


def _draw_bounds(axes, memory):
    """Lines across a map; the bytes at which they lie."""
    bounds = {name: memory[name] for name in _BOUNDS if memory[name] is not None}
    for name, bound in bounds.items():
        axes.axhline(bound / MIB, label=name.replace("_", " "), **_BOUNDS[name])
    return bounds.values()


def _name_bounds(figure):
    """A legend of the bounds that are drawn, above all panels."""
    named = {}
    for axes in figure.axes:
        named |= dict(zip(*reversed(axes.get_legend_handles_labels())))
    if named:
        figure.legend(
            named.values(), named.keys(), loc="outside upper right", frameon=False, ncols=2
        )


def _line(row):
    """What a row of panels is about."""
    return program_of(row), row["planner"]


def _label(record, row, left_out=()):
    """An approach, with what else tells its row apart."""
    axes = [
        axis
        for axis in ("planner", "placement", "fused", "exec_mode", "outputs")
        if axis not in left_out and record.varies(axis)
    ]
    return " ".join([row["approach"], *(f"{axis}={row[axis]}" for axis in axes)])


def _sign(figure, record, rows):
    """How the rows were run and the record's id, where it has one, in the corner."""
    text = ", ".join(
        [*_in_order(row["label"] for row in rows), *([record.id] if record.id else [])]
    )
    figure.text(0.995, 0.005, text, ha="right", va="bottom", fontsize=7, color="0.3")


def _in_order(values):
    return list(dict.fromkeys(values))
