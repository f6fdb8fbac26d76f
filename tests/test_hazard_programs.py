"""Programs that contain hazards, and their twins: what the verifier must find, and what not.

Where a run can show a hazard, one program of each structure is run, and its twin.
"""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.analysis import check_well_formed

import tvm_aliasing as ta
from hazard_programs import KINDS, hazard_programs, shows, structures
from hazard_programs.promises import update_kernel
from tvm_aliasing.analysis.bindings import bindings_of
from tvm_aliasing.passes.drop_noalias import without_noalias

#: Every structure that a run can show, with one seed; stages are taken in turn.
SHOWN = [
    (kind, name, i % 2)
    for kind in KINDS
    for i, name in enumerate(structures(kind))
    if shows(kind, name)
]


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_enough_and_no_two_alike(kind):
    programs = list(hazard_programs(kind))
    assert len(programs) >= 20
    assert len({program.structure for program in programs}) >= 5
    assert len({tvm_ffi.structural_hash(program.mod) for program in programs}) == len(programs)


@pytest.mark.parametrize("kind", KINDS)
def test_each_twin_is_well_formed_and_another_program(kind):
    for program in hazard_programs(kind):
        assert check_well_formed(program.right.mod), (program.structure, program.seed)
        same = tvm_ffi.structural_equal(program.mod, program.right.mod)
        assert not same or program.options != program.right.options


@pytest.mark.parametrize("kind", KINDS)
def test_every_hazard_is_found(kind):
    missed = []
    for program in hazard_programs(kind):
        found = ta.verify(program.mod, **program.options)
        if kind not in {hazard.kind for hazard in found}:
            missed.append((program.structure, program.seed, found))
        names = _names(program.mod)
        assert all(_is_told_well(hazard, names) for hazard in found), found
    assert not missed


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_in_a_twin(kind):
    found = {
        (program.structure, program.seed): hazards
        for program in hazard_programs(kind)
        if (hazards := ta.verify(program.right.mod, **program.right.options))
    }
    assert not found


def _names(mod):
    """The names of the variables of a module's Relax functions."""
    functions = [f for _, f in mod.functions_items() if isinstance(f, relax.Function)]
    return {
        var.name
        for function in functions
        for var in [*function.params, *(b.var for b in bindings_of(function.body))]
    }


def _is_told_well(hazard, names):
    """Whether a message is one line, and names one of the bindings, which the program has."""
    named = [binding.rpartition(".")[2] for binding in hazard.bindings]
    return "\n" not in hazard.message and any(
        name in names and re.search(rf"\b{re.escape(name)}\b", hazard.message) for name in named
    )


@pytest.mark.parametrize(("name", "right"), [("before", True), ("with_the_last_name", False)])
def test_tvm_takes_the_promise_of_the_last_kernel_for_that_of_all(name, right):
    """Why no other kernel in the programs of `noalias-overlap` promises anything."""
    kernel, other = without_noalias(update_kernel(4, 8, "float32")), update_kernel(2, 4, "float32")
    functions = {"update": kernel, name: other}
    compiled = tvm.compile(
        tvm.IRModule(
            {key: func.with_attr("global_symbol", key) for key, func in functions.items()}
        ),
        "llvm",
    )
    old, new = np.full((4, 8), 3, "float32"), np.full((4, 8), 50, "float32")
    place, made = tvm.runtime.tensor(old), tvm.runtime.tensor(np.zeros_like(old))
    compiled["update"](place, tvm.runtime.tensor(new), place, made)
    assert np.array_equal(made.numpy(), old + new) == right


@pytest.fixture(scope="module")
def outcomes(request):
    """What runs of the chosen programs come to, each after the other in one process.

    Where one dies, a new process goes on with the next.
    """
    keys = []
    for item in request.session.items:
        if getattr(item, "function", None) is test_a_run_shows_it:
            params = item.callspec.params
            keys += [(*params["program"], which) for which in ("hazard", "right")]
    found = {}
    while waiting := [key for key in keys if key not in found]:
        done = subprocess.run(
            [sys.executable, "-m", "hazard_programs.run"],
            input=json.dumps(waiting).encode(),
            capture_output=True,
            timeout=200,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "MALLOC_PERTURB_": "1",  # memory is never right by chance
            },
        )
        found |= zip(waiting, map(json.loads, done.stdout.splitlines()))
        died = next((key for key in waiting if key not in found), None)
        if died:
            assert done.returncode < 0, done.stderr.decode(errors="replace")
            found[died] = f"killed by signal {-done.returncode}"
    return found


@pytest.mark.parametrize("program", SHOWN, ids=lambda key: "-".join(map(str, key)))
def test_a_run_shows_it(program, outcomes):
    hazard, right = outcomes[(*program, "hazard")], outcomes[(*program, "right")]
    assert right == "right"
    if shows(*program[:2]) == "wrong":
        assert hazard == "wrong"
    else:
        assert hazard not in ("right", "wrong")
