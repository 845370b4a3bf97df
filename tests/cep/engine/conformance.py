"""Runs a conformance case in the engine and compares its rows with the oracle's."""

import math
from collections.abc import Sequence
from typing import Any

from cep.engine.chunks import CURRENT, EXPIRED, Chunk
from cep.engine.stream_engine import StreamEngine
from cep.language.app_parser import parse_app
from cep.language.expression_tree import Place
from cep.language.language_errors import AppUnsupportedError

Case = dict[str, Any]
Rows = dict[str, list[list[Any]]]
RELATIVE = 1e-6
"""A float has 32 bits."""


def family_of(case: Case) -> str:
    return str(case["id"].split("/")[0])


def engine_rows(case: Case) -> tuple[Rows, Rows]:
    """Rows of each watched stream as `[time, values]`, and chunks of each watched query as the oracle writes them."""
    engine = StreamEngine(parse_app(case["app"]))
    if case.get("on_demand"):
        raise AppUnsupportedError(Place(1, 1), "on-demand queries are not supported yet")
    streams: Rows = {name: [] for name in case["outputs"]}
    queries: Rows = {name: [] for name in case["queries"]}
    for stream in streams:
        engine.listen(stream, lambda at, row, into=streams[stream]: into.append([at, list(row)]))  # type: ignore[misc]
    for name in queries:
        engine.listen_to_query(name, lambda chunk, name=name: queries[name].append(_told(name, chunk)))  # type: ignore[misc]
    for at, stream, values in case["events"]:
        if stream is not None:
            engine.send(stream, at, tuple(values))
    return streams, queries


def differences(case: Case) -> list[str]:
    """What differs from the oracle; nothing where all is equal."""
    streams, queries = engine_rows(case)
    told: Rows = {name: [] for name in streams}
    for stream, at, _, values in case["expected"].get("out", []):
        told[stream].append([at, values])
    found = [one for name in streams for one in _different(name, streams[name], told[name], case)]
    if case.get("times") is not False:
        expected = [chunk for chunk in case["expected"].get("query", []) if chunk[2] or chunk[3]]
        for name, chunks in queries.items():
            with_rows = [chunk for chunk in chunks if chunk[2] or chunk[3]]
            found += _different(f"query {name}", with_rows, [one for one in expected if one[0] == name], case)
    return found


def _told(name: str, chunk: Chunk) -> list[Any]:
    def rows(kind: int) -> list[Any] | None:
        return [[at, kind == EXPIRED, list(row)] for one, at, row in chunk if one == kind] or None

    return [name, chunk[-1][1] if chunk else None, rows(CURRENT), rows(EXPIRED)]


def _different(name: str, got: Sequence[Any], wanted: Sequence[Any], case: Case) -> list[str]:
    if case.get("times") is False:
        got, wanted = [row[1] for row in got], [row[1] for row in wanted]
    if case.get("compare") == "set":
        got, wanted = sorted(got, key=repr), sorted(wanted, key=repr)
    for place, (mine, theirs) in enumerate(zip(got, wanted, strict=False)):
        if not same(mine, theirs):
            return [f"{name}[{place}]: {mine} is not {theirs}"]
    if len(got) != len(wanted):
        longer, how = (got, "too many") if len(got) > len(wanted) else (wanted, "missing")
        return [f"{name}: {abs(len(got) - len(wanted))} {how}, first {longer[min(len(got), len(wanted))]}"]
    return []


def same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, tuple | list) and isinstance(theirs, tuple | list):
        return len(mine) == len(theirs) and all(same(one, two) for one, two in zip(mine, theirs, strict=True))
    if isinstance(mine, bool) or isinstance(theirs, bool) or not isinstance(mine, float | int):
        return mine is theirs or (type(mine) is type(theirs) and mine == theirs)
    if not isinstance(theirs, float | int):
        return False
    if isinstance(mine, int) and isinstance(theirs, int):
        return mine == theirs
    return (math.isnan(mine) and math.isnan(theirs)) or math.isclose(mine, theirs, rel_tol=RELATIVE, abs_tol=1e-9)
