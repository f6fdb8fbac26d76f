"""What `build` is called with for each row: approaches, and every combination of the axes."""

import itertools

from .approaches import approach as approach_of
from .approaches import approaches as approach_names
from .build import check_options
from .errors import InputError
from .latencies import NOT_TIMED
from .models.quiet import silenced
from .options import check_choice

#: Options that may be lists: every combination is run.
AXES = ("planner", "placement", "fused", "exec_mode", "outputs", "target")


def settings_of(approaches, build_options):
    """Every combination of approach and axes that makes sense, checked.

    Parameters
    ----------
    approaches : str, list of str or None
        None for all.
    build_options : dict
        Values of axes may be lists.

    Returns
    -------
    list of dict
        For each row the approach and the axes that were given.

    Raises
    ------
    InputError, UnsupportedError
    """
    fixed = {name: value for name, value in build_options.items() if name not in AXES}
    axes = {name: listed(build_options[name]) for name in AXES if name in build_options}
    names = approach_names() if approaches is None else listed(approaches)
    given = axes.pop("planner", [None])
    for planner in given:
        if planner is not None:  # else a mistyped one would be taken by no approach, and left out
            check_choice("planner", planner)
    rows = [
        (name, planner)
        for name in names
        for planner in (_planners(name) if given == [None] else given)
        if approaches is not None or planner in approach_of(name).planners
    ]
    settings = []
    for (name, planner), values in itertools.product(rows, itertools.product(*axes.values())):
        setting = {"approach": name, "planner": planner, **dict(zip(axes, values))}
        if approaches is None and not _takes(name, setting):
            continue
        with silenced():  # TVM warns of targets that it cannot detect
            check_options(**setting, **fixed)
        settings.append(setting)
    return settings


def _takes(name, setting):
    """Whether an approach, which nobody named, takes the fusion and the placement of a setting."""
    fused, placement = setting.get("fused", True), setting.get("placement", "late")
    check_choice("placement", placement)
    placed = placement in approach_of(name).placements
    return placed and (name != "shipped" or fused is True)


def _planners(name):
    """The planners that an approach is compared under where none is named.

    All that have them are shown under `token` and `arena`, and `stock` under TVM's as context.
    """
    taken = approach_of(name).planners
    if name in ("stock+offset-abi", "stock-noalias"):  # they are about kernels, not about storage
        return taken[:1]
    return taken if name == "stock" else taken[:2]


def check_timed(settings, fixed, reference, budget):
    """Refuse to time before anything is run.

    Parameters
    ----------
    settings : list of dict
        As `settings_of` gives them.
    fixed : dict
        What `build` is called with for all.
    reference : str
        The approach whose seconds the others' are divided by.
    budget : float
        Seconds.

    Raises
    ------
    InputError
        The reference is not there at each point of all axes, or the budget is no time.
    """
    if reference in NOT_TIMED:
        raise InputError(
            f"latency_to {reference!r}: its kernels are not those of the others: name another"
        )
    if not budget > 0:
        raise InputError(f"latency_budget {budget!r}: give seconds, more than 0")
    points = {}
    for setting in settings:
        chosen = {**setting, **vars(check_options(**setting, **fixed))}
        point = tuple(str(chosen.get(axis)) for axis in AXES)  # no exec_mode: the same in all
        points.setdefault(point, set()).add(setting["approach"])
    for names in points.values():
        if reference not in names and names.difference(NOT_TIMED):
            raise InputError(
                f"latency_to {reference!r} is not compared with {', '.join(sorted(names))} at equal"
                " options: add it to the approaches, and name one planner for all"
            )


def listed(value):
    """A list of a value, or of the values in a list or tuple."""
    return list(value) if isinstance(value, list | tuple) else [value]
