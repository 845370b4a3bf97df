"""One REST endpoint of Bybit: its parameters and its handler; and how fields and pages are read."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import TypeVar

from simulators.matching.listings import Listing
from simulators.matching.order_records import CodedError, RequestRejectedError
from simulators.web.exchange_gateway import listing_named, text_field
from simulators.web.request_fields import Fields, optional_field, plain_number

Item = TypeVar("Item")
CATEGORIES = ("spot", "linear", "inverse", "option")
_COUNT = re.compile(r"[0-9]{1,16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BybitEndpoint:
    method: str
    path: str
    answer: Callable[[Fields], object]
    known: frozenset[str] = frozenset()

    def check(self, fields: Fields) -> None:
        """Raise RequestRejectedError for a parameter that the endpoint does not read: the real exchange ignores it."""
        for name in fields:
            if name not in self.known:
                raise RequestRejectedError("invalid_request", f"{name} is not simulated")


def fields_named(*names: str) -> frozenset[str]:
    return frozenset(("category", *names))


def check_spot(fields: Fields) -> None:
    """Raise RequestRejectedError unless it is about spot."""
    if category_field(fields) != "spot":
        raise RequestRejectedError("invalid_request", "only spot is simulated")


def category_field(fields: Fields) -> str:
    category = text_field(fields, "category")
    if category not in CATEGORIES:
        raise RequestRejectedError("invalid_request", "Illegal category")
    return category


def listing_field(fields: Fields, listings: Mapping[str, Listing]) -> Listing:
    """Return the market that `symbol` names. Raises RequestRejectedError."""
    return listing_named(listings, text_field(fields, "symbol"))


def integer_field(fields: Fields, name: str, default: int) -> int:
    text = optional_field(fields, name)
    if text is None:
        return default
    if not _COUNT.fullmatch(text):
        raise RequestRejectedError("invalid_request", f"{name} is invalid")
    return int(text)


def limit_field(fields: Fields, default: int, most: int) -> int:
    limit = integer_field(fields, "limit", default)
    if not 1 <= limit <= most:
        raise RequestRejectedError("invalid_request", f"limit is not in [1, {most}]")
    return limit


def number_field(fields: Fields, name: str) -> Decimal:
    """Return a positive number. Raises RequestRejectedError."""
    text = text_field(fields, name)
    number = plain_number(text)
    if not number:
        raise CodedError(170130, f"Data sent for parameter '{name}' is not valid.")
    return number


def page_of(
    newest: Iterable[Item], fields: Fields, number: Callable[[Item], int], default: int, most: int
) -> tuple[list[Item], str]:
    """Return a page and the cursor of the next one, which the last page has too if it is not empty; `number` falls
    from item to item."""
    limit, before = limit_field(fields, default, most), integer_field(fields, "cursor", 0)
    left = (item for item in newest if not before or number(item) < before)
    rows = list(islice(left, limit))
    return rows, str(number(rows[-1])) if rows else ""
