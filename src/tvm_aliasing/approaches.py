"""Each approach as the list of its passes, from Relax to the virtual machine.

All approaches share one front (legalise, fuse, schedule) and one back (plan storage, lower). What
an approach does of its own stands in between, so that a difference in a number has one cause.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import tvm
from tvm import relax
from tvm.relax import transform

from .analysis.properties import DECLARED, PROVED
from .errors import InputError
from .passes.accept_offsets import AcceptOffsets
from .passes.accept_overlaps import AcceptOverlaps
from .passes.annotate_properties import AnnotateProperties
from .passes.annotate_reshape_only import AnnotateReshapeOnly
from .passes.bound_symbolic_sizes import BoundSymbolicSizes
from .passes.copy_aliasing_outputs import CopyAliasingOutputs
from .passes.copy_for_externs import CopyForExterns
from .passes.declare_donations import DeclareDonations
from .passes.drop_noalias import DropNoalias
from .passes.elide_reshape_only import ElideReshapeOnly
from .passes.fence_aliasing import FenceAliasing, RemoveFence
from .passes.introduce_destinations import IntroduceDestinations
from .passes.introduce_views import IntroduceViews
from .passes.keep_moves_apart import KeepMovesApart
from .passes.plan_storage import PlanArena, PlanTokens
from .passes.recheck_overwrites import RecheckOverwrites
from .passes.record_source_aliases import RecordSourceAliases


def front(options):
    """Source program to fused kernels, as TVM's CPU pipeline does it, and their schedules."""
    return [*legalize(options), *fold_and_fuse(options), options.schedules]


def legalize(options):
    """Source program to calls of kernels, one for each operator."""
    return [
        RecordSourceAliases(),
        relax.backend.DispatchSampling(),
        relax.backend.DispatchSortScan(),
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        *([KeepMovesApart()] if options.fused == "moves-apart" else []),
    ]


def fold_and_fuse(options):
    """Constants folded, and several operators to a kernel."""
    return [transform.FoldConstant(), *fuse(options)]


def fuse(options):
    """Several operators to a kernel."""
    return [transform.FuseOps(), transform.FuseTIR()] if options.fused else []


PLANNERS = {
    "tvm": transform.StaticPlanBlockMemory,
    "token": PlanTokens,
    "arena": PlanArena,
}


def plan(options):
    """Tensors to storages, and kernels that take tensors where they then lie."""
    return [*plan_as_tvm(options), AcceptOverlaps(), AcceptOffsets()]


def plan_as_tvm(options):
    """Tensors to storages; every kernel demands that its tensors begin one."""
    return [
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        PLANNERS[options.planner](),
        transform.LowerAllocTensor(),
    ]


def plan_stock(options):
    """An arena needs kernels that take offsets; otherwise what TVM does."""
    return plan(options) if options.planner == "arena" else plan_as_tvm(options)


def demanded_copies(options, policy):
    """Copies where no offset can be taken, and for the output policy; scheduled like all else."""
    return [CopyForExterns(), CopyAliasingOutputs(policy), *late_schedules(options)]


def late_schedules(options):
    """Schedules of kernels that are introduced late; of others they are still to come."""
    return [options.schedules] if options.placement == "late" else []


def said_and_done(options, say, do=()):
    """The stages of an approach that says something about aliasing and acts on it.

    Parameters
    ----------
    options : PassOptions
    say : list of passes
        Late: on kernels as they are run. Early: before constants are folded and operators fused.
    do : list of passes
        What acts on what was said, when execution is generated.
    """
    if options.placement == "late":
        return {
            "front": front(options),
            "introduced": [*say, *do],
            "planned": plan(options),
            "vm": lower(options),
        }
    if options.placement == "early":
        introduced, fused = say, [*fold_and_fuse(options), options.schedules]
    else:
        # Folding comes first: it would make constants of what is overwritten, or copied for a
        # caller who may write to it.
        introduced = [transform.FoldConstant(), *say, FenceAliasing()]
        fused = [*fuse(options), options.schedules, RemoveFence()]
    return {
        "introduced": [*legalize(options), *introduced],
        "front": fused,
        "planned": [*do, RecheckOverwrites(), options.schedules, *plan(options)],
        "vm": lower(options),
    }


def lower(_options):
    """Planned functions to what the virtual machine runs."""
    return [
        transform.KillAfterLastUse(),
        transform.LowerRuntimeBuiltin(),
        transform.ComputePrimValue(),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]


def copy(options):
    """Every reshape that fusion leaves is a kernel with a buffer of its own."""
    return {
        "front": front(options),
        "introduced": demanded_copies(options, options.outputs),
        "planned": plan(options),
        "vm": lower(options),
    }


def stock(options):
    """What TVM does today: reshapes found again in dataflow blocks, block outputs left out."""
    return {
        "front": front(options),
        "introduced": [transform.RewriteDataflowReshape()],
        "planned": plan_stock(options),
        "vm": lower(options),
    }


def stock_inplace(options):
    """`stock` with TVM's in-place pass, which ships but is in no default pipeline."""
    return {
        "front": [transform.DataflowUseInplaceCalls(), *front(options)],
        "introduced": [transform.RewriteDataflowReshape()],
        "planned": plan_stock(options),
        "vm": lower(options),
    }


def stock_offset_abi(options):
    """`stock` with kernels that take tensors at offsets: what that costs by itself."""
    return {
        "front": front(options),
        "introduced": [transform.RewriteDataflowReshape(), AcceptOffsets(everywhere=True)],
        "planned": plan_stock(options),
        "vm": lower(options),
    }


def stock_noalias(options):
    """`stock` with kernels that promise nothing about overlap: what that costs by itself."""
    return {
        "front": front(options),
        "introduced": [transform.RewriteDataflowReshape(), DropNoalias()],
        "planned": plan_stock(options),
        "vm": lower(options),
    }


def k0(options):
    """K0 marks what only reshapes; K1 reads the mark and elides where memory is flat."""
    return said_and_done(
        options,
        say=[AnnotateReshapeOnly()],
        do=[ElideReshapeOnly(options.flat_scopes), *demanded_copies(options, options.outputs)],
    )


def k0_run(options):
    """K0 without K1: the annotation forces nothing."""
    return said_and_done(
        options, say=[AnnotateReshapeOnly()], do=demanded_copies(options, options.outputs)
    )


def k0_plus(options, features):
    """K0 with more to say: kernels are marked, and who generates execution reads the marks."""
    return said_and_done(
        options,
        say=[*donations(options, features), AnnotateProperties()],
        do=aliasing(options, features, DECLARED),
    )


def alias(options, features):
    """Aliasing said in the graph: views of ranges, and places that kernels write to."""
    return said_and_done(
        options, say=[*donations(options, features), *aliasing(options, features, PROVED)]
    )


def donations(options, features):
    """Parameters that the caller gives up."""
    names = options.donate if "donate" in features else ()
    return [DeclareDonations(options.entry, names)]


def aliasing(options, features, properties):
    """Views, and places that kernels write to, from what is proved or declared of the kernels."""
    policy = options.outputs if "outputs" in features else "copy"
    return [
        IntroduceViews(options.flat_scopes, policy, "views" in features, properties),
        *demanded_copies(options, policy),
        IntroduceDestinations(
            policy, joins="dest" in features, over="inplace" in features, properties=properties
        ),
        *late_schedules(options),
    ]


def shipped(options):
    """TVM's default pipeline for the target, untouched."""
    return {"shipped": [relax.get_default_pipeline(options.target)]}


@dataclass(frozen=True)
class Approach:
    """An approach by name.

    Attributes
    ----------
    name : str
    stages : callable
        From `PassOptions` to a dict of stage name to list of passes, in order.
    planners : tuple of str
        Those that it takes, the default one first.
    placements : tuple of str
        Those that it takes: early and late differ where something is said about aliasing.
    """

    name: str
    stages: Callable
    planners: tuple[str, ...] = ("token", "arena", "tvm")
    placements: tuple[str, ...] = ("late",)

    def pipeline(self, options):
        """All passes of the approach as one TVM pass; each stage is a `Sequential` of its name."""
        return tvm.transform.Sequential(
            [BoundSymbolicSizes(options.dims, options.entry)]
            + [
                tvm.transform.Sequential(passes, name=stage)
                for stage, passes in self.stages(options).items()
            ],
            name=self.name,
        )


_TVM_FIRST = ("tvm", "token", "arena")
_placed = partial(Approach, placements=("late", "early", "early-fenced"))

#: What can be named after a colon, as in `alias:views+dest`; `reshape` is in each of them.
FEATURES = {
    "alias": ("reshape", "views", "dest", "inplace", "donate", "outputs"),
    # No property of a function says where its caller wants the result.
    "k0+": ("reshape", "views", "inplace", "donate", "outputs"),
}

APPROACHES = {
    made.name: made
    for made in (
        Approach("copy", copy),
        Approach("shipped", shipped, ("tvm",)),
        Approach("stock", stock, _TVM_FIRST),
        Approach("stock+inplace", stock_inplace, ("tvm",)),
        Approach("stock+offset-abi", stock_offset_abi, _TVM_FIRST),
        Approach("stock-noalias", stock_noalias, _TVM_FIRST),
        _placed("k0", k0),
        _placed("k0-run", k0_run),
        _placed("k0+", partial(k0_plus, features=set(FEATURES["k0+"]))),
        _placed("alias:reshape", partial(alias, features={"reshape"})),
        _placed("alias", partial(alias, features=set(FEATURES["alias"]))),
    )
}


def approaches():
    """Names of the approaches, in the order in which tables show them.

    `alias` and `k0+` with some of their features are named by them: `alias:views+dest`.
    """
    return list(APPROACHES)


def approach(name):
    """The `Approach` of a name.

    Raises
    ------
    InputError
        There is no such approach.
    """
    known = ", ".join(APPROACHES)
    if not isinstance(name, str):
        raise InputError(f"approach {name!r} is no name: use one of {known}")
    if name in APPROACHES:
        return APPROACHES[name]
    way, _, features = name.partition(":")
    if way in FEATURES and features:
        return _with_features(name, way, features.split("+"))
    raise InputError(f"unknown approach {name!r}: use one of {known}")


def _with_features(name, way, features):
    use = f"use {', '.join(FEATURES[way])}"
    for feature in features:
        if feature not in FEATURES[way]:
            raise InputError(f"{way} has no feature {feature!r}: {use}")
    if len(set(features)) < len(features):
        raise InputError(f"approach {name!r} names a feature twice: {use}")
    stages = {"alias": alias, "k0+": k0_plus}[way]
    return _placed(name, partial(stages, features=set(features)))
