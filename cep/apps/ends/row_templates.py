"""Texts of an app's options with the values of a row in them: `/orders/{{symbol}}`. Pure."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class RowTemplate:
    """`parts`: a text, then in turn a column's name and a text."""

    parts: tuple[str, ...]

    @property
    def is_fixed(self) -> bool:
        return len(self.parts) == 1

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts[1::2]

    def filled(self, values: Mapping[str, Any], encoded: Callable[[str], str] = str) -> str:
        """Return the text; `encoded`: what is done to each value. A value that is null raises ValueError."""
        found = [part if number % 2 == 0 else encoded(_text(part, values)) for number, part in enumerate(self.parts)]
        return "".join(found)


def row_template(text: str, columns: Collection[str]) -> RowTemplate:
    """Raise ValueError, in one sentence, for a column that the stream does not have, and for other braces."""
    parts = _PLACE.split(text)
    odd = next((part for part in parts[::2] if "{{" in part or "}}" in part), None)
    if odd is not None:
        raise ValueError("write a column as {{name}}")
    strange = next((name for name in parts[1::2] if name not in columns), None)
    if strange is not None:
        raise ValueError(f"the stream has no column {strange!r}")
    return RowTemplate(tuple(parts))


def _text(name: str, values: Mapping[str, Any]) -> str:
    value = values.get(name)
    if value is None:
        raise ValueError(f"{name!r} is null")
    return value if isinstance(value, str) else orjson.dumps(value).decode()
