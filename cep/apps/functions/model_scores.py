"""`model:score('name', …)`: a model of the operator's folder, as an ONNX file. Such a file holds a graph of numbers and
no code; nothing else is loaded, above all nothing pickled.

The model has one input, a table of numbers with a column for each argument, or one input for each argument. What it
gives is its first output with one value for the row, or the one that 'name:output' names.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Constant, FunctionCall, OwnFunction, ValueType
from cep.apps.parts.app_limits import FunctionFailedError
from cep.apps.parts.scope import unknown
from cep.apps.parts.values import Value

NAMED = re.compile(r"([A-Za-z0-9_-]+)(?::(.+))?", re.ASCII)
LIBRARY = "onnxruntime"
NUMBERS: tuple[ValueType, ...] = ("int", "long", "float", "double")
QUIET = 3
"""Errors alone; they are raised too."""
INPUTS: Mapping[str, tuple[str, tuple[ValueType, ...]]] = {
    "tensor(float)": ("float32", NUMBERS),
    "tensor(double)": ("float64", NUMBERS),
    "tensor(int64)": ("int64", ("int", "long")),
    "tensor(int32)": ("int32", ("int",)),
    "tensor(bool)": ("bool", ("bool",)),
    "tensor(string)": ("object", ("string",)),
}
"""By the model's type: the array's, and what an app may give."""
OUTPUTS: Mapping[str, ValueType] = {
    "tensor(float)": "double",
    "tensor(double)": "double",
    "tensor(int64)": "long",
    "tensor(int32)": "long",
    "tensor(bool)": "bool",
    "tensor(string)": "string",
}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model where a call names it. `output`: None for its first."""

    path: Path
    output: str | None


def model_file(call: FunctionCall, folder: Path | None) -> ModelFile:
    """Raise AppTextError if the call names none."""
    first = call.arguments[0] if call.arguments else None
    found = NAMED.fullmatch(first.value) if isinstance(first, Constant) and isinstance(first.value, str) else None
    if found is None:
        raise AppTextError(call.at, "model:score() takes a model's name in quotes first: letters, digits, _ and -")
    if folder is None:
        problem = "there is no folder of models: the operator names one as `models` below [apps]"
        raise AppTextError(call.at, problem)
    path = folder / f"{found[1]}.onnx"
    if not path.is_file():
        raise unknown(call.at, f"{path} is missing", found[1], sorted(one.stem for one in folder.glob("*.onnx")))
    return ModelFile(path, found[2])


def model_function(call: FunctionCall, file: ModelFile, runtime_name: str) -> tuple[OwnFunction, Callable[..., Value]]:
    """Return what a call with this name takes after it, and what is called. Raises AppTextError, AppUnsupportedError
    if the library is missing or the model has another form."""
    session = _session(call, file.path)
    inputs = session.get_inputs()
    for one in inputs:
        if one.type not in INPUTS:
            raise AppUnsupportedError(call.at, f"{file.path.name} takes {one.name!r} as {one.type}: not supported")
    columns = _columns(call, file, inputs)
    output = _output(call, file, session.get_outputs())
    accepts = (
        (INPUTS[inputs[0].type][1],) * columns if _is_table(inputs) else tuple(INPUTS[one.type][1] for one in inputs)
    )
    terms = OwnFunction("model:score", runtime_name, accepts, len(accepts), False, OUTPUTS[output.type])
    return terms, _scoring(call, session, inputs, output.name)


def _session(call: FunctionCall, path: Path) -> Any:
    """From the bytes, so that a model can name no other file; on one thread, so that it always gives the same."""
    if find_spec(LIBRARY) is None:
        problem = (
            f"model:score() needs {LIBRARY}, which is not installed: pip install 'cross-exchange-arbitrage[models]'"
        )
        raise AppUnsupportedError(call.at, problem)
    runtime = import_module(LIBRARY)
    errors = import_module(f"{LIBRARY}.capi.onnxruntime_pybind11_state")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = QUIET
    raised = (errors.InvalidProtobuf, errors.InvalidGraph, errors.InvalidArgument, errors.Fail, errors.NotImplemented)
    try:
        return runtime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    except (*raised, errors.RuntimeException, errors.NoSuchFile, RuntimeError, OSError) as error:
        raise AppTextError(call.at, f"{path} is no ONNX model that can be run: {_first(error)}") from error


def _is_table(inputs: Sequence[Any]) -> bool:
    return len(inputs) == 1 and len(inputs[0].shape) == 2


def _columns(call: FunctionCall, file: ModelFile, inputs: Sequence[Any]) -> int:
    """How many values a row has. Raises AppUnsupportedError."""
    given = len(call.arguments) - 1
    for one in inputs:
        rows, *rest = one.shape or [1]
        if rows not in (None, 1) and not isinstance(rows, str):
            problem = f"{file.path.name} takes {rows} rows at once in {one.name!r}, and an app has one"
            raise AppUnsupportedError(call.at, problem)
        if not _is_table(inputs) and any(size != 1 for size in rest):
            problem = f"{file.path.name} takes a table in {one.name!r} beside other inputs: not supported"
            raise AppUnsupportedError(call.at, problem)
    if not _is_table(inputs):
        return len(inputs)
    columns = inputs[0].shape[1]
    return columns if isinstance(columns, int) else given


def _output(call: FunctionCall, file: ModelFile, outputs: Sequence[Any]) -> Any:
    names = [one.name for one in outputs]
    if file.output is not None and file.output not in names:
        raise unknown(call.at, f"{file.path.name} has no output {file.output!r}", file.output, names)
    output = outputs[0 if file.output is None else names.index(file.output)]
    if output.type not in OUTPUTS or any(size not in (None, 1) and not isinstance(size, str) for size in output.shape):
        problem = f"{file.path.name} gives {output.name!r} as {output.type} of shape {output.shape}, not one value"
        raise AppUnsupportedError(call.at, problem)
    return output


def _scoring(call: FunctionCall, session: Any, inputs: Sequence[Any], output: str) -> Callable[..., Value]:
    errors = import_module(f"{LIBRARY}.capi.onnxruntime_pybind11_state")
    named = f"line {call.at.line}, column {call.at.column}: model:score()"
    arrays = _table_arrays(inputs[0]) if _is_table(inputs) else _single_arrays(inputs)

    def score(*values: Value) -> Value:
        if None in values:
            return None
        try:
            (given,) = session.run([output], arrays(values))
        except (errors.InvalidArgument, errors.Fail, errors.RuntimeException, ValueError, OverflowError) as error:
            raise FunctionFailedError(f"{named} failed: {_first(error)}") from None
        if given.size != 1:
            raise FunctionFailedError(f"{named} gave {given.size} values, not one")
        (value,) = given.reshape(-1).tolist()
        return value

    return score


Arrays = Callable[[Sequence[Value]], dict[str, Any]]


def _table_arrays(one: Any) -> Arrays:
    kind, array = INPUTS[one.type][0], import_module("numpy").array
    return lambda values: {one.name: array([values], dtype=kind)}


def _single_arrays(inputs: Sequence[Any]) -> Arrays:
    kinds = [(one.name, INPUTS[one.type][0], [1] * len(one.shape)) for one in inputs]
    # the library brings it; an app without a model needs neither
    array = import_module("numpy").array
    return lambda values: {
        name: array(value, dtype=kind).reshape(shape) for (name, kind, shape), value in zip(kinds, values, strict=True)
    }


def _first(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
