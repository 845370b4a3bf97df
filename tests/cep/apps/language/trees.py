"""Trees without their places, to compare what texts say; and the shared conformance cases, if they are there."""

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from cep.apps.language.app_parser import parse_app
from cep.apps.language.app_tree import Definition, PartitionBlock, Query, StreamInput
from cep.apps.language.expression_tree import Expression, Place

NOWHERE = Place(0, 0)
CASE_FILES = ("cases.jsonl", "hand_written_cases.jsonl")


def unplaced(node: Any) -> Any:
    if isinstance(node, Place):
        return NOWHERE
    if isinstance(node, tuple):
        return tuple(unplaced(part) for part in node)
    if is_dataclass(node) and not isinstance(node, type):
        return replace(node, **{field.name: unplaced(getattr(node, field.name)) for field in fields(node)})
    return node


def definition(text: str) -> Definition:
    (only,) = parse_app(text).definitions
    return unplaced(only)  # type: ignore[no-any-return]


def element(text: str) -> Query | PartitionBlock:
    (only,) = parse_app(text).elements
    return unplaced(only)  # type: ignore[no-any-return]


def query(text: str) -> Query:
    found = element(text)
    assert isinstance(found, Query)
    return found


def condition(text: str) -> Expression:
    """Return the expression, read as a filter."""
    read = query(f"from S[{text}] insert into O").input
    assert isinstance(read, StreamInput)
    (handler,) = read.handlers
    return handler.condition  # type: ignore[union-attr]


def conformance_folder() -> Path | None:
    """Beside the checkout; it belongs to no repository."""
    above = (folder / "shared" / "conformance" for folder in Path(__file__).parents)
    return next((folder for folder in above if (folder / CASE_FILES[0]).exists()), None)


def conformance_cases() -> Iterator[dict[str, Any]]:
    folder = conformance_folder()
    for name in CASE_FILES if folder else ():
        assert folder is not None
        with (folder / name).open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines)
