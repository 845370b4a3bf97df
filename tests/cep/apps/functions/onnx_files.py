"""Small ONNX models, written field by field: https://onnx.ai/onnx/repo-docs/IR.html, onnx.proto."""

import struct
from collections.abc import Iterable

FLOAT, INT64, STRING, DOUBLE = 1, 7, 8, 11
Shape = tuple[int | str, ...]


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes((*out, value))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _value(name: str, kind: int, shape: Shape) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, one) if isinstance(one, int) else _bytes(2, one)) for one in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, sizes)))


def _node(operator: str, inputs: Iterable[str], output: str) -> bytes:
    return b"".join(_bytes(1, one) for one in inputs) + _bytes(2, output) + _bytes(4, operator)


def _model(
    nodes: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes], constants: Iterable[bytes]
) -> bytes:
    graph = b"".join(_bytes(1, one) for one in nodes) + _bytes(2, "g") + b"".join(_bytes(5, one) for one in constants)
    graph += b"".join(_bytes(11, one) for one in inputs) + b"".join(_bytes(12, one) for one in outputs)
    return _number(1, 8) + _bytes(7, graph) + _bytes(8, _number(2, 13))


def linear(weights: tuple[float, ...], rows: int | str = "n") -> bytes:
    """One table of floats in; `score`, the weighted sum, and `all`, the table itself, out."""
    width = len(weights)
    raw = struct.pack(f"<{width}f", *weights)
    constant = _number(1, width) + _number(1, 1) + _number(2, FLOAT) + _bytes(8, "w") + _bytes(9, raw)
    nodes = _node("MatMul", ("x", "w"), "score"), _node("Identity", ("x",), "all")
    outputs = _value("score", FLOAT, (rows, 1)), _value("all", FLOAT, (rows, width))
    return _model(nodes, (_value("x", FLOAT, (rows, width)),), outputs, (constant,))


def two_inputs(kind: int = DOUBLE, shape: Shape = ("n",)) -> bytes:
    """Return the model a + b."""
    inputs = _value("a", kind, shape), _value("b", kind, shape)
    return _model((_node("Add", ("a", "b"), "sum"),), inputs, (_value("sum", kind, shape),), ())


def same_text() -> bytes:
    inputs, outputs = (_value("t", STRING, ("n",)),), (_value("u", STRING, ("n",)),)
    return _model((_node("Identity", ("t",), "u"),), inputs, outputs, ())
