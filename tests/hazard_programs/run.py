"""Run programs one after another, in a process of its own.

Reads a JSON list of `[kind, structure, seed, "hazard" | "right"]` from standard input and writes a
line for each as it ends: `right`, `wrong`, or what TVM raised.
"""

import json
import os
import sys

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.relax import transform

from tvm_aliasing.agreement import agrees
from tvm_aliasing.approaches import approach, lower
from tvm_aliasing.attributes import DONATED, SOURCE_ALIAS
from tvm_aliasing.isolate import told
from tvm_aliasing.options import pass_options
from tvm_aliasing.output_policies import ALLOWED
from tvm_aliasing.passes.accept_offsets import AcceptOffsets
from tvm_aliasing.passes.accept_overlaps import AcceptOverlaps
from tvm_aliasing.values import to_arrays, to_device

from .registry import hazard_program

_OPTIONS = pass_options(approach("alias"), "llvm")


def _executable(program):
    """Built as it is; tensors of an introduced module get a storage each."""
    introduced = [
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.LowerAllocTensor(),
        AcceptOverlaps(),
        AcceptOffsets(),
    ]
    passes = [*([] if program.planned else introduced), *lower(_OPTIONS)]
    return relax.build(program.mod, "llvm", relax_pipeline=tvm.transform.Sequential(passes))


def is_right(program):
    """Whether a program does what its caller may rely on, twice.

    It computes what NumPy does, and leaves what is not donated as it was. Who writes to an output
    changes nothing that it may not share memory with.
    """
    entry = program.options.get("entry", "main")
    main = program.mod[entry]
    machine = relax.VirtualMachine(_executable(program).jit(), tvm.cpu(), memory_cfg="naive")
    donated = {*program.options.get("donate", ()), *(main.attrs or {}).get(DONATED, ())}
    for _ in range(2):  # what it does to a constant shows the next time
        given = to_device(main.params, program.inputs, tvm.cpu())
        result = machine[entry](*given)
        kept = [i for i, param in enumerate(main.params) if param.name not in donated]
        held = [(given[i], program.inputs[i]) for i in kept] + [(result, program.expected)]
        if not all(agrees(to_arrays(tensor), array) for tensor, array in held):
            return False
        outputs = _tensors(result)
        others = {f"param {i}": given[i] for i in kept} | dict(enumerate(outputs))
        for i, output in enumerate(outputs):
            if not _stands_alone(program, main, i, output, others):
                return False
    return True


def _stands_alone(program, main, position, output, others):
    """Whether writing to an output changes none of the others that it may not share with."""
    before = {name: to_arrays(other) for name, other in others.items()}
    output.copyfrom(np.full(output.shape, 77).astype(str(output.dtype)))
    policy = ALLOWED[program.options.get("outputs", "copy")]
    declared = (main.attrs or {}).get(SOURCE_ALIAS, ())
    for name, other in others.items():
        is_param = isinstance(name, str)
        if is_param:
            allowed = "param" in policy or f"{position}={name}" in declared
        else:
            later, earlier = max(position, name), min(position, name)
            allowed = later == earlier or "output" in policy or f"{later}={earlier}" in declared
        if not allowed and not agrees(to_arrays(other), before[name]):
            return False
    return True


def _tensors(value):
    if isinstance(value, tuple | list | tvm_ffi.Array):
        return [tensor for field in value for tensor in _tensors(field)]
    return [value]


def outcome(program):
    """What a run of a program comes to."""
    try:
        return "right" if is_right(program) else "wrong"
    except Exception as error:  # whatever TVM raises is the outcome
        return told(error)


def main():
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for *key, which in json.load(sys.stdin):
        program = hazard_program(*key)
        told_of = outcome(program if which == "hazard" else program.right)
        print(json.dumps(told_of), file=results, flush=True)


if __name__ == "__main__":
    main()
