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

from .errors import InputError, UnsupportedError
from .passes.accept_offsets import AcceptOffsets
from .passes.annotate_reshape_only import AnnotateReshapeOnly
from .passes.bound_symbolic_sizes import BoundSymbolicSizes
from .passes.copy_aliasing_outputs import CopyAliasingOutputs
from .passes.copy_for_externs import CopyForExterns
from .passes.drop_noalias import DropNoalias
from .passes.elide_reshape_only import ElideReshapeOnly
from .passes.introduce_destinations import IntroduceDestinations
from .passes.introduce_views import IntroduceViews
from .passes.keep_moves_apart import KeepMovesApart
from .passes.plan_storage import PlanArena, PlanTokens
from .passes.record_source_aliases import RecordSourceAliases


def front(options):
    """Source program to fused kernels, as TVM's CPU pipeline does it, and their schedules."""
    return [
        RecordSourceAliases(),
        relax.backend.DispatchSampling(),
        relax.backend.DispatchSortScan(),
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        *([KeepMovesApart()] if options.fused == "moves-apart" else []),
        transform.FoldConstant(),
        *([transform.FuseOps(), transform.FuseTIR()] if options.fused else []),
        options.schedules,
    ]


PLANNERS = {
    "tvm": transform.StaticPlanBlockMemory,
    "token": PlanTokens,
    "arena": PlanArena,
}


def plan(options):
    """Tensors to storages, and kernels that take tensors where they then lie."""
    return [*plan_as_tvm(options), AcceptOffsets()]


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


def demanded_copies(options):
    """Copies where no offset can be taken, and for the output policy; scheduled like all else."""
    return [CopyForExterns(), *policy_copies(options, options.outputs)]


def policy_copies(options, policy):
    """Copies of outputs that share more than a policy allows, scheduled like all other kernels."""
    return [CopyAliasingOutputs(policy), options.schedules]


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
        "introduced": demanded_copies(options),
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
    return {
        "front": front(options),
        "introduced": [
            AnnotateReshapeOnly(),
            ElideReshapeOnly(options.flat_scopes),
            *demanded_copies(options),
        ],
        "planned": plan(options),
        "vm": lower(options),
    }


def k0_run(options):
    """K0 without K1: the annotation forces nothing."""
    return {
        "front": front(options),
        "introduced": [AnnotateReshapeOnly(), *demanded_copies(options)],
        "planned": plan(options),
        "vm": lower(options),
    }


def alias(options, features):
    """Aliasing said in the graph: views of ranges, and destinations that are written in place."""
    policy = options.outputs if "outputs" in features else "copy"
    return {
        "front": front(options),
        "introduced": [
            IntroduceViews(options.flat_scopes, policy, ranges="views" in features),
            CopyForExterns(),
            *([IntroduceDestinations(policy)] if "dest" in features else []),
            *policy_copies(options, policy),
        ],
        "planned": plan(options),
        "vm": lower(options),
    }


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
    """

    name: str
    stages: Callable
    planners: tuple[str, ...] = ("token", "arena", "tvm")

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

#: The features of `alias`, by the word that names one after a colon; `reshape` is in each of them.
FEATURES = ("reshape", "views", "dest", "outputs")

APPROACHES = {
    made.name: made
    for made in (
        Approach("copy", copy),
        Approach("shipped", shipped, ("tvm",)),
        Approach("stock", stock, _TVM_FIRST),
        Approach("stock+inplace", stock_inplace, ("tvm",)),
        Approach("stock+offset-abi", stock_offset_abi, _TVM_FIRST),
        Approach("stock-noalias", stock_noalias, _TVM_FIRST),
        Approach("k0", k0),
        Approach("k0-run", k0_run),
        Approach("alias:reshape", partial(alias, features={"reshape"})),
        Approach("alias", partial(alias, features=set(FEATURES))),
    )
}

#: Planned; later parts of the project bring them.
NOT_THERE_YET = ("k0+", "inplace", "donate")


def approaches():
    """Names of the approaches, in the order in which tables show them.

    `alias` with some of its features is named by them: `alias:views+dest`.
    """
    return list(APPROACHES)


def approach(name):
    """The `Approach` of a name.

    Raises
    ------
    InputError
        There is no such approach.
    UnsupportedError
        It is planned and not there yet.
    """
    known = ", ".join(APPROACHES)
    if not isinstance(name, str):
        raise InputError(f"approach {name!r} is no name: use one of {known}")
    if name in APPROACHES:
        return APPROACHES[name]
    if name.split(":")[0] in NOT_THERE_YET:
        raise UnsupportedError(f"approach {name!r} is not there yet: use one of {known}")
    if name.startswith("alias:"):
        features = name.removeprefix("alias:").split("+")
        use = f"use {', '.join(FEATURES)}"
        for feature in features:
            if feature in NOT_THERE_YET:
                raise UnsupportedError(f"feature {feature!r} of alias is not there yet: {use}")
            if feature not in FEATURES:
                raise InputError(f"alias has no feature {feature!r}: {use}")
        if len(set(features)) < len(features):
            raise InputError(f"approach {name!r} names a feature twice: {use}")
        return Approach(name, partial(alias, features=set(features)))
    raise InputError(f"unknown approach {name!r}: use one of {known}")
