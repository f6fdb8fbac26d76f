"""ONNX models through TVM's importer, and ONNX Runtime as the reference for them."""

import importlib
import re
import warnings

import tvm
from tvm import relax, tirx

from ..dims import check_dims, require_dims
from ..errors import InputError, UnsupportedError
from .inputs import seeded_inputs
from .model import Model
from .quiet import silenced


def load_onnx(path, dims):
    """Load an ONNX file as a Relax module ``main(inputs..., weights...)`` of fixed shapes.

    Every dynamic dimension of an input is fixed to its size in `dims`, so that one file and one
    set of sizes is one module, whichever way it came in. A dimension without a name in the file
    is named for its place: ``x.0`` is axis 0 of input ``x``.

    The file's own graph is imported if TVM takes it: onnxsim removes reshapes itself, which would
    change what is measured here. Only if TVM refuses the graph, or cannot tell all shapes in it,
    is it simplified (constants folded, shape arithmetic evaluated) and tried again;
    `Model.simplified` tells. External data is read from beside the file. Initializers that the
    graph needs only during import, such as target shapes, are dropped.

    Parameters
    ----------
    path : pathlib.Path
    dims : dict of str to int

    Returns
    -------
    Model
    """
    model = _read(path)
    shapes = _fixed_shapes(path, model.graph, dims)
    imported, reason = _import(model, shapes)
    simplified = False
    if imported is None or not _shapes_known(imported[0]["main"]):
        retried = _simplify_and_import(model, shapes)
        if retried and (imported is None or _shapes_known(retried[0]["main"])):
            imported, simplified = retried, True
    if imported is None:
        raise UnsupportedError(f"TVM cannot import {path.name}: {reason}")
    mod, params = imported
    if not _returns_tensors(mod["main"].ret_ty):
        raise UnsupportedError(f"{path.name}: an output is not a tensor but {mod['main'].ret_ty}")
    inputs = seeded_inputs(mod["main"], params, {})
    return Model(path.stem, mod, params, inputs, simplified=simplified)


def onnx_reference(path, inputs):
    """Run a model with ONNX Runtime on the CPU.

    Parameters
    ----------
    path : str or path-like
        The file itself, not what the importer made of it.
    inputs : sequence of numpy.ndarray
        In the order of the model's inputs, as `Model.inputs`.

    Returns
    -------
    tuple of numpy.ndarray
        In the order of the model's outputs.
    """
    ort = _extra("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4  # fatal only: it warns of unused initializers, for one
    options.intra_op_num_threads = 1  # more would split sums differently on another machine
    try:
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        return tuple(session.run(None, dict(zip(names, inputs, strict=True))))
    except Exception as err:  # its errors share no base class
        raise UnsupportedError(f"ONNX Runtime cannot run {path}: {_first_line(err)}") from err


def _extra(name):
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise UnsupportedError(
            f"ONNX models need the package {name}, which is not installed: run `make setup`, or"
            " `pip install onnx onnxsim onnxruntime`"
        ) from err


def _read(path):
    onnx = _extra("onnx")
    try:
        model = onnx.load(path, load_external_data=False)
    except OSError:
        raise  # the file cannot be read, whatever is in it
    except Exception as err:  # protobuf's own error, or UnicodeDecodeError
        raise InputError(f"{path.name} is not an ONNX model: {_first_line(err)}") from err
    if not model.graph.output:  # protobuf takes an empty file, and some random bytes
        raise InputError(f"{path.name} is not an ONNX model: it has no outputs")
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
    except Exception as err:  # onnx raises what its checker or the system says
        reason = _first_line(err)
        raise InputError(f"{path.name}: its external data cannot be read: {reason}") from err
    # Files before IR version 4 list initializers as inputs; the importer would make each of them
    # a parameter twice.
    weights = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in weights]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    return model


def _fixed_shapes(path, graph, dims):
    shapes, needed = {}, {}
    for value in graph.input:
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            raise UnsupportedError(f"{path.name}: input {value.name} is a {kind}, not a tensor")
        if not value.type.tensor_type.HasField("shape"):
            raise UnsupportedError(f"{path.name}: input {value.name} does not say how many axes")
        shape = shapes[value.name] = []
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if dim.dim_value > 0:  # some exporters write 0 or -1 for a dynamic dimension
                shape.append(dim.dim_value)
                continue
            named = dim.dim_param not in ("", "?")
            label = dim.dim_param if named else f"{value.name}.{axis}"
            needed.setdefault(label, f"axis {axis} of {value.name}")
            shape.append(dims.get(label))
    check_dims(path.name, needed, dims)
    require_dims(path.name, needed, dims)
    return shapes


def _import(model, shapes):
    """Return ((mod, params), None), or (None, the reason why TVM refuses the model)."""
    with silenced() as printed, warnings.catch_warnings(action="ignore"):
        # The error goes out of scope in here: TVM's block builder, which its traceback holds,
        # logs when it is released.
        try:
            return _import_or_raise(model, shapes), None
        except Exception as err:
            reason = _first_line(err)
    failing = re.search(r"Error converting operator (\w+)", printed.getvalue())
    return None, f"operator {failing[1]}: {reason}" if failing else reason


def _import_or_raise(model, shapes):
    importer = importlib.import_module("tvm.relax.frontend.onnx")  # needs onnx, an extra
    mod = importer.from_onnx(
        model, shape_dict=shapes, keep_params_in_input=True, sanitize_input_names=False
    )
    mod, detached = relax.frontend.detach_params(mod)
    relax.analysis.well_formed(mod)
    main = mod["main"]
    count = len(shapes)
    used = set(relax.analysis.free_vars(main.body))
    weights = {
        var: tensor.numpy()
        for var, tensor in zip(main.params[count:], detached.get("main", ()), strict=True)
        if var in used
    }
    kept = [*main.params[:count], *weights]
    mod["main"] = relax.Function(kept, main.body, main.ret_ty, main.is_pure, main.attrs)
    return mod, {var.name: array for var, array in weights.items()}


def _simplify_and_import(model, shapes):
    onnx, onnxsim = _extra("onnx"), _extra("onnxsim")
    with silenced():
        try:
            # onnxsim refuses a graph whose outputs declare no shape.
            inferred = onnx.shape_inference.infer_shapes(model)
            simplified, _ = onnxsim.simplify(inferred, overwrite_input_shapes=shapes)
        except Exception:
            return None  # TVM's own reason says more
    return _import(simplified, shapes)[0]


def _shapes_known(func):
    """Whether every value in a function of fixed inputs has a fixed shape."""
    known = True

    def visit(expr):
        nonlocal known
        if isinstance(expr, tvm.ir.Var):
            known = known and _is_fixed(expr.ty)

    relax.analysis.post_order_visit(func.body, visit)
    return known and _returns_tensors(func.ret_ty)  # onnxsim turns a returned shape into a tensor


def _is_fixed(ty):
    if isinstance(ty, relax.TupleType):
        return all(_is_fixed(part) for part in ty.fields)
    if isinstance(ty, relax.TensorType):
        shape = ty.shape
        return isinstance(shape, relax.ShapeExpr) and _is_fixed(shape.ty)
    if isinstance(ty, relax.ShapeType):
        return ty.values is not None and all(isinstance(v, tirx.IntImm) for v in ty.values)
    return True


def _returns_tensors(ty):
    if isinstance(ty, relax.TupleType):
        return all(_returns_tensors(part) for part in ty.fields)
    return isinstance(ty, relax.TensorType)


def _first_line(err):
    text = str(err).strip().splitlines()
    # A KeyError's text is the key alone.
    return f"{type(err).__name__}: {text[0]}" if text else type(err).__name__
