"""An approach as one TVM pass, and the module as it was after each stage of it."""

from contextlib import contextmanager

import tvm
from tvm.ir.instrument import pass_instrument

from .approaches import approach as approach_of
from .errors import UnsupportedError
from .options import pass_options

#: The pass that ends each stage. An approach's stages are passes that bear their names.
_STAGE_ENDS = {stage: stage for stage in ("front", "introduced", "planned", "vm")}
_STAGE_ENDS_IN_SHIPPED = {"LowerAllocTensor": "planned", "AttachGlobalSymbol": "vm"}


def pipeline(approach, target, **options):
    """An approach as one TVM pass, for `tvm.compile(mod, target, relax_pipeline=...)`.

    Parameters
    ----------
    approach : str
    target : str, dict or tvm.target.Target
    **options
        `planner`, `placement`, `fused`, `entry`, `donate`, `outputs` and `dims`, as for `build`.

    Returns
    -------
    tvm.transform.Pass

    Raises
    ------
    InputError, UnsupportedError
    """
    chosen = approach_of(approach)
    return chosen.pipeline(pass_options(chosen, target, **options))


@pass_instrument
class _StageRecorder:
    def __init__(self, ends):
        self.ends = ends
        self.stages = {}

    def run_after_pass(self, mod, info):
        if info.name in self.ends:
            self.stages[self.ends[info.name]] = mod.clone()


def record_stages(approach, run):
    """Run an approach's pipeline and keep the module after each stage.

    Parameters
    ----------
    approach : str
    run : callable
        Applies the pipeline; called without arguments.

    Returns
    -------
    tuple
        What `run` returned, and the dict of stage name to IRModule.
    """
    recorder = _StageRecorder(_STAGE_ENDS_IN_SHIPPED if approach == "shipped" else _STAGE_ENDS)
    current = tvm.transform.PassContext.current()
    with tvm.transform.PassContext(
        opt_level=current.opt_level,
        required_pass=current.required_pass,
        disabled_pass=current.disabled_pass,
        instruments=[*(current.instruments or ()), recorder],
        config=current.config,
    ):
        result = run()
    return result, recorder.stages


def stages_without_code(approach, mod, options):
    """The modules of a build, without what takes longest.

    Parameters
    ----------
    approach : str
    mod : tvm.IRModule
    options : PassOptions

    Returns
    -------
    dict of str to IRModule
        By stage.
    """
    with options.target:
        passes = approach_of(approach).pipeline(options)
        return record_stages(approach, lambda: passes(mod))[1]


@contextmanager
def refused_by_tvm(approach):
    """Raise what TVM raises as `UnsupportedError`: its checks and legalisation raise anything."""
    try:
        yield
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UnsupportedError(
            f"TVM cannot build this module under {approach}: {lines[-1].strip()}"
        ) from error
