"""Records: their JSON, their tables, and the figures drawn from them."""

import io
import json
from itertools import product

import matplotlib.image
import pytest
from matplotlib.patches import Rectangle

from tvm_aliasing.errors import InputError
from tvm_aliasing.measure.memory_map import Lifetime
from tvm_aliasing.results import Record
from tvm_aliasing.results.figures import memory_maps

MIB = 2**20
USUAL = ("copy", "stock", "k0")
MEMORY = {
    "requested": 3 * MIB,
    "planned": 2 * MIB,
    "peak": 2**40 + 1,
    "retained": 1,
    "workspace": None,
    "live_bound": None,
    "value_bound": None,
    "kernels": 3,
    "copy_kernels": 0,
    "bytes_copied": 0,
}
MAP = [
    Lifetime("storage", None, 0, MIB, 0, 1),
    Lifetime("storage1", None, MIB, MIB, 1, 2),
    Lifetime("alloc", "storage", 0, MIB, 0, 1),
    Lifetime("alloc1", "storage1", MIB, MIB, 1, 2),
]


def row(workload="net", approach="k0", memory=MEMORY, **changed):
    return {
        "workload": workload,
        "approach": approach,
        "planner": "tvm",
        "placement": "late",
        "fused": True,
        "exec_mode": "bytecode",
        "outputs": "copy",
        "donate": [],
        "dims": {},
        "threads": 2,
        "target": "llvm",
        "label": "run on a CPU",
        "ran": True,
        "correct": memory is not None,
        "memory": memory,
        "latency": None,
        **changed,
    }


def record(*rows, **fields):
    maps = [MAP if each["memory"] else None for each in rows]
    return Record("compare", {"tvm": "0.27"}, list(rows), maps=maps, **fields)


def measured(peak):
    return {**MEMORY, "planned": peak, "peak": peak}


def timed(ratio, **changed):
    return {
        "ratio_to": "stock",
        "ratio": ratio,
        "lo": ratio - 0.1,
        "hi": ratio + 0.2,
        "aa_lo": 0.99,
        "aa_hi": 1.01,
        "samples": {},
        **changed,
    }


def usual(**fields):
    """Two programs under four approaches."""
    sizes = product(("net", "other"), zip(("copy", "stock", "k0", "k0-run"), (4, 3, 2, 3)))
    rows = [
        row(name, approach, measured(size * MIB), latency=timed(size))
        for name, (approach, size) in sizes
    ]
    return record(*rows, **fields)


# JSON


def test_json_holds_all_but_the_maps():
    original = record(row(), row(memory=None, label="died: killed by SIGSEGV"), id="R-0001")
    read = json.loads(original.to_json())
    assert list(read) == ["id", "kind", "supersedes", "provenance", "rows"]
    assert Record(**read, maps=original.maps) == original
    assert type(read["rows"][0]["memory"]["peak"]) is int


def test_record_without_id_says_so():
    read = json.loads(record(row()).to_json())
    assert (read["id"], read["supersedes"]) == (None, None)


def test_json_has_a_list_of_numbers_on_one_line():
    samples = {"k0": [0.000123456, 1e-05, -1.5, 2], "names": ["[\n 1,\n 2\n]", "b"], "none": []}
    original = record(row(latency={"samples": samples}))
    text = original.to_json()
    assert Record.from_json(text).rows == original.rows
    assert '"k0": [0.000123456, 1e-05, -1.5, 2]' in text


def test_json_is_read_back():
    original = record(row(), id="R-0002", supersedes="R-0001")
    read = Record.from_json(original.to_json())
    assert (read.id, read.kind, read.supersedes) == ("R-0002", "compare", "R-0001")
    assert (read.provenance, read.rows, read.maps) == (original.provenance, original.rows, [])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"kind": None}, "kind has to be"),
        ({"provenance": []}, "provenance a dict"),
        ({"rows": {}}, "rows a list"),
        ({"rows": [1]}, "rows a list"),
        ({"id": 1}, "a text or null"),
        ({"supersedes": 1}, "a text or null"),
        ({"maps": []}, "keys have to be"),
    ],
)
def test_json_that_is_no_record(changed, said):
    text = json.dumps({**json.loads(record(row()).to_json()), **changed})
    with pytest.raises(InputError, match=f"^not a record: .*{said}"):
        Record.from_json(text)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", b"\xff", "[" * 100_000])
def test_text_that_is_no_record(text):
    with pytest.raises(InputError, match=r"^not a record: .*$"):
        Record.from_json(text)


# Tables


def test_table_has_exact_bytes():
    table = record(row(), row(approach="stock", memory=None)).table()
    assert list(table.columns) == [
        "workload",
        "approach",
        "correct",
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
        "label",
    ]
    assert table["peak"][0] == 2**40 + 1
    assert table["peak"].isna().tolist() == [False, True]
    assert str(table["peak"].dtype) == "Int64"


@pytest.mark.parametrize(
    ("axis", "values"),
    [
        ("planner", ["token", "arena"]),
        ("placement", ["late", "early"]),
        ("fused", [True, "moves-apart"]),
        ("exec_mode", ["bytecode", "compiled"]),
        ("outputs", ["copy", "view"]),
        ("donate", [[], ["cache"]]),
        ("dims", [{"n": 4}, {"n": 8}]),
        ("threads", [1, 2]),
        ("target", ["llvm", "cuda"]),
    ],
)
def test_table_has_a_column_for_what_differs(axis, values):
    table = record(*(row(**{axis: value}) for value in values)).table()
    assert list(table.columns)[:4] == ["workload", "approach", axis, "correct"]
    assert table[axis].nunique() == 2
    same = record(*(row(**{axis: values[1]}) for _ in range(2))).table()
    assert axis not in same.columns


def test_table_of_another_kind_has_the_keys_of_its_rows():
    rows = [
        {"kernel": "matmul", "tiles": [8, 8], "bytes": 2**60 + 1, "seconds": 1.0, "best": True},
        {"kernel": "softmax", "tiles": None, "seconds": 2.5, "best": False, "note": "slow"},
    ]
    table = Record("schedules", {}, rows).table()
    assert list(table.columns) == ["kernel", "bytes", "seconds", "best", "note"]
    assert table["bytes"][0] == 2**60 + 1
    assert str(table["bytes"].dtype) == "Int64"
    assert table["seconds"].tolist() == [1.0, 2.5]
    assert table["best"].tolist() == [True, False]
    assert table["note"].isna().tolist() == [True, False]
    assert "matmul" in table.to_markdown()


def test_table_without_rows():
    assert Record("schedules", {}, []).table().empty


# Figures


FIGURES = ["figure", "memory_map", "latency_figure"]


@pytest.mark.parametrize("draw", FIGURES)
def test_figures_are_png_and_the_same_each_time(draw):
    first, second = (getattr(usual(), draw)()._repr_png_() for _ in range(2))
    assert first == second
    pixels = matplotlib.image.imread(io.BytesIO(first), format="png")
    assert pixels.shape[1] == 900
    assert pixels[..., :3].std() > 0.01
    assert b"matplotlib" not in first.lower()  # its version would change the file


@pytest.mark.parametrize("draw", FIGURES)
def test_figures_say_how_their_rows_were_run_and_their_id(draw):
    def corner(**fields):
        drawn = getattr(usual(**fields), draw)()
        return drawn.texts[-1]

    text = corner(id="R-0007")
    assert text.get_text() == "run on a CPU, R-0007"
    x, y = text.get_position()
    assert x > 0.9 and y < 0.1
    assert corner().get_text() == "run on a CPU"


def test_latency_is_drawn_beside_the_reference():
    figure = usual().latency_figure(["copy", "stock", "k0"])
    (axes,) = figure.axes
    drawn = {}
    for container in axes.containers:
        (points, _, _) = container
        drawn.setdefault(container.get_label(), []).append(points.get_xdata().item())
    assert drawn == {"copy": [4, 4], "k0": [2, 2]}  # the reference itself is the line at 1
    assert figure.get_supxlabel() == "time of a call / time under stock"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["net", "other"]


def test_latency_of_each_fusion_setting_has_a_panel():
    rows = [row(fused=fused, latency=timed(1.5)) for fused in (True, False, "moves-apart")]
    figure = record(*rows, row(approach="copy")).latency_figure()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["fused=True", "fused=False", "fused=moves-apart"]


def test_a_program_with_a_donated_parameter_is_another_one():
    """Its rows stand apart from those without, in each figure."""
    given = {"donate": ["cache"], "latency": timed(0.5)}
    drawn = record(row(latency=timed(1.5)), row(**given), row(approach="stock"))
    names = ["net", "net, cache donated"]
    (axes,) = drawn.latency_figure().axes
    assert [text.get_text() for text in axes.get_yticklabels()] == names
    heights = [points.get_ydata().item() for points, _, _ in axes.containers]
    assert heights == [0, 1]
    assert [axes.get_title(loc="left") for axes in drawn.figure().axes] == names
    assert list(panels(drawn.memory_map(["k0"]))) == [f"{name}, k0" for name in names]


def test_latency_labels_tell_rows_apart():
    rows = [row(outputs=policy, latency=timed(1.5)) for policy in ("copy", "view")]
    (axes,) = record(*rows).latency_figure().axes
    assert len({points.get_ydata().item() for points, _, _ in axes.containers}) == 2


def test_no_latency_is_said():
    with pytest.raises(InputError, match="no row of this record has a latency"):
        record(row()).latency_figure()


def test_bars_are_the_rows():
    figure = usual().figure()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["net", "other"]
    for axes in figure.axes:
        assert [text.get_text() for text in axes.get_yticklabels()] == [
            "copy",
            "stock",
            "k0",
            "k0-run",
        ]
        planned, peak = axes.containers
        assert [bar.get_width() for bar in planned] == [4, 3, 2, 3]
        assert [bar.get_width() for bar in peak] == [4, 3, 2, 3]


def test_bars_leave_out_what_was_not_measured():
    (axes,) = record(row(), row(approach="stock", memory=None)).figure().axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["k0"]


def test_labels_tell_rows_apart():
    rows = [row(planner=planner, memory=measured(MIB)) for planner in ("token", "arena")]
    (axes,) = record(*rows).figure().axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == ["k0 planner=token", "k0 planner=arena"]
    assert len(record(*rows).memory_map().axes) == 2


def panels(figure):
    """The panels that are drawn, by title; its second line ends with the peak."""
    titles = {axes: axes.get_title(loc="left") for axes in figure.axes if axes.axison}
    return {title.split("peak")[0].strip(" ,\n"): axes for axes, title in titles.items()}


def test_map_has_a_panel_for_each_of_the_usual_approaches():
    drawn = panels(usual().memory_map())
    names = [f"{name}, {approach}" for name in ("net", "other") for approach in USUAL]
    assert list(drawn) == names
    for axes in drawn.values():
        boxes = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        corners = [(*box.get_xy(), box.get_width(), box.get_height()) for box in boxes]
        assert corners == [(0, 0, 2, 1), (1, 1, 2, 1)] * 2  # (kernel, MiB, kernels, MiB)
        assert [box.get_linestyle() for box in boxes] == ["--", "--", "solid", "solid"]
        assert axes.get_ylim()[1] > 2
    assert drawn["net, copy"].get_title(loc="left").endswith("peak 4.00 MiB")


def test_map_has_a_row_of_panels_for_each_planner():
    rows = [
        row(approach=approach, planner=planner)
        for approach in USUAL
        for planner in ("token", "arena")
        if (approach, planner) != ("copy", "arena")
    ]
    figure = record(*rows, row("other")).memory_map()
    places = {
        title: axes.get_subplotspec().colspan.start + 3 * axes.get_subplotspec().rowspan.start
        for title, axes in panels(figure).items()
    }
    assert places == {
        "net, copy\ntoken": 0,
        "net, stock\ntoken": 1,
        "net, k0\ntoken": 2,
        "net, stock\narena": 4,
        "net, k0\narena": 5,
        "other, k0\ntvm": 8,
    }


def test_maps_of_one_program_have_one_scale():
    large = {**MEMORY, "live_bound": 8 * MIB}
    rows = [row(planner="token", memory=large), row(planner="arena"), row("other")]
    tops = {title: axes.get_ylim()[1] for title, axes in panels(record(*rows).memory_map()).items()}
    assert tops["net, k0\ntoken"] == tops["net, k0\narena"] > 8
    assert tops["other, k0\ntvm"] < 8


def test_map_has_a_line_for_each_bound():
    bounds = {"value_bound": 5 * MIB, "live_bound": 4 * MIB}
    rows = [row(memory={**MEMORY, **bounds}), row(approach="copy")]
    figure = record(*rows).memory_map()
    drawn = {
        title: {line.get_label(): line.get_ydata()[0] for line in axes.lines}
        for title, axes in panels(figure).items()
    }
    assert drawn == {"net, k0": {"value bound": 5, "live bound": 4}, "net, copy": {}}
    assert all(axes.get_ylim()[1] > 5 for axes in panels(figure).values())
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["value bound", "live bound"]
    assert not record(row()).memory_map().legends


def test_map_of_chosen_approaches():
    drawn = panels(usual().memory_map(["k0-run"]))
    assert list(drawn) == ["net, k0-run", "other, k0-run"]


def test_map_of_other_approaches_where_none_of_the_usual_is_there():
    drawn = panels(record(row(approach="shipped"), row(approach="k0-run")).memory_map())
    assert list(drawn) == ["net, shipped", "net, k0-run"]


def test_missing_map_leaves_its_place_empty():
    rows = [row(approach="copy"), row(approach="k0", memory=None), row("other", "k0")]
    assert list(panels(record(*rows).memory_map())) == ["net, copy", "other, k0"]


@pytest.mark.parametrize("draw", ["figure", "memory_map"])
def test_nothing_to_draw(draw):
    with pytest.raises(InputError, match=r"to draw"):
        getattr(record(row(memory=None)), draw)()


def test_record_from_a_file_has_no_maps():
    read = Record(**json.loads(usual().to_json()))
    with pytest.raises(InputError, match="compare again"):
        read.memory_map()
    assert read.figure()._repr_png_() == usual().figure()._repr_png_()
    with pytest.raises(InputError, match="no memory map of stock"):
        memory_maps(record(row()), ["stock"])
