"""Hazards of a program that is given by name or path, at the stage that the caller names."""

from dataclasses import replace

from .build import check_options, planned
from .errors import InputError
from .stage_hazards import hazards_of
from .subjects import program_of
from .verify import verify
from .workloads import Workload


def hazards_of_program(where, stage, *, target, entry, donate, outputs, dims, **shaping):
    """The hazards of a program that is given by name or path.

    Parameters
    ----------
    where : str
        A workload, a fetched model, or a file.
    stage : str
        `source`, the program as it is given; or the approach that plans it.
    target, entry, donate, outputs, dims, **shaping
        As for `build`; `shaping`, its other options, says nothing of the source.

    Returns
    -------
    list of Hazard

    Raises
    ------
    InputError, UnsupportedError
    """
    if stage == "source":
        if shaping:
            named = ", ".join(f"--{name}" for name in shaping)
            raise InputError(f"{named}: the source is not planned: name an approach by --stage")
        program = program_of(where, dims)
        return verify(program.mod, target=target, entry=entry, donate=donate, outputs=outputs)
    options = {"entry": entry, "donate": donate, "outputs": outputs, **shaping}
    check_options(stage, target, **options)  # before a model is loaded
    program = program_of(where, dims)
    if isinstance(program, Workload):  # a model has taken the sizes that it was loaded with
        program = replace(program, dims={**program.dims, **dims})
    stages, options = planned(
        program.mod, stage, target, params=program.params, dims=program.dims, **options
    )
    return hazards_of(stage, stages, options)
