"""The scheduled CPU kernels beside NumPy: whether copies are measured among decent work."""

from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op
from tvm.target.codegen import llvm_get_system_cpu

from .. import isolate
from ..agreement import agrees
from ..build import build
from ..values import to_device
from .latency import SITTINGS, interleaved, ratio_interval


@dataclass(frozen=True)
class Kernel:
    """An operator, what computes the same in NumPy, and how much slower ours may be.

    Attributes
    ----------
    shapes : tuple
        Of the inputs.
    operator, numpy : callable
        From the inputs to the result, in Relax and in NumPy.
    limit : float or None
        The ratio of our time to NumPy's that the schedules are meant to stay below.
    """

    shapes: tuple
    operator: object
    numpy: object
    limit: float | None = None


def _im2col(x, weight):
    """Convolve with a border of one zero: the windows as a matrix, then one matmul."""
    _, channels, height, width = x.shape
    padded = np.pad(x[0], ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    columns = windows.transpose(0, 3, 4, 1, 2).reshape(channels * 9, height * width)
    product = weight.reshape(len(weight), channels * 9) @ columns
    return product.reshape(1, len(weight), height, width)


def _softmax(x):
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def _layer_norm(x, gamma, beta):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gamma + beta


KERNELS = {
    "matmul 64x1024x1024": Kernel(((64, 1024), (1024, 1024)), op.matmul, np.matmul, 4),
    "matmul 512x512x512": Kernel(((512, 512), (512, 512)), op.matmul, np.matmul, 4),
    "batched matmul 8x512x64x512": Kernel(((8, 512, 64), (8, 64, 512)), op.matmul, np.matmul),
    "conv2d 64 to 64 channels, 3x3, 96x96": Kernel(
        ((1, 64, 96, 96), (64, 64, 3, 3)),
        lambda x, weight: op.nn.conv2d(x, weight, padding=1),
        _im2col,
        6,
    ),
    "softmax 4096x512": Kernel(((4096, 512),), lambda x: op.nn.softmax(x, -1), _softmax),
    "layer norm 4096x512": Kernel(
        ((4096, 512), (512,), (512,)),
        lambda x, gamma, beta: op.nn.layer_norm(x, gamma, beta, axes=[-1]),
        _layer_norm,
    ),
    "add 1024x1024": Kernel(((1024, 1024), (1024, 1024)), op.add, np.add),
}


#: OpenBLAS's threads spin for a while when their work is done, on the core that the second of TVM's
#: threads needs: ours then takes twice as long. This is the shortest while.
_ENVIRONMENT = {"OPENBLAS_THREAD_TIMEOUT": "4"}


def schedule_rows(names=None, budget=5.0):
    """Time kernels beside NumPy, for plain `llvm` and for this machine's CPU.

    Ours and NumPy's run in turns in one process, in several sittings, each a process of its own.

    Parameters
    ----------
    names : list of str, optional
        Of `KERNELS`; by default all.
    budget : float
        Seconds of timed rounds for each kernel and target, over all sittings.

    Yields
    ------
    dict
        A row of a record of kind `schedules`; `results/README.md` lists the keys.
    """
    names = list(KERNELS) if names is None else names
    request = {"names": names, "budget": budget / SITTINGS}
    sittings = [
        list(isolate.results_of("kernels", request, environment=_ENVIRONMENT))
        for _ in range(SITTINGS)
    ]
    yield from map(_row, zip(*sittings))


def kernel_results(names, budget):
    """Yield what one sitting finds for each kernel and target; runs in the process of its own."""
    targets = (
        tvm.target.Target("llvm"),
        tvm.target.Target({"kind": "llvm", "mcpu": llvm_get_system_cpu()}),
    )
    for name in names:
        for target in targets:
            yield _timed(name, target, budget)


def _timed(name, target, budget):
    kernel = KERNELS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype=np.float32) / 16 for shape in kernel.shapes]
    mod = _module(kernel)
    ours, again = (build(mod, "copy", target) for _ in range(2))
    tensors = to_device(mod["main"].params, arrays, tvm.cpu())
    return {
        "kernel": name,
        "target": str(target),
        "threads": tvm.runtime.num_threads(),
        "workspace": ours.memory(*arrays).workspace,
        "correct": agrees(ours.run(*arrays), kernel.numpy(*arrays)),
        "limit": kernel.limit,
        "samples": interleaved(
            {
                "ours": lambda: ours.call(*tensors),
                "again": lambda: again.call(*tensors),
                "numpy": lambda: kernel.numpy(*arrays),
            },
            budget,
            least=5,
            most=75,
        ),
    }


def _row(sittings):
    """The row of one kernel and target from what its sittings found."""
    sizes = [len(sitting["samples"]["ours"]) for sitting in sittings]
    samples = {
        run: [seconds for sitting in sittings for seconds in sitting["samples"][run]]
        for run in ("ours", "again", "numpy")
    }
    ratio = ratio_interval(samples["ours"], samples["numpy"], sittings=sizes)
    identical = ratio_interval(samples["again"], samples["ours"], sittings=sizes)
    return {
        **sittings[0],
        "correct": all(sitting["correct"] for sitting in sittings),
        **ratio._asdict(),
        "aa_lo": identical.lo,
        "aa_hi": identical.hi,
        "ours_s": float(np.median(samples["ours"])),
        "numpy_s": float(np.median(samples["numpy"])),
        "samples": {**samples, "sittings": sizes},
    }


def _module(kernel):
    inputs = [
        relax.Var(f"x{i}", relax.TensorType(shape, "float32"))
        for i, shape in enumerate(kernel.shapes)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", inputs):
        with bb.dataflow():
            result = bb.emit_output(bb.emit(kernel.operator(*inputs)))
        bb.emit_func_output(result)
    return bb.finalize()
