"""How one exchange's connection carries the streams of many symbols: what a message is about, and how one is ended."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from exchanges.credentials import Credentials
from market.instruments.markets import Market


@dataclass(frozen=True, slots=True)
class StreamSharing:
    """What sharing a connection needs of an exchange."""

    pattern: re.Pattern[bytes]
    """Its first group is the stream's name in a message. It is searched for, since parsing every message a second time
    would cost as much as reading it."""
    stream_name: Callable[[Market], str]
    leave: Callable[[Market, Credentials | None], list[str]]
    """The requests that end a symbol's subscription."""
    symbols: int
    """In one connection."""
    symbols_field: tuple[str, ...] = ()
    """Path of the list of symbols in a request; empty if a request has one symbol."""
    seconds_between_requests: float = 0.0
    number: re.Pattern[bytes] | None = None
    """Its first group is the number that a message has in its connection, one more than the last one's, whatever the
    messages are about; None if they have none."""

    def stream_in(self, frame: bytes) -> str | None:
        """None if the message names no stream."""
        found = self.pattern.search(frame)
        return None if found is None else found[1].decode(errors="replace")

    def number_in(self, frame: bytes) -> int | None:
        """None if the message has none."""
        found = None if self.number is None else self.number.search(frame)
        return None if found is None else int(found[1])


def merged_requests(requests: Iterable[str], symbols_field: tuple[str, ...]) -> list[str]:
    """Request that differ in nothing but their symbols become one, in order."""
    if not symbols_field:
        return list(requests)
    symbols: dict[bytes, list[object]] = {}
    for request in requests:
        fields = orjson.loads(request)
        rows = _parent(fields, symbols_field)[symbols_field[-1]]
        _parent(fields, symbols_field)[symbols_field[-1]] = []
        symbols.setdefault(orjson.dumps(fields), []).extend(rows)
    return [_with_symbols(rest, symbols_field, rows) for rest, rows in symbols.items()]


def _with_symbols(request: bytes, symbols_field: tuple[str, ...], symbols: list[object]) -> str:
    fields = orjson.loads(request)
    _parent(fields, symbols_field)[symbols_field[-1]] = symbols
    return orjson.dumps(fields).decode()


def _parent(fields: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    for name in path[:-1]:
        fields = fields[name]
    return fields
