"""The bytes live at each point of a function, as alias classes are merged."""

import pytest
import tvm
from tvm.script import relax as R

from tvm_aliasing.analysis.alias_classes import AliasClasses
from tvm_aliasing.analysis.liveness import Liveness
from tvm_aliasing.planning.profile import Profile

KB = R.Tensor((256,), "float32")


@R.function
def computes(x: KB):
    # At most two are live at once, and one in the end.
    y = R.exp(x)
    z = R.tanh(y)
    w = R.negative(z)
    return w


@pytest.fixture
def profile():
    """A profile of `computes`, and its roots in order."""
    mod = tvm.IRModule({"main": computes})
    classes = AliasClasses(mod, computes, elided=False)
    profile = Profile(computes, classes, Liveness(mod, computes, classes))
    return profile, *classes.binding_of


def test_what_lies_in_one_storage_is_live_from_the_first_to_the_last(profile):
    profile, y, z, w = profile
    assert not profile.merge([w], y, 1025)
    assert profile.class_of(w) == w
    assert profile.merge([z], y)
    assert profile.class_of(z) == y


def test_copies_are_live_when_the_function_returns(profile):
    profile, *_, w = profile
    assert profile.merge([], w, copied=1024)
    assert not profile.merge([], w, copied=1)


def test_what_is_refused_leaves_nothing_behind(profile):
    profile, y, *_, w = profile
    assert not profile.merge([], w, copied=1025)
    assert not profile.merge([], y, 1025)
    assert profile.merge([], w, copied=1024)
