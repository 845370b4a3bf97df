"""One REST endpoint of OKX: its parameters and its handler; and how fields and pages are read."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, takewhile
from typing import TypeVar

import orjson

from simulators.matching.listings import Listing
from simulators.matching.order_records import CodedError, RequestRejectedError
from simulators.web.exchange_gateway import json_fields, listing_named
from simulators.web.request_fields import Fields, optional_field, plain_number

Rows = Sequence[Mapping[str, object] | list[str]]
"""Objects; candles are lists."""
Item = TypeVar("Item")
INSTRUMENT_TYPES = ("SPOT", "MARGIN", "SWAP", "FUTURES", "OPTION", "EVENTS")
_COUNT = re.compile(r"[0-9]{1,19}", re.ASCII)
_MOST_IN_BATCH = 20


@dataclass(frozen=True, slots=True)
class OkxEndpoint:
    method: str
    path: str
    answer: Callable[[Fields], Rows]
    known: frozenset[str] = frozenset()
    is_of_orders: bool = False
    """Whether it is about single orders, which are counted by their instrument."""
    is_batch: bool = False
    """Whether its body is a list of orders."""

    def answered(self, sent: Sequence[Fields]) -> Rows:
        """Return the rows of the answer to the fields of a request, of each order of a batch. Raises
        RequestRejectedError for a parameter that the endpoint does not read: the real exchange ignores it."""
        for fields in sent:
            for name in fields:
                if name not in self.known:
                    raise RequestRejectedError("invalid_request", name)
        return [row for fields in sent for row in self.answer(fields)]

    def read(self, body: str) -> list[Fields]:
        """Return the orders of a body. Raises RequestRejectedError."""
        if not self.is_batch:
            return [json_fields(body)]
        try:
            rows = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise CodedError("50002", "JSON syntax error", 400) from error
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise CodedError("50002", "JSON syntax error", 400)
        if len(rows) > _MOST_IN_BATCH:
            raise CodedError("51111", f"Maximum {_MOST_IN_BATCH} orders can be placed in bulk", 400)
        return rows


def known(*names: str) -> frozenset[str]:
    return frozenset(names)


def needed_field(fields: Fields, name: str) -> str:
    """Return the text. Raises RequestRejectedError if it is missing."""
    value = optional_field(fields, name)
    if value is None:
        raise CodedError("50014", f"Parameter {name} cannot be empty.", 400)
    return value


def is_spot(fields: Fields, *, needs_it: bool) -> bool:
    """Return whether it is about spot; of nothing else there is anything here. Raises RequestRejectedError."""
    kind = needed_field(fields, "instType") if needs_it else optional_field(fields, "instType") or "SPOT"
    if kind not in INSTRUMENT_TYPES:
        raise RequestRejectedError("invalid_request", "instType")
    return kind == "SPOT"


def listing_field(fields: Fields, listings: Mapping[str, Listing]) -> Listing:
    """Return the market that `instId` names. Raises RequestRejectedError."""
    return listing_named(listings, needed_field(fields, "instId"))


def integer_field(fields: Fields, name: str) -> int | None:
    """Return the number; None if it is missing. Raises RequestRejectedError."""
    text = optional_field(fields, name)
    if text is not None and not _COUNT.fullmatch(text):
        raise RequestRejectedError("invalid_request", name)
    return None if text is None else int(text)


def limit_field(fields: Fields, default: int, most: int, name: str = "limit") -> int:
    """Return how many rows are wanted: no more than `most`, as documented. Raises RequestRejectedError."""
    limit = integer_field(fields, name)
    if limit == 0:
        raise RequestRejectedError("invalid_request", name)
    return min(default if limit is None else limit, most)


def number_field(fields: Fields, name: str) -> Decimal:
    """Return a positive number. Raises RequestRejectedError."""
    text = needed_field(fields, name)
    number = plain_number(text)
    if not number:
        raise RequestRejectedError("invalid_request", name)
    return number


def page_of(
    newest: Iterable[Item], fields: Fields, number: Callable[[Item], int], default: int, most: int
) -> list[Item]:
    """Return the newest rows that are older than `after` and newer than `before`, newest first; `number` falls from
    item to item."""
    after, before = integer_field(fields, "after"), integer_field(fields, "before")
    found = (item for item in newest if after is None or number(item) < after)
    newer = takewhile(lambda item: before is None or number(item) > before, found)
    return list(islice(newer, limit_field(fields, default, most)))
