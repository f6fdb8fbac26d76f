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
    functions = {
        name: function
        for name, function in mod.functions_items()
        if isinstance(function, relax.Function)
    }
    called = {
        name for function in functions.values() for name in relax.analysis.all_global_vars(function)
    }
    return {name: "copy" if name in called else policy for name in functions}


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
