"""Payload templates: a text with `{{column}}` in it. What stands for a column is escaped as its place needs it."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_HOLE = re.compile(r"\{\{\{\s*(\w+)\s*\}\}\}|\{\{\s*(\w+)\s*\}\}")
_LEFT = re.compile(r"\{\{\s*\w")
"""Two braces before a word that are no hole."""


@dataclass(frozen=True, slots=True)
class PayloadTemplate:
    """`texts`: around and between the columns, one more than there are `columns`."""

    texts: tuple[str, ...]
    columns: tuple[str, ...]

    def filled(self, values: Mapping[str, Any], written: Callable[[Any], str]) -> str:
        """`written`: a value as it stands there."""
        parts = [self.texts[0]]
        for column, text in zip(self.columns, self.texts[1:], strict=True):
            parts += (written(values.get(column)), text)
        return "".join(parts)


def template(text: str, columns: Iterable[str]) -> PayloadTemplate:
    """Return the template of a text. Raises ValueError if it names another column."""
    texts, named, end = [], [], 0
    for hole in _HOLE.finditer(text):
        texts.append(text[end : hole.start()])
        named.append(hole[1] or hole[2])
        end = hole.end()
    texts.append(text[end:])
    known = set(columns)
    other = next((one for one in named if one not in known), None)
    if other is not None:
        raise ValueError(f"@payload names {other!r}, which is no column")
    if any(_LEFT.search(one) for one in texts):
        raise ValueError("@payload: write a column as {{name}}")
    return PayloadTemplate(tuple(texts), tuple(named))
