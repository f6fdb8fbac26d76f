"""What is random about a program."""

import random
from math import prod

import numpy as np

from .kernels import BINARY, UNARY

#: Each of a multiple of 64 elements: tensors one after another keep the alignment of a storage.
SHAPES = [(64,), (4, 16), (8, 8), (2, 4, 8), (16, 8), (2, 64), (4, 48), (6, 32), (2, 2, 2, 16)]
DTYPES = ["float32", "float64", "int32", "int64"]


class Draws:
    """The choices of one program.

    Parameters
    ----------
    seed : object
        Decides them all, by its text.

    Attributes
    ----------
    random : random.Random
    shape : tuple of int
    dtype : str
        Of the program's tensors, unless something else is said.
    """

    def __init__(self, seed):
        self.random = random.Random(str(seed))
        self.shape, self.dtype = self.random.choice(SHAPES), self.random.choice(DTYPES)

    @property
    def size(self):
        """Bytes of a tensor of the program's shape and dtype."""
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def unary(self):
        """The name of a kernel of one tensor that may be run in place."""
        return self.random.choice(UNARY)

    def binary(self):
        """The name of a kernel of two."""
        return self.random.choice(BINARY)

    def either(self):
        """True or false."""
        return self.random.random() < 0.5

    def ordered(self, fault, read, write):
        """What reading and writing give; where a fault is wanted, writing comes first.

        Each draws from numbers of its own: the kernels are the same in either order.
        """
        seeds = {step: self.random.random() for step in (read, write)}
        outer, made = self.random, {}
        for step in (write, read) if fault else (read, write):
            self.random = random.Random(seeds[step])
            made[step] = step()
        self.random = outer
        return made[read], made[write]

    def numbers(self, shape, dtype):
        """Small whole numbers."""
        drawn = [self.random.randrange(1, 50) for _ in range(prod(shape))]
        return np.array(drawn, dtype).reshape(shape)
