"""The generated program on which introduction and planning are timed against size."""

from tvm import relax
from tvm.relax import op

#: What records call it: a program that differs gets another name.
NAME = "densenet-pieces"

#: Elements of the values that pieces pass on, float32.
SIZE = 5040
#: In so many rows a piece lays its input out, one piece after the other. As in a network whose
#: layers differ in size, most kernels are called in a few places only.
ROWS = tuple(rows for rows in range(4, SIZE // 4 + 1) if SIZE % rows == 0)
#: Concats in a piece.
LAYERS = 3
#: The input and the results of the first pieces, of which each later piece reads one.
LONG_LIVED = 6


def program(bindings):
    """A chain of DenseNet-like pieces of small tensors, in one function.

    A piece grows its input by concats along the first axis, splits what it has and combines the
    parts; elementwise kernels and reshapes stand between. The sum of all results is returned, so
    that a wrong byte anywhere is seen.

    Parameters
    ----------
    bindings : int
        Number of bindings; those that do not make up a piece are elementwise kernels.

    Returns
    -------
    tvm.IRModule
        Relax before legalisation: `main` takes and returns a tensor of `SIZE` elements.
    """
    builder, count = relax.BlockBuilder(), 0

    def emit(value):
        nonlocal count
        count += 1
        return builder.emit(value)

    x = relax.Var("x", relax.TensorType([SIZE], "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            results, total, piece = [x], x, 0
            while count + piece < bindings:
                before = count
                early = results[len(results) % min(len(results), LONG_LIVED)]
                rows = ROWS[len(results) % len(ROWS)]
                results.append(_piece(emit, results[-1], early, rows))
                total = emit(op.add(total, results[-1]))
                piece = count - before
            while count + 1 < bindings:
                total = emit(op.negative(total))
            total = builder.emit_output(total)
        builder.emit_func_output(total)
    return builder.finalize()


def _piece(emit, x, early, rows):
    """The bindings of one piece, from tensors of one dimension to another."""
    x = emit(op.reshape(emit(op.subtract(x, early)), (rows, SIZE // rows)))
    grown = new = x
    for _ in range(LAYERS):
        new = emit(op.sigmoid(emit(op.subtract(x, new))))
        grown = emit(op.concat([grown, new], axis=0))
    parts = emit(op.split(emit(op.sigmoid(grown)), LAYERS + 1, axis=0))
    first, *others = [emit(relax.TupleGetItem(parts, i)) for i in range(LAYERS + 1)]
    for other in others:
        first = emit(op.subtract(first, other))
    return emit(op.reshape(first, (SIZE,)))
