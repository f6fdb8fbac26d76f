"""What the workload files share to write a module: seeded arrays and a ``main`` function."""

import numpy as np
from tvm import relax


def normal(rng, *shape, scale=1.0):
    """Return float32 samples of a normal distribution with standard deviation `scale`."""
    return np.float32(scale) * rng.standard_normal(shape, dtype=np.float32)


def tensor_var(name, shape):
    """Return a Relax variable for a float32 tensor of this shape."""
    return relax.Var(name, relax.TensorType(shape, "float32"))


def module_of(inputs, params, body):
    """Write ``main(*inputs, *params)`` with one dataflow block.

    Parameters
    ----------
    inputs : list of relax.Var
        The variables of the inputs.
    params : dict of str to numpy.ndarray
        The weights. Each becomes a variable of the same name and shape.
    body : callable
        Called as ``body(bb, *inputs, **weights)`` with the block builder and the variables.
        It emits the bindings and returns the result: an expression, or a tuple of expressions
        if ``main`` is to return a tuple.

    Returns
    -------
    tvm.IRModule
    """
    weights = {name: tensor_var(name, array.shape) for name, array in params.items()}
    bb = relax.BlockBuilder()
    with bb.function("main", [*inputs, *weights.values()]):
        with bb.dataflow():
            result = bb.emit_output(body(bb, *inputs, **weights))
        bb.emit_func_output(result)
    return bb.finalize()
