"""Parsing of frames: JSON whose numbers keep their digits, and checked fields.

Everything here raises FrameRejectedError "malformed", and nothing else, for unexpected data.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import orjson

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from market.money import Amount, Price, written_decimal
from market.prices.quotes import Level

Fields = Mapping[str, object]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SHOWN = 200
REST_LEVELS = 100
"""Levels parsed per side, best first, of a REST book that is only compared. Some have tens of thousands: parsing all of
them several times within the staleness limit would block the feeds."""
_is_count = re.compile(r"[0-9]{1,18}", re.ASCII).fullmatch


def malformed(detail: str) -> FrameRejectedError:
    return FrameRejectedError("malformed", detail[:_SHOWN])


def fields_of(frame: str | bytes) -> Fields:
    """Return a JSON object of an exchange that writes prices and amounts as text."""
    try:
        return as_fields(orjson.loads(frame))
    except orjson.JSONDecodeError as error:
        raise malformed(f"not JSON: {error}") from error


def exact_fields_of(frame: str | bytes) -> Fields:
    """Return a JSON object with each number as the text that the exchange wrote, so that no digit is lost."""
    return as_fields(exact_json(frame))


def exact_json(frame: str | bytes) -> object:
    try:
        text = frame if isinstance(frame, str) else frame.decode()
        parsed: object = _EXACT.decode(text)
    except (ValueError, RecursionError) as error:
        raise malformed(f"not JSON: {error}") from error
    return parsed


def as_fields(value: object) -> Fields:
    if not isinstance(value, dict):
        raise malformed(f"not an object: {value!r}")
    return value


def as_rows(value: object) -> list[object]:
    if not isinstance(value, list):
        raise malformed(f"not a list: {value!r}")
    return value


def text_in(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise malformed(f"{name} is not a text: {value!r}")
    return value


def count_in(fields: Fields, name: str) -> int:
    """Return a whole number from 0 up, below 10^18, written as a number or as text."""
    value = fields.get(name)
    if type(value) is int and 0 <= value < 10**18:
        return value
    if isinstance(value, str) and _is_count(value):
        return int(value)
    raise malformed(f"{name} is not a count: {value!r}")


def level_of(price: object, amount: object) -> Level:
    """Return a level from texts without a sign. The amount may be 0: the level was removed."""
    if not isinstance(price, str) or not isinstance(amount, str):
        raise malformed(f"not a level: {price!r} {amount!r}")
    try:
        level = Level(Price(written_decimal(price)), Amount(written_decimal(amount)))
    except ValueError as error:
        raise malformed(f"not a level: {error}") from error
    if not level.price:
        raise malformed(f"not a price: {price!r}")
    return level


def levels_in(fields: Fields, name: str) -> list[Level]:
    """Levels from `[[price, amount, …], …]` texts; anything behind the first two is ignored."""
    return [_level_of_row(row) for row in as_rows(fields.get(name))]


def best_levels_in(fields: Fields, name: str) -> list[Level]:
    """As `levels_in`, but of the first REST_LEVELS rows alone."""
    return [_level_of_row(row) for row in as_rows(fields.get(name))[:REST_LEVELS]]


def named_levels_in(fields: Fields, name: str, price: str, amount: str) -> list[Level]:
    """Levels from `[{price: …, amount: …}, …]`, by the exchange's own names of the fields."""
    rows = map(as_fields, as_rows(fields.get(name)))
    return [level_of(row.get(price), row.get(amount)) for row in rows]


def micros_of_iso(text: str) -> int:
    """Microseconds UTC of an ISO time with its zone."""
    try:
        return (datetime.fromisoformat(text) - _EPOCH) // _MICROSECOND
    except (ValueError, TypeError, OverflowError) as error:
        raise malformed(f"not a time: {text!r}") from error


def exchange_error(exchange: str, text: str, final_words: Iterable[str]) -> FeedDroppedError | FeedRejectedError:
    """Return the feed error for an exchange's error text: final if it contains any of the lower-case
    `final_words`."""
    lowered = text.lower()
    if any(word in lowered for word in final_words):
        return FeedRejectedError(f"{exchange} rejected: {text[:200]}")
    return FeedDroppedError(f"{exchange} error: {text[:200]}")


def _level_of_row(row: object) -> Level:
    if not isinstance(row, list) or len(row) < 2:
        raise malformed(f"not a level: {row!r}")
    return level_of(row[0], row[1])


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


_EXACT = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_reject_constant)
