"""Real messages beside the checkout, whose fields the simulated ones are compared with."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_WIRE = Path(__file__).resolve().parents[3] / "shared" / "data" / "wire"
Message = dict[str, Any]


def recorded(name: str) -> Iterator[Message]:
    """Return the JSON objects of a recording of one socket. Skips the test if it is absent."""
    path = _WIRE / "cryptofeed" / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    with path.open() as lines:
        for line in lines:
            time, _, text = line.partition(": ")
            if time.replace(".", "").isdigit():
                yield json.loads(text)


def answer(name: str) -> Any:
    """Return one recorded answer. Skips the test if it is absent."""
    path = _WIRE / "xchange" / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return json.loads(path.read_text())


def shape(message: object) -> object:
    """Return the names and kinds of what is in a message, of a list by its first element."""
    if isinstance(message, dict):
        return {name: shape(value) for name, value in message.items()}
    if isinstance(message, list):
        return [shape(message[0])] if message else []
    return "number" if isinstance(message, (int, float)) and not isinstance(message, bool) else type(message).__name__


def has_shape(message: object, expected: object) -> bool:
    """Return whether it has all that `expected` has, and of the same kind; more may be there."""
    if isinstance(expected, dict):
        return isinstance(message, dict) and all(
            name in message and has_shape(message[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(message, list) and (not message or not expected or has_shape(message[0], expected[0]))
    return shape(message) == shape(expected)
