"""What a person who writes a stream app looks up: streams, functions, windows, words of the language, and whole apps.

Read from the documentation and the shipped apps themselves, by links in this folder, so that nothing is written
twice; tests hold these pages to the engine.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path

from store.records.apps import description_of
from ui.rows.app_language import (
    AppAnnotationRow,
    AppColumnRow,
    AppFunctionRow,
    AppLanguageRow,
    AppStreamRow,
    AppTemplateRow,
    AppWindowRow,
)

FOLDER = Path(__file__).parent
TYPES = ("string", "int", "long", "float", "double", "decimal", "bool", "object")
FIRST_APP = "spread-widening"
"""The template that stands at the top."""
_calls = re.compile(r"`(#?[\w:]+)(\([^`]*\))`").findall
_columns = re.compile(r"`([\w ]+)` (\w+)").findall
_link = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_keyword = re.compile(r"^\w+\.2: /(\w+)[^/]*/i$", re.MULTILINE).findall


@cache
def app_language() -> AppLanguageRow:
    """Return the language as the editor needs it; read once, since it is a part of the program."""
    return {
        "streams": list(_streams("Streams of the product")),
        "actions": list(_streams("Apps that change settings")),
        "functions": [*_functions(), *_aggregators()],
        "windows": list(_windows()),
        "annotations": list(_annotations()),
        "keywords": [word for word in _keyword(_text("grammar.lark")) if word not in TYPES],
        "types": list(TYPES),
        "templates": sorted(_templates(), key=lambda one: (one["name"] != FIRST_APP, one["name"])),
    }


def _text(name: str) -> str:
    return (FOLDER / name).read_text()


def _rows(page: str, heading: str = "") -> Iterator[list[str]]:
    """Yield the cells of the tables below a heading, or of the page's beginning, without headings and links."""
    lines: Iterator[str] = iter(_text(page).splitlines())
    if heading:
        lines = dropwhile(lambda line: line != f"## {heading}", lines)
        next(lines)
    for line in takewhile(lambda line: not line.startswith("## "), lines):
        if line.startswith("|") and "`" in line:
            yield [_link.sub(r"\1", cell).strip() for cell in line.strip("|").split(" | ")]


def _streams(heading: str) -> Iterator[AppStreamRow]:
    for name, description, columns in _rows("running.md", heading):
        yield {"name": name.strip("`"), "description": _plain(description), "columns": list(_typed(columns))}


def _typed(cell: str) -> Iterator[AppColumnRow]:
    for names, kind in _columns(cell):
        for name in names.split():
            yield {"name": name, "type": kind}


def _functions() -> Iterator[AppFunctionRow]:
    for row in _all_rows("functions.md"):
        if len(row) == 5:
            ((name, arguments),) = _calls(row[0])
            yield _function(name, arguments, row[1], row[2], row[3])


def _aggregators() -> Iterator[AppFunctionRow]:
    """Yield aggregators, and functions of a stream: their names begin with `#`."""
    for row in _all_rows("functions.md"):
        if len(row) in (3, 4):
            for name, arguments in _calls(row[0]):
                is_stream_function = name.startswith("#")
                kind = "rows" if is_stream_function else row[1]
                yield _function(name, arguments, kind, row[1] if is_stream_function else row[2], "")


def _all_rows(page: str) -> Iterator[list[str]]:
    for line in _text(page).splitlines():
        if line.startswith("| `"):
            yield [_link.sub(r"\1", cell).strip() for cell in line.strip("|").split(" | ")]


def _function(name: str, arguments: str, gives: str, description: str, example: str) -> AppFunctionRow:
    return {
        "name": name,
        "arguments": arguments,
        "gives": gives,
        "description": _plain(description),
        "example": _plain(example),
    }


def _windows() -> Iterator[AppWindowRow]:
    """Yield each window with its name in both spellings. A row with several names has them in the same order."""
    for row in _rows("windows.md"):
        if len(row) < 3:
            continue
        for (name, arguments), worker in zip(_calls(row[1]), _worker_names(row[2], len(_calls(row[1]))), strict=True):
            yield {"name": name, "worker_name": worker, "arguments": arguments, "description": _plain(row[0])}


def _worker_names(cell: str, wanted: int) -> list[str]:
    names = [name for name, _ in _calls(cell)]
    return names or [""] * wanted


def _annotations() -> Iterator[AppAnnotationRow]:
    for written, place, means in _rows("language.md", "Annotations"):
        for one in re.findall(r"`(@[^`]+)`", written):
            yield {"text": one, "place": place, "description": _plain(means)}


def _templates() -> Iterator[AppTemplateRow]:
    for file in (FOLDER / "templates").glob("*.app"):
        text = file.read_text()
        cases = file.with_suffix(".jsonl")
        yield {
            "name": file.stem,
            "description": description_of(text),
            "text": text,
            "cases": cases.read_text() if cases.exists() else "",
        }


def _plain(cell: str) -> str:
    return cell.replace("`", "")
