"""NumPy only: the operators that the references are made of.

A reference starts from an input in float64, so that every sum is accumulated in float64, and
rounds its result to float32 once, at the end.
"""

import numpy as np


def conv3x3(x, weight, bias):
    """Convolve with a 3 x 3 kernel, stride 1 and a border of one zero.

    Parameters
    ----------
    x : numpy.ndarray
        Shape (N, C, H, W).
    weight : numpy.ndarray
        Shape (O, C, 3, 3).
    bias : numpy.ndarray
        Shape (O,).

    Returns
    -------
    numpy.ndarray
        Shape (N, O, H, W).
    """
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    sums = np.tensordot(windows, weight, axes=((1, 4, 5), (1, 2, 3)))  # (N, H, W, O)
    return np.moveaxis(sums + bias, -1, 1)


def relu(x):
    """Return the larger of each element and zero."""
    return np.maximum(x, 0)


def softmax(x, axis=-1):
    """Return exp(x) divided by its sum along `axis`."""
    exponentials = np.exp(x - x.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def layer_norm(x, gamma, beta, epsilon=1e-5):
    """Normalise the last axis to mean 0 and variance 1, then scale by `gamma`, add `beta`."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gamma + beta


def attention(q, k, v):
    """Scaled dot-product attention over the last two axes, each of shape (..., S, D)."""
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(scores) @ v
