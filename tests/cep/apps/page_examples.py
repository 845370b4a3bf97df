"""Examples of the pages in `docs/apps/`: apps, rows that go in, and the rows that come out.

A block `sql` is an app. A block `rows` behind one block or several, which are then spellings of one app, has lines

    1000  Trades  "BTC", 100.0, 5          a row goes in: time in milliseconds, stream, values as in JSON
    -> 1000  Busy  "BTC", 3                a row that came out of what is above it
    2000                                   the clock moves on
    ? from Held select symbol              an on-demand query; its answer is in lines `= "BTC"`

A block `error` says what the app is refused with.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cep.apps.engine.app_cases import same_values
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.app_parser import parse_on_demand
from cep.apps.language.errors import AppTextError
from cep.apps.language.stream_names import output_streams

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INPUT = re.compile(r"(\d+)(?:\s+(\w+)(?:\s+(.*))?)?")
OUTPUT = re.compile(r"->\s+(\d+)\s+(\S+)\s+(.*)")
DECIMALS = 6
"""Decimals of a number in a page."""


@dataclass(frozen=True)
class DocumentedApp:
    """Spellings of one app, with what is said of it; `line` of the page where the last block begins."""

    page: str
    line: int
    texts: tuple[str, ...]
    rows: str | None = None
    error: str | None = None


def documented_apps(page: Path) -> Iterator[DocumentedApp]:
    """Every app of the page, in order."""
    text, apps = page.read_text(), list[str]()
    begins = 0
    for block in BLOCK.finditer(text):
        kind, content = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        if apps and "\n#" in text[begins : block.start()]:
            # another section: the apps before have no rows
            yield DocumentedApp(page.name, line, tuple(apps))
            apps = []
        if kind == "sql":
            apps.append(content)
            begins = block.end()
        elif kind in ("rows", "error"):
            of_rows, of_error = (content, None) if kind == "rows" else (None, content)
            yield DocumentedApp(page.name, line, tuple(apps), of_rows, of_error)
            apps = []
    if apps:
        yield DocumentedApp(page.name, text.count("\n"), tuple(apps))


def refusal(text: str, terms: OperatorTerms | None = None) -> str:
    """Return the sentence with which the app is refused; empty if it is an app."""
    try:
        StreamEngine(parse_with_product_streams(text), terms=terms)
    except AppTextError as error:
        return str(error)
    return ""


def ran(text: str, rows: str, terms: OperatorTerms | None = None) -> str:
    """Return the block of rows as the app gives it: lines of input as they are, with what came out of each below it."""
    app = parse_with_product_streams(text)
    engine = StreamEngine(app, terms=terms)
    came = list[str]()
    for stream in output_streams(app):
        engine.listen(stream, partial(_note, came, stream))
    out = list[str]()
    for line in _inputs(rows):
        came.clear()
        _send(engine, line, came)
        out += [line, *came]
    return "\n".join(out) + "\n"


def same_rows(mine: str, theirs: str) -> bool:
    """Whether both blocks say the same, but for spaces and the last digits of numbers."""
    one, two = ([_parsed(line) for line in rows.splitlines() if line.strip()] for rows in (mine, theirs))
    return same_values(one, two)


def _inputs(rows: str) -> Iterator[str]:
    return (line.rstrip() for line in rows.splitlines() if line.strip() and not line.startswith(("->", "=")))


def _send(engine: StreamEngine, line: str, came: list[str]) -> None:
    if line.startswith("?"):
        came += [f"= {_written(row)}" for row in engine.data.ask(parse_on_demand(line.removeprefix("?"))).rows]
        return
    found = INPUT.fullmatch(line)
    assert found is not None, line
    at, stream, values = found.groups()
    if stream is None:
        engine.advance(int(at))
    else:
        engine.send(stream, int(at), tuple(json.loads(f"[{values or ''}]")))
    engine.amounts.check()


def _parsed(line: str) -> list[Any]:
    output = OUTPUT.fullmatch(line.strip())
    if output is not None:
        return ["->", int(output[1]), output[2], json.loads(f"[{output[3]}]")]
    return ["=", json.loads(f"[{line[1:]}]")] if line.startswith("=") else [" ".join(line.split())]


def _note(came: list[str], stream: str, at: int, row: tuple[Any, ...]) -> None:
    came.append(f"-> {at}  {stream}  {_written(row)}")


def _written(row: tuple[Any, ...]) -> str:
    return ", ".join(json.dumps(plain(value), default=str) for value in row)


def plain(value: Any) -> Any:
    """As a page has it."""
    if isinstance(value, float):
        return round(value, DECIMALS)
    return sorted(value) if isinstance(value, frozenset) else value
