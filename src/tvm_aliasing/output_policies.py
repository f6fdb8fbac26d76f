"""The output policies: what the outputs of a function may share storage with.

Each allows what the one before it does, and one thing more. What the source program itself says,
by returning one variable twice, a parameter, or a view that the user wrote, is kept under all.
A constant is never handed out.
"""

from tvm import relax

#: By policy: another `output`, a larger internal buffer as a `part` of it, a `param`.
ALLOWED = {
    "copy": (),
    "share": ("output",),
    "view": ("output", "part"),
    "alias_params": ("output", "part", "param"),
}


def policies(mod, policy):
    """The policy that each Relax function of a module heeds, by its `GlobalVar`.

    One that is called within the module keeps to `copy`. What its results lie in would be live in
    the caller, which has not decided so and may need but a part of it, or need it only briefly.
    """
    called = called_functions(mod)
    return {
        name: "copy" if name in called else policy
        for name, function in mod.functions_items()
        if isinstance(function, relax.Function)
    }


def called_functions(mod):
    """The names of what Relax functions of a module call in it, kernels too."""
    return {
        name
        for _, function in mod.functions_items()
        if isinstance(function, relax.Function)
        for name in relax.analysis.all_global_vars(function)
    }


def undeclared(outputs, policy, declared, is_donated):
    """How outputs share storage though neither the policy nor the source program allows it.

    A donated parameter is as good as a buffer of the function's own.

    Parameters
    ----------
    outputs : Outputs
    policy : str
    declared : collection of str
        What the source program says, as attribute `ta.source_alias` holds it.
    is_donated : callable
        Whether a root is a parameter that the function may overwrite.

    Returns
    -------
    list of Sharing
    """
    allowed = ALLOWED[policy]

    def is_allowed(sharing):
        if sharing.kind == "part" and outputs.is_part_of_outputs(sharing.output):
            return "output" in allowed
        if sharing.kind == "param" and is_donated(sharing.other):
            return True
        return sharing.kind in allowed

    return [s for s in outputs.sharing if str(s) not in declared and not is_allowed(s)]


def may_be_part(policy, root, *, of_output, donated):
    """Whether an output may be a range of a storage.

    Parameters
    ----------
    policy : str
    root : Root
    of_output : bool
        Whether another output is the whole of it: to lie there is to share with that one.
    donated : bool
        Whether it is a parameter that the function may overwrite.
    """
    allowed = ALLOWED[policy]
    if root.kind == "constant":
        return False
    if root.kind == "param" and not donated:
        return "param" in allowed
    return "part" in allowed or (of_output and "output" in allowed)
