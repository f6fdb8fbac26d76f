"""The options of a build that concern passes, checked before any pass runs."""

from dataclasses import dataclass, field

from tvm.target import Target

from .backends import backend_of, resolve_target
from .dims import check_sizes
from .errors import InputError, UnsupportedError
from .output_policies import ALLOWED

#: option -> (values in use, values that are planned and not there yet)
_CHOICES = {
    "planner": (("token", "arena", "tvm"), ()),
    "placement": (("late", "early", "early-fenced"), ()),
    "fused": ((True, False, "moves-apart"), ()),
    "exec_mode": (("bytecode", "compiled"), ()),
    "outputs": (tuple(ALLOWED), ()),
}


@dataclass(frozen=True)
class PassOptions:
    """What the passes of an approach depend on; `build` says what each option means."""

    target: Target
    planner: str = "token"
    placement: str = "late"
    fused: bool | str = True
    entry: str = "main"
    donate: tuple[str, ...] = ()
    outputs: str = "copy"
    dims: dict[str, int] = field(default_factory=dict)

    @property
    def flat_scopes(self):
        """Memory scopes of the target where a reshape leaves every byte in its place."""
        return backend_of(self.target).flat_scopes

    @property
    def schedules(self):
        """The pass that schedules the target's kernels."""
        return backend_of(self.target).schedules(self.target)


def check_choice(option, value):
    """Refuse a value that an option does not take.

    Raises
    ------
    InputError
        Nobody knows the value.
    UnsupportedError
        The value is planned and not there yet.
    """
    ready, planned = _CHOICES[option]
    if any(value is known or (isinstance(known, str) and value == known) for known in ready):
        return
    if value in planned:
        raise UnsupportedError(f"{option} {value!r} is not there yet: use {_listed(ready)}")
    raise InputError(f"unknown {option} {value!r}: use {_listed(ready)}")


def pass_options(
    approach,
    target,
    *,
    planner=None,
    placement="late",
    fused=True,
    entry="main",
    donate=(),
    outputs="copy",
    dims=None,
):
    """Check what an approach is to be run with and make a `PassOptions` of it.

    Parameters
    ----------
    approach : Approach
    target, planner, placement, fused, entry, donate, outputs, dims
        As for `build`.

    Returns
    -------
    PassOptions

    Raises
    ------
    InputError
        A value is none that the option takes, or none that the approach can heed.
    UnsupportedError
        It is planned and not there yet.
    """
    planner = approach.planners[0] if planner is None else planner
    for option, value in (
        ("planner", planner),
        ("placement", placement),
        ("fused", fused),
        ("outputs", outputs),
    ):
        check_choice(option, value)
    if planner not in approach.planners:
        raise InputError(f"{approach.name} takes planner {_listed(approach.planners)} only")
    if placement not in approach.placements:
        raise InputError(
            f"{approach.name} says nothing of aliasing that could stand early: placement late only"
        )
    if approach.name == "shipped" and fused is not True:
        raise InputError("shipped is TVM's pipeline untouched, which fuses: leave out fused")
    check_sizes(dims or {})
    if not isinstance(donate, list | tuple):
        raise InputError(f"donate is {donate!r}: give a list of parameter names")
    if any(not isinstance(name, str) for name in donate):
        raise InputError(f"donate is {donate!r}: give a list of parameter names")
    return PassOptions(
        target=resolve_target(target),
        planner=planner,
        placement=placement,
        fused=fused,
        entry=entry,
        donate=tuple(donate),
        outputs=outputs,
        dims={name: int(size) for name, size in (dims or {}).items()},
    )


def _listed(values):
    return ", ".join(map(str, values))
