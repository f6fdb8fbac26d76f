"""Say in the module which parameters the caller gives up."""

import tvm

from ..attributes import DONATED


@tvm.transform.module_pass(opt_level=0, name="DeclareDonations")
class DeclareDonations:
    """Set `ta.donated` on the entry function.

    Parameters
    ----------
    entry : str
    names : sequence of str
        Its parameters whose storage it may overwrite.
    """

    def __init__(self, entry, names):
        self.entry, self.names = entry, names

    def transform_module(self, mod, _context):
        """Return the module with the attribute set where there is something to say."""
        if not self.names:
            return mod
        mod = mod.clone()
        mod[self.entry] = mod[self.entry].with_attr(DONATED, list(self.names))
        return mod
