"""What every loader returns."""

from dataclasses import dataclass, field

import numpy as np
import tvm


@dataclass(frozen=True, eq=False)
class Model:
    """A Relax module with the weights and inputs to run it with.

    Attributes
    ----------
    name : str
        The file's name without suffix, or the name in the catalogue.
    mod : tvm.IRModule
        Relax before legalisation. The parameters of ``main`` that `params` does not name are the
        inputs.
    params : dict of str to numpy.ndarray
        The weights by the name of ``main``'s parameter.
    inputs : tuple of numpy.ndarray
        The inputs in the order of ``main``'s parameters; a nested tuple for a tuple parameter.
    expected : numpy.ndarray or nested tuple of numpy.ndarray or None
        The result if the file states one.
    dims : dict of str to int
        The sizes given for the dimensions that are still symbolic in `mod`, which is what
        ``build(dims=...)`` takes as upper bounds.
    simplified : bool
        Whether onnxsim had to rewrite the graph before TVM took it.
    """

    name: str
    mod: tvm.IRModule
    params: dict
    inputs: tuple
    expected: np.ndarray | tuple | None = None
    dims: dict = field(default_factory=dict)
    simplified: bool = False
