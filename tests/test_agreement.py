"""When a result counts as correct."""

import numpy as np
import pytest

from tvm_aliasing.agreement import TOLERANCE, agrees


def test_tolerance_of_the_design():
    assert TOLERANCE["float32"] == (1e-4, 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("expected", "error", "right"),
    [
        (100.0, 0.99e-2, True),
        (100.0, 1.02e-2, False),
        (-100.0, 0.99e-2, True),
        (-100.0, 1.02e-2, False),
        (0.0, 0.99e-5, True),
        (0.0, 1.02e-5, False),
        (0.0, -1.02e-5, False),
    ],
)
def test_floats_agree_within_the_tolerance(dtype, expected, error, right):
    expected = np.array([1, expected], dtype)
    assert agrees(expected + np.array([0, error], dtype), expected) is right


def test_the_tolerance_is_relative_to_the_reference():
    assert not agrees(np.float64(10.00101005), np.float64(10))
    assert agrees(np.float64(10), np.float64(10.00101005))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integers_are_exact(dtype):
    top = np.array([0, np.iinfo(dtype).max], dtype)  # as floats, 2**63 and 2**63 - 1 are equal
    assert agrees(top.copy(), top)
    assert not agrees(top - np.array([0, 1], dtype), top)


def test_booleans_are_exact():
    assert agrees(np.array([True, False]), np.array([True, False]))
    assert not agrees(np.array([True, True]), np.array([True, False]))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(value):
    expected = np.array([1, value], "float32")
    assert agrees(expected.copy(), expected)
    assert not agrees(np.array([value, 1], "float32"), expected)
    assert not agrees(np.array([1, 1], "float32"), expected)
    assert not agrees(expected, np.array([1, 1], "float32"))


@pytest.mark.parametrize(
    "other",
    [
        np.ones((3, 2), "float32"),
        np.ones(6, "float32"),
        np.ones((1, 2, 3), "float32"),
        np.ones((1, 3), "float32"),
        np.ones((), "float32"),
        np.ones((2, 3), "float64"),
        np.ones((2, 3), "int32"),
        np.ones((0, 3), "float32"),
        1.0,
        None,
        (np.ones((2, 3), "float32"),),
        (),
    ],
    ids=str,
)
def test_other_shapes_dtypes_and_structures_differ(other):
    reference = np.ones((2, 3), "float32")
    assert not agrees(other, reference)
    assert not agrees(reference, other)


def test_nested_tuples():
    def result(last):
        return np.zeros(2), (np.ones(3, "int32"), (np.array(last),))

    assert agrees(result(1.0), result(1.0))
    assert not agrees(result(1.0), result(2.0))
    first, (second, third) = result(1.0)
    assert not agrees((first, second, third), result(1.0))
    assert not agrees((first, (second,)), result(1.0))
    assert not agrees((first, (second, third), first), result(1.0))
    assert agrees([first, [second, list(third)]], result(1.0))
    assert agrees((), ())


def test_a_returned_shape_is_compared_as_numbers():
    assert agrees((2, 3), (2, 3))
    assert not agrees((2, 4), (2, 3))
