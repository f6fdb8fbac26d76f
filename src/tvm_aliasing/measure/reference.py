"""What a program computes when nothing is fused and no storage is used twice."""

import tvm
from tvm import relax
from tvm.relax import transform

from ..values import to_arrays, to_device


def unplanned_result(mod, params, inputs, entry="main"):
    """Run a program on the CPU without fusion, elision or storage planning.

    The reference for a program that comes without one: every tensor has a storage of its own, so
    that no decision about aliasing can make it wrong.

    Parameters
    ----------
    mod : tvm.IRModule
    params : dict of str to ndarray
    inputs : tuple of ndarray
    entry : str

    Returns
    -------
    ndarray or nested tuple of ndarray
    """
    passes = [
        relax.backend.DispatchSampling(),
        relax.backend.DispatchSortScan(),
        transform.LegalizeOps(),
        transform.ToNonDataflow(),
        transform.RemovePurityChecking(),
        transform.CallTIRRewrite(),
        transform.LowerAllocTensor(),
        transform.KillAfterLastUse(),
        transform.LowerRuntimeBuiltin(),
        transform.ComputePrimValue(),
        transform.VMShapeLower(),
        transform.AttachGlobalSymbol(),
    ]
    if params:
        mod = transform.BindParams(entry, params)(mod)
    executable = relax.build(
        mod, tvm.target.Target("llvm"), relax_pipeline=tvm.transform.Sequential(passes)
    )
    machine = relax.VirtualMachine(executable, tvm.cpu())
    return to_arrays(machine[entry](*to_device(mod[entry].params, inputs, tvm.cpu())))
