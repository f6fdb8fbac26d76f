"""Workspaces: buffers inside a kernel that it asks the runtime for, past the virtual machine."""

import functools

import tvm
import tvm_ffi
from tvm import ir, tirx
from tvm.tirx.build import split_host_device_mods

from ..analysis.expressions import variables
from ..errors import UnsupportedError
from ..values import evaluate
from .sizes import sizes_of_call

_ALLOCATE = "tirx.TVMBackendAllocWorkspace"
_FREE = "tirx.TVMBackendFreeWorkspace"


class KernelWorkspaces:
    """The workspaces of a module's kernels, read from their lowered bodies.

    Which buffers become workspaces TVM decides when it lowers; the others lie on the stack and are
    not counted. A workspace within a parallel loop is held by each thread that has an iteration to
    run.

    Parameters
    ----------
    mod : tvm.IRModule
        Holds the PrimFuncs; what they are called from does not matter.
    target : tvm.target.Target
    threads : int
        Size of TVM's thread pool.
    """

    def __init__(self, mod, target, threads):
        self._functions = {
            name.name_hint: function
            for name, function in mod.functions_items()
            if isinstance(function, tirx.PrimFunc)
        }
        self._target, self._threads = target, threads
        self._found = {}

    def of(self, name, arguments):
        """Most workspace bytes that one call of a kernel holds at a time.

        Parameters
        ----------
        name : str
        arguments : sequence
            One for each parameter: a shape for a tensor, an integer for a number.

        Returns
        -------
        int

        Raises
        ------
        UnsupportedError
            A workspace's size depends on more than the arguments' shapes.
        """
        if name not in self._found:
            self._found[name] = _steps(self._lowered[name], _declared(self._functions[name]))
        steps = self._found[name]
        sizes = sizes_of_call(self._functions[name], arguments) if steps else {}
        held, most = {}, 0
        for buffer, size, extent in steps:
            if size is None:
                del held[buffer]
                continue
            size, extent = evaluate(size, sizes), evaluate(extent, sizes)
            if size is None or extent is None:
                raise UnsupportedError(
                    f"a workspace of kernel {name} has a size that depends on more than the "
                    "shapes of its arguments: it cannot be counted"
                )
            held[buffer] = size * _threads_at_work(extent, self._threads)
            most = max(most, sum(held.values()))
        return most

    @functools.cached_property
    def _lowered(self):
        """The functions that run on the host, as TVM's `tirx.build` makes them."""
        host = self._target.host
        if host is None:
            host = self._target if "cpu" in self._target.keys else tvm.target.Target("llvm")
        mod = tvm.IRModule(
            {
                name: function.with_attr("global_symbol", name)
                for name, function in self._functions.items()
            }
        )
        lower, finalize_host, _ = tirx.get_default_tir_pipeline(self._target)
        with self._target:
            mod = lower(tirx.transform.BindTarget(self._target.with_host(host))(mod))
            mod = finalize_host()(split_host_device_mods(mod)[0])
        return {name.name_hint: function for name, function in mod.functions_items()}


def _threads_at_work(extent, threads):
    """Threads of the pool that have an iteration to run: all but the last take equally many."""
    each = -(-extent // threads)
    return -(-extent // each) if each else 0


def _steps(lowered, declared):
    """(buffer, bytes or None where it is freed, extent of the parallel loop or 1), in order."""
    steps, values = [], {}

    def see(statement, extent):
        def see_buffer(declaration):
            if _calls(declaration.data, _ALLOCATE):
                steps.append((declaration.buffer, declaration.data.args[2], extent))

        def see_call(call):
            if _calls(call, _FREE):
                steps.append((call.args[2].args[0], None, None))  # of `buffer.data`

        def see_loop(loop):
            if loop.kind != tirx.ForKind.PARALLEL:
                return tvm_ffi.WalkResult.ADVANCE
            see(loop.body, loop.extent)
            return tvm_ffi.WalkResult.SKIP

        def see_bind(bind):
            values[bind.var] = bind.value

        tvm_ffi.structural_walk(
            statement,
            (
                (tirx.DeclBuffer, see_buffer),
                (tirx.For, see_loop),
                (tirx.Bind, see_bind),
                (ir.Call, see_call),
            ),
            order="pre",
        )

    see(lowered.body, 1)

    def written_out(expression):
        if expression is None or isinstance(expression, int):
            return expression
        return tvm_ffi.structural_map(
            expression,
            (
                ir.Var,
                lambda var: (
                    written_out(values[var]) if var in values and var not in declared else var
                ),
            ),
        )

    return [(buffer, written_out(size), written_out(extent)) for buffer, size, extent in steps]


def _calls(expression, name):
    return (
        isinstance(expression, ir.Call)
        and isinstance(expression.op, ir.Op)
        and expression.op.name == name
    )


def _declared(function):
    """The symbolic sizes and numbers that a function's arguments give."""
    found = set()
    for param in function.params:
        is_buffer = isinstance(param.ty, tirx.BufferType)
        found.update(variables(param.ty.shape) if is_buffer else [param])
    return found
