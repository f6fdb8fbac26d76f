"""When a result counts as correct."""

import numpy as np

#: (rtol, atol) by dtype; integers and booleans must be equal.
TOLERANCE = {"float16": (1e-2, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-4, 1e-5)}


def agrees(actual, expected):
    """Whether a result has the structure, shapes, dtypes and values that it must have.

    Parameters
    ----------
    actual, expected : ndarray, number, or nested tuple of them

    Returns
    -------
    bool
        Floating-point values within `TOLERANCE`; others exactly.
    """
    if isinstance(expected, tuple | list):
        return (
            isinstance(actual, tuple | list)
            and len(actual) == len(expected)
            and all(map(agrees, actual, expected))
        )
    if isinstance(actual, tuple | list):
        return False
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if expected.dtype.name not in TOLERANCE:
        return np.array_equal(actual, expected)  # allclose would compare integers as floats
    rtol, atol = TOLERANCE[expected.dtype.name]
    return bool(np.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True))
