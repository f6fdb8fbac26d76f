"""Give planners the largest value of each symbolic size."""

import tvm

from ..attributes import UPPER_BOUNDS


@tvm.transform.module_pass(opt_level=0, name="BoundSymbolicSizes")
class BoundSymbolicSizes:
    """Set TVM's own attribute for upper bounds of the symbolic sizes in a function's signature.

    Parameters
    ----------
    bounds : dict of str to int
        Largest value by symbolic name.
    entry : str
        The function to set it on.
    """

    def __init__(self, bounds, entry):
        self.bounds = bounds
        self.entry = entry

    def transform_module(self, mod, _context):
        """Return the module with the attribute set on the entry function."""
        if not self.bounds:
            return mod
        function = mod[self.entry]
        mod = mod.clone()
        mod.update_func(
            mod.get_global_var(self.entry), function.with_attr(UPPER_BOUNDS, self.bounds)
        )
        return mod
