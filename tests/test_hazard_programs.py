"""Programs that contain hazards, and their twins: what the verifier must find, and what not.

Where a run can show a hazard, one program of each structure is run, and its twin.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tvm_ffi
from tvm import relax
from tvm.relax.analysis import check_well_formed

import tvm_aliasing as ta
from hazard_programs import KINDS, hazard_programs, shows, structures
from tvm_aliasing.analysis.bindings import bindings_of

HERE = Path(__file__).parent

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
def test_twins_are_well_formed_and_no_hazards(kind):
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
            cwd=HERE,
            timeout=200,
            env={**os.environ, "MALLOC_PERTURB_": "1"},  # memory is never right by chance
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
