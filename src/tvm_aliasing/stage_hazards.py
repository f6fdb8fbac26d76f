"""What the verifier finds in the stages of a build, and what follows from it."""

from .errors import VerifyError
from .verify import verify

#: What TVM does by itself: its hazards are found, and nobody's build fails for them.
TVMS_OWN = ("shipped", "stock", "stock+inplace", "stock+offset-abi", "stock-noalias")


def hazards_of(approach, stages, options):
    """The hazards of the planned module, and of the one before that says what aliases.

    Parameters
    ----------
    approach : str
    stages : dict of str to IRModule
        Of a build.
    options : PassOptions

    Returns
    -------
    list of Hazard
        Each once.
    """
    found = {}
    names = ("introduced", "planned") if _says_in_graph(approach, options) else ("planned",)
    for name in names:
        hazards = verify(
            stages[name], target=options.target, entry=options.entry, outputs=options.outputs
        )
        for hazard in hazards:
            found.setdefault((hazard.kind, hazard.bindings), hazard)
    return list(found.values())


def check_stages(approach, stages, options):
    """The same; refused where the project made them.

    Raises
    ------
    VerifyError
    """
    found = hazards_of(approach, stages, options)
    if found and approach not in TVMS_OWN:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        cause = ", whose planner is TVM's," if options.planner == "tvm" else ""
        raise VerifyError(
            f"the module built under {approach}{cause} has a hazard{more}: {found[0]}; "
            "verify=False builds it all the same",
            found,
        )
    return found


def _says_in_graph(approach, options):
    """Whether an approach says what aliases in its stage `introduced`."""
    way = approach.partition(":")[0]
    return way == "alias" or (way == "k0+" and options.placement == "late")
