"""One REST endpoint of Binance: its parameters, its weight and its handler."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal

import orjson

from simulators.binance.rejections import MisusedError
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import RequestRejectedError

Fields = Mapping[str, str]
SIGNED_FIELDS = frozenset(("timestamp", "recvWindow", "signature"))
_LONGEST_LIST = 1_000
_COUNT = re.compile(r"[0-9]{1,20}")
_UNITS = {"MILLISECOND": 1_000, "MICROSECOND": 1, "": 1_000}
_UNIT: ContextVar[int] = ContextVar("unit", default=1_000)
"""Microseconds in one unit of the times in answers."""
_FEWEST_MICROSECONDS = 10**14
"""A time since 1970 that is not smaller is in microseconds."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str
    weight: int
    answer: Callable[[Fields], object]
    known: frozenset[str] = frozenset()
    is_order: bool = False
    """Whether it counts as a new order."""
    heavier: tuple[tuple[int, int], ...] = ()
    """(limit, weight): the weight if more than `limit` rows are requested."""
    of_the_account: int = 0
    """The weight in the limit that each account has of this path for itself (UID); 0: `weight` counts, by address."""
    weigh_fields: Callable[[Fields], int] | None = None
    """The weight of a request whose other fields decide."""

    def weigh(self, fields: Fields) -> int:
        if self.weigh_fields is not None:
            return self.weigh_fields(fields)
        limit = fields.get("limit", "")
        weights = [weight for above, weight in self.heavier if _COUNT.fullmatch(limit) and int(limit) > above]
        return max([self.weight, *weights])

    def check(self, fields: Fields, is_signed: bool) -> None:
        """Raise RequestRejectedError for a parameter that the endpoint does not read."""
        read = self.known | SIGNED_FIELDS if is_signed else self.known
        if unread := fields.keys() - read:
            raise MisusedError(
                -1104,
                f"Not all sent parameters were read; read '{len(fields) - len(unread)}' parameter(s) "
                f"but was sent '{len(fields)}'.",
            )


def rounded(number: Decimal, digits: int) -> str:
    return format(number.quantize(Decimal(1).scaleb(-digits)), "f")


def eight_decimals(number: Decimal) -> str:
    """Return the number with eight digits, as all prices and amounts have."""
    return fixed_text(number, 8)


def integer_field(fields: Fields, name: str, default: int) -> int:
    text = fields.get(name)
    if text is None:
        return default
    if not _COUNT.fullmatch(text):
        raise MisusedError(-1100, f"Illegal characters found in parameter '{name}'; legal range is '^[0-9]{{1,20}}$'.")
    return int(text)


def limit_field(fields: Fields, default: int, longest: int = _LONGEST_LIST) -> int:
    return min(longest, max(1, integer_field(fields, "limit", default)))


def symbol_field(fields: Fields, listings: Mapping[str, Listing]) -> Listing:
    """Return the market that `symbol` names. Raises RequestRejectedError."""
    name = fields.get("symbol")
    if not name:
        raise RequestRejectedError("invalid_request", "symbol")
    if name not in listings:
        raise RequestRejectedError("unknown_market", name)
    return listings[name]


def symbols_field(fields: Fields) -> list[str] | None:
    """Return what `symbol` or `symbols` names, a list such as ["BTCUSDT","ETHUSDT"]; None if all are meant.

    Raises RequestRejectedError.
    """
    if "symbol" in fields and "symbols" in fields:
        raise MisusedError(-1128, "Combination of optional parameters invalid.")
    if "symbols" not in fields:
        return [fields["symbol"]] if "symbol" in fields else None
    try:
        names = orjson.loads(fields["symbols"])
    except orjson.JSONDecodeError:
        names = None
    if not isinstance(names, list):
        raise RequestRejectedError("invalid_request", "symbols")
    return [str(name) for name in names]


def timestamp(micros: int) -> int:
    """Return the time in the unit that the request, or the connection, asked for."""
    return micros // _UNIT.get()


def shutdown_event(now: int) -> dict[str, object]:
    """Return the event of WebSocket Streams, Server shutdown; WebSocket API, Connection events."""
    return {"e": "serverShutdown", "E": timestamp(now)}


@contextmanager
def time_unit(asked: str) -> Iterator[None]:
    """Give times within the block in this unit: MICROSECOND, or milliseconds.

    Raises RequestRejectedError for any other. https://developers.binance.com/docs/binance-spot-api-docs/rest-api,
    General API information: X-MBX-TIME-UNIT
    """
    if asked.upper() not in _UNITS:
        raise MisusedError(-1130, "Data sent for parameter 'X-MBX-TIME-UNIT' is not valid.")
    token = _UNIT.set(_UNITS[asked.upper()])
    try:
        yield
    finally:
        _UNIT.reset(token)


def time_field(fields: Fields, name: str, default: int) -> int:
    """Return microseconds; clients send those or milliseconds."""
    sent = integer_field(fields, name, -1)
    if sent < 0:
        return default
    return sent if sent >= _FEWEST_MICROSECONDS else sent * 1_000


def until_field(fields: Fields, name: str, default: int) -> int:
    """Return the last microsecond that is meant: a whole millisecond is included."""
    sent = integer_field(fields, name, -1)
    if sent < 0:
        return default
    return sent if sent >= _FEWEST_MICROSECONDS else sent * 1_000 + 999
