"""The programs that approaches are compared on, each with its inputs and its right result."""

import itertools
from dataclasses import dataclass, field, replace

import tvm
from tvm import relax

from . import isolate
from .dims import check_dims, require_dims, symbolic_dims
from .errors import InputError, UnsupportedError
from .measure.reference import unplanned_result
from .models import Model, load_model, model, models, onnx_reference
from .models.inputs import seeded_inputs
from .models.quiet import silenced
from .values import check_arguments
from .workloads import Workload, workload, workloads


@dataclass(frozen=True)
class Subject:
    """A program to compare approaches on; `where` finds it again in another process."""

    name: str
    mod: tvm.IRModule
    params: dict
    inputs: tuple
    expected: object
    reference: str
    dims: dict = field(default_factory=dict)
    where: str | None = None


def programs():
    """Names of all workloads and all fetched models."""
    return [*workloads(), *(known.name for known in models() if known.fetched)]


def subject_of(program, inputs, params, build_options):
    """The subject that a caller of `compare` means.

    Parameters
    ----------
    program : IRModule, Workload, Model, str or path
    inputs : tuple of ndarray or None
        For an IRModule; seeded where None.
    params : dict of str to ndarray or None
        For an IRModule.
    build_options : dict
        `dims` and `entry` are read.

    Returns
    -------
    Subject

    Raises
    ------
    InputError, UnsupportedError
    """
    dims, entry = build_options.get("dims") or {}, build_options.get("entry", "main")
    if isinstance(program, tvm.IRModule):
        function, params = _entry_function(program, entry), params or {}
        if inputs is None:
            require_dims("the module", symbolic_dims(function), dims)
            inputs = seeded_inputs(function, params, dims)
        program = Model(name="module", mod=program, params=params, inputs=inputs, dims=dims)
    elif inputs is not None or params is not None:
        raise InputError("inputs and params go with an IRModule: others have their own")
    if isinstance(program, Workload):
        return _from_workload(program, dims)
    if isinstance(program, Model):
        return _from_model(program, entry)
    return find_subject(str(program), dims, entry, defer=True)


def named_apart(subjects):
    """The subjects as a list, those of one name numbered from the second on."""
    found, names = [], set()
    for subject in subjects:
        tries = itertools.chain(
            [subject.name], (f"{subject.name} ({i})" for i in itertools.count(2))
        )
        name = next(name for name in tries if name not in names)
        names.add(name)
        found.append(replace(subject, name=name))
    return found


def _entry_function(mod, entry):
    for name, function in mod.functions_items():
        if name.name_hint == entry and isinstance(function, relax.Function):
            return function
    raise InputError(f"the module has no Relax function {entry!r}: name another with entry")


def find_subject(where, dims, entry, *, defer=False):
    """The program of a name or path.

    With `defer`, a reference that TVM would have to run is left out: that may kill the process, and
    the process that measures makes its own.
    """
    program = program_of(where, dims)
    if isinstance(program, Workload):
        return _from_workload(program, dims, where)
    known = {one.name: one.path for one in models()}
    if where in known:
        return _from_model(program, entry, where, path=known[where])
    return _from_model(program, entry, where, path=where, defer=defer)


def program_of(where, dims):
    """The `Workload` or `Model` of a name or path.

    Raises
    ------
    InputError, UnsupportedError
    """
    if where in workloads():
        return workload(where)
    known = [one.name for one in models()]
    if where in known:
        return model(where)
    if "/" not in where and "." not in where:
        names = ", ".join([*workloads(), *known])
        raise InputError(f"no workload or model {where!r}: use a file, or one of {names}")
    return load_model(where, dims)


def _from_workload(found, dims, where=None):
    check_dims(found.name, symbolic_dims(found.mod["main"]), dims or {})
    return Subject(
        name=found.name,
        mod=found.mod,
        params=found.params,
        inputs=found.inputs,
        expected=found.expected,
        reference="NumPy",
        dims={**found.dims, **{name: int(size) for name, size in (dims or {}).items()}},
        where=where,
    )


def _from_model(found, entry, where=None, path=None, defer=False):
    params = _entry_function(found.mod, entry).params
    check_arguments([p for p in params if p.name not in found.params], found.inputs, found.dims)
    if found.expected is not None:
        expected, reference = found.expected, "given with the program"
    elif path is not None and str(path).endswith(".onnx"):
        expected, reference = onnx_reference(path, found.inputs), "ONNX Runtime"
        if not isinstance(found.mod[entry].ret_ty, relax.TupleType):
            (expected,) = expected  # TVM's importer returns a single output without a tuple
    else:
        expected = None if defer else _reference(found, entry)
        reference = "TVM, nothing fused, no storage used twice"
    return Subject(
        name=found.name,
        mod=found.mod,
        params=found.params,
        inputs=found.inputs,
        expected=expected,
        reference=reference,
        dims=found.dims,
        where=where,
    )


def _reference(found, entry):
    """The result of a program that comes without one."""
    try:
        with silenced():
            return unplanned_result(found.mod, found.params, found.inputs, entry)
    except Exception as error:  # whatever TVM raises
        raise UnsupportedError(
            f"TVM cannot run {found.name}, not even unfused and unplanned: {isolate.told(error)}:"
            " replace the operator or the function that this names"
        ) from error
