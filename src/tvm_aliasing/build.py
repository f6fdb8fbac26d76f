"""Build a Relax module under one approach, and what can be asked of the result."""

import functools
from dataclasses import replace

import tvm
from tvm import relax

from .analysis.externs import check_declared_aliases
from .approaches import approach as approach_of
from .backends import backend_of
from .dims import check_dims, symbolic_dims
from .errors import InputError
from .measure import native
from .measure.memory import measure_memory
from .measure.workspace import KernelWorkspaces
from .options import check_choice, pass_options
from .pipeline import record_stages, refused_by_tvm, stages_without_code
from .stage_hazards import check_stages
from .values import check_arguments, to_arrays, to_device


def build(
    mod,
    approach="alias",
    target="llvm",
    *,
    planner=None,
    placement="late",
    fused=True,
    exec_mode="bytecode",
    entry="main",
    params=None,
    donate=(),
    outputs="copy",
    dims=None,
    verify=True,
):
    """Build a module under one approach.

    Parameters
    ----------
    mod : tvm.IRModule
        Relax; it is not changed. A function may declare in `ta.extern_alias` what the packed
        functions that it calls return: by name `fresh`, `may`, or `arg0`, `arg1`, ...
    approach : str
        One of `approaches()`, or `alias` or `k0+` with some of their features, as
        `alias:views+dest`.
    target : str, dict or tvm.target.Target
    planner : str, optional
        `token` (one storage a tensor at a time), `arena` (tensors packed at byte offsets) or `tvm`
        (TVM's own). By default `tvm` for `shipped`, `stock` and its variants, `token` for the
        others; `shipped` and `stock+inplace` take `tvm` only.
    placement : str
        Where it is said what aliases: `late`, on fused and scheduled kernels; `early`, after
        operators have become kernels and before these are fused; `early-fenced`, the same, and kept
        out of fusion. Early takes `k0`, `k0+` and `alias`.
    fused : bool or "moves-apart"
        Whether operators are fused; `moves-apart` keeps kernels that only move data out of it.
    exec_mode : str
        `bytecode` or `compiled`.
    entry : str
        The function that `run`, `call` and `memory` are about.
    params : dict of str to ndarray, optional
        Weights by parameter name: bound, then not passed.
    donate : sequence of str
        Parameters whose storage the function may overwrite, and return: the caller gives them up.
        `k0+` and `alias` use it.
    outputs : str
        Output policy, each allows what the one before it does. `copy`: each output has a storage of
        its own, shares it with no other output, parameter or constant, and is no range of a larger
        buffer. `share`: outputs may share storage with each other. `view`: an output may be a range
        of a larger buffer, all of which is then retained. `alias_params`: an output may lie in a
        parameter; none ever lies in a constant. What the source program itself aliases in its
        outputs is kept. `shipped`, `stock` and its variants ignore it, `alias` and `k0+` heed it by
        their feature `outputs`.
    dims : dict of str to int, optional
        Largest value of symbolic sizes, by name.
    verify : bool
        Whether to look for hazards, as `verify` does: in the planned module, and in the one before
        where aliasing is said in the graph. What `shipped`, `stock` and its variants have is in
        `hazards`; under the others it raises. They inherit the faults of planner `tvm`: with
        `verify=False` such a module is built all the same.

    Returns
    -------
    Built

    Raises
    ------
    InputError
        An option or the module cannot be used.
    UnsupportedError
        TVM, or this version of the project, cannot do it.
    VerifyError
        The verifier found hazards.
    """
    options = check_options(
        approach,
        target,
        planner=planner,
        placement=placement,
        fused=fused,
        exec_mode=exec_mode,
        entry=entry,
        donate=donate,
        outputs=outputs,
        dims=dims,
    )
    built = Built(_checked(mod, options, params), approach, options, exec_mode)
    if verify:
        built.hazards = check_stages(approach, built.stages, options)
    return built


def planned(mod, approach="alias", target="llvm", *, params=None, **options):
    """The modules of a build up to the planned one; no code is generated.

    Parameters
    ----------
    mod, approach, target, params, **options
        As for `build`.

    Returns
    -------
    (dict of str to IRModule, PassOptions)
        By stage.

    Raises
    ------
    InputError, UnsupportedError
    """
    options = check_options(approach, target, **options)
    mod = _checked(mod, options, params)
    with refused_by_tvm(approach):
        return stages_without_code(approach, mod, options), options


def _checked(mod, options, params):
    """The module with its weights bound; refused where the options do not fit it."""
    entry = options.entry
    mod = _entry_checked(mod, entry)
    check_declared_aliases(mod)
    check_dims(entry, symbolic_dims(mod[entry]), options.dims)
    mod = _bind_params(mod, entry, params or {})
    _check_donated(mod[entry].params, options.donate)
    return mod


def check_options(
    approach="alias", target="llvm", *, exec_mode="bytecode", params=None, verify=True, **options
):
    """Check what `build` is called with, but for the module and `params`.

    Returns
    -------
    PassOptions

    Raises
    ------
    InputError, UnsupportedError
    """
    check_choice("exec_mode", exec_mode)
    return pass_options(approach_of(approach), target, **options)


def _entry_checked(mod, entry):
    if not isinstance(mod, tvm.IRModule):
        raise InputError(f"mod is {type(mod).__name__}: give a Relax IRModule")
    names = [
        name.name_hint
        for name, function in mod.functions_items()
        if isinstance(function, relax.Function)
    ]
    if entry not in names:
        found = ", ".join(names) or "none"
        raise InputError(f"the module has no Relax function {entry!r} (it has: {found})")
    return mod


def _bind_params(mod, entry, params):
    """Bind weights to parameters of the entry function."""
    if not isinstance(params, dict):
        raise InputError(f"params is {type(params).__name__}: give a dict of name to array")
    if not params:
        return mod
    by_name = {param.name: param for param in mod[entry].params}
    for name, value in params.items():
        if name not in by_name:
            raise InputError(f"params has {name!r}, and {entry} has no such parameter")
        check_arguments([by_name[name]], [value])
    return relax.transform.BindParams(entry, params)(mod)


def _check_donated(params, donated):
    """Refuse names that are no parameters that a caller passes."""
    known = [param.name for param in params]
    for name in donated:
        if name not in known:
            raise InputError(
                f"donate has {name!r}, and that is no parameter that is passed "
                f"(there are: {', '.join(known) or 'none'})"
            )


class Built:
    """A module built under one approach.

    Attributes
    ----------
    approach : str
    stages : dict of str to IRModule
        The module after `front`, `introduced` (what the approach did), `planned` and `vm`;
        for `shipped` only the last two.
    hazards : list
        What `verify` found.
    executable : tvm.relax.VMExecutable
    """

    def __init__(self, mod, approach, options, exec_mode):
        self._source = mod
        self._options = options
        self._exec_mode = exec_mode
        self._linked = None
        self._machine = None
        self.approach = approach
        self.hazards = []
        self.executable, self.stages = record_stages(approach, self._compile)

    def run(self, *arrays):
        """Run the entry function.

        Parameters
        ----------
        *arrays : ndarray
            One for each parameter that is not bound; tuples nested as the function's; a tuple of
            integers for a shape.

        Returns
        -------
        ndarray or tuple
            Copies, nested as the function's result.

        Raises
        ------
        InputError
            The count, a shape, a dtype or a symbolic size is wrong.
        """
        self._check(arrays)
        return to_arrays(self._call(self._on_device(arrays)))

    def call(self, *tensors):
        """Run the entry function on TVM tensors and return its own; nothing is copied."""
        self._check(tensors)
        return self._call(tensors)

    def memory(self, *arrays):
        """Measure one call.

        Parameters
        ----------
        *arrays : ndarray
            As for `run`.

        Returns
        -------
        MemoryReport
        """
        self._check(arrays)
        return measure_memory(self, self._on_device(arrays))

    def machine(self, **memory):
        """A virtual machine of its own for the executable."""
        if self._exec_mode == "compiled":
            native.load()  # compiled code looks its allocator up once: too late when measuring
        if self._linked is None:
            self._linked = self.executable.jit()
        return relax.VirtualMachine(self._linked, self._device(), **memory)

    def bytecode_twin(self):
        """The same build in bytecode, where each call of a kernel can be seen."""
        if self._exec_mode == "bytecode":
            return self
        return Built(self._source, self.approach, self._options, "bytecode")

    @functools.cached_property
    def workspaces(self):
        """The `KernelWorkspaces` of the build, for TVM's thread pool as it is."""
        return self.workspaces_of(self.stages["planned"])

    def workspaces_of(self, mod):
        """The same of another module for the build's target."""
        return KernelWorkspaces(mod, self._options.target, tvm.runtime.num_threads())

    def planned_from(self, front):
        """A program that has passed the front, planned as the build's; no code is generated.

        Raises
        ------
        InputError
            The approach says what aliases before that, or has no front.
        """
        stages = approach_of(self.approach).stages(self._options)
        if next(iter(stages)) != "front":
            raise InputError(
                f"{self.approach} with placement {self._options.placement} has no program "
                "without aliasing after its front: build with placement late and not shipped"
            )
        passes = [*stages["introduced"], *stages["planned"]]
        with self._options.target:
            return tvm.transform.Sequential(passes)(front)

    @functools.cached_property
    def planned_by_copy(self):
        """The same source planned by `copy` with the same options; no code is generated."""
        if self.approach == "copy":
            return self.stages["planned"]
        # Schedules take long and change no tensor outside the kernels.
        schedules = self._options.schedules.info.name
        with tvm.transform.PassContext(disabled_pass=[schedules]):
            options = replace(self._options, planner="tvm")
            return stages_without_code("copy", self._source, options)["planned"]

    @property
    def entry(self):
        """Name of the function that `run`, `call` and `memory` are about."""
        return self._options.entry

    def _compile(self):
        with refused_by_tvm(self.approach):
            return relax.build(
                self._source,
                self._options.target,
                relax_pipeline=approach_of(self.approach).pipeline(self._options),
                exec_mode=self._exec_mode,
            )

    def _device(self):
        return backend_of(self._options.target).device()

    def _check(self, arguments):
        params = self._source[self.entry].params
        return check_arguments(params, arguments, self._options.dims)

    def _on_device(self, arrays):
        return to_device(self._source[self.entry].params, arrays, self._device())

    def _call(self, tensors):
        if self._machine is None:
            self._machine = self.machine()
        return self._machine[self.entry](*tensors)
