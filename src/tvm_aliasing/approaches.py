"""Each approach as the list of its passes, from Relax to the virtual machine.

All approaches share one front (legalise, fuse, schedule) and one back (plan storage, lower). What
an approach does of its own stands in between, so that a difference in a number has one cause.
"""

from collections.abc import Callable
from dataclasses import dataclass

import tvm
from tvm import relax
from tvm.relax import transform

from .errors import InputError, UnsupportedError
from .passes.accept_offsets import AcceptOffsets
from .passes.annotate_reshape_only import AnnotateReshapeOnly
from .passes.bound_symbolic_sizes import BoundSymbolicSizes
from .passes.copy_aliasing_outputs import CopyAliasingOutputs
from .passes.drop_noalias import DropNoalias
from .passes.elide_reshape_only import ElideReshapeOnly
from .passes.keep_moves_apart import KeepMovesApart
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


def plan(_options):
    """Tensors to storages, by TVM's planner."""
    return [
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.StaticPlanBlockMemory(),
        transform.LowerAllocTensor(),
    ]


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
        "introduced": [CopyAliasingOutputs()],
        "planned": plan(options),
        "vm": lower(options),
    }


def stock(options):
    """What TVM does today: reshapes found again in dataflow blocks, block outputs left out."""
    return {
        "front": front(options),
        "introduced": [transform.RewriteDataflowReshape()],
        "planned": plan(options),
        "vm": lower(options),
    }


def stock_inplace(options):
    """`stock` with TVM's in-place pass, which ships but is in no default pipeline."""
    return {
        "front": [transform.DataflowUseInplaceCalls(), *front(options)],
        "introduced": [transform.RewriteDataflowReshape()],
        "planned": plan(options),
        "vm": lower(options),
    }


def stock_offset_abi(options):
    """`stock` with kernels that take tensors at offsets: what that costs by itself."""
    return {
        "front": front(options),
        "introduced": [transform.RewriteDataflowReshape(), AcceptOffsets()],
        "planned": plan(options),
        "vm": lower(options),
    }


def stock_noalias(options):
    """`stock` with kernels that promise nothing about overlap: what that costs by itself."""
    return {
        "front": front(options),
        "introduced": [transform.RewriteDataflowReshape(), DropNoalias()],
        "planned": plan(options),
        "vm": lower(options),
    }


def k0(options):
    """K0 marks what only reshapes; K1 reads the mark and elides where memory is flat."""
    return {
        "front": front(options),
        "introduced": [
            AnnotateReshapeOnly(),
            ElideReshapeOnly(options.flat_scopes),
            CopyAliasingOutputs(),
        ],
        "planned": plan(options),
        "vm": lower(options),
    }


def k0_run(options):
    """K0 without K1: the annotation forces nothing."""
    return {
        "front": front(options),
        "introduced": [AnnotateReshapeOnly(), CopyAliasingOutputs()],
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
    """

    name: str
    stages: Callable

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


APPROACHES = {
    name: Approach(name, stages)
    for name, stages in {
        "copy": copy,
        "shipped": shipped,
        "stock": stock,
        "stock+inplace": stock_inplace,
        "stock+offset-abi": stock_offset_abi,
        "stock-noalias": stock_noalias,
        "k0": k0,
        "k0-run": k0_run,
    }.items()
}

#: Planned; later parts of the project bring them.
NOT_THERE_YET = ("k0+", "alias")


def approaches():
    """Names of the approaches, in the order in which tables show them."""
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
    raise InputError(f"unknown approach {name!r}: use one of {known}")
