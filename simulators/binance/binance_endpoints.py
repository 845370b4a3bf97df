"""One REST endpoint of Binance: its parameters, its weight and its handler."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from market.time_units import MICROSECONDS
from simulators.binance.binance_rejections import MisusedError
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_records import RequestRejectedError

Fields = Mapping[str, str]
SIGNED_FIELDS = frozenset(("timestamp", "recvWindow", "signature"))
_LONGEST_LIST = 1_000
_COUNT = re.compile(r"[0-9]{1,20}")


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
    """(limit, weight): the weight where more than `limit` rows are requested."""

    def weigh(self, fields: Fields) -> int:
        limit = fields.get("limit", "")
        weights = [weight for above, weight in self.heavier if _COUNT.fullmatch(limit) and int(limit) > above]
        return max([self.weight, *weights])

    def check(self, fields: Fields, is_signed: bool) -> None:
        """Raises RequestRejectedError for a parameter that the endpoint does not read."""
        read = self.known | SIGNED_FIELDS if is_signed else self.known
        if unread := fields.keys() - read:
            raise MisusedError(
                -1104,
                f"Not all sent parameters were read; read '{len(fields) - len(unread)}' parameter(s) "
                f"but was sent '{len(fields)}'.",
            )


class Allowance:
    """A limit per window of some seconds; windows start with the clock, not with the first request."""

    def __init__(self, limit: int, seconds: int, counts: str = "") -> None:
        """`counts`: what is counted, as the rejection has to say it."""
        self._limit = limit
        self._counts = counts
        self._micros = seconds * MICROSECONDS
        self._window = 0
        self._used = 0
        self.is_lifted = False

    def take(self, amount: int, now: int) -> int:
        """Count a use. Raises RequestRejectedError beyond the limit."""
        window = now // self._micros
        if window != self._window:
            self._window, self._used = window, 0
        self._used += amount
        if self._used > self._limit and not self.is_lifted:
            raise RequestRejectedError("rate_limited", self._counts)
        return self._used

    def seconds_left(self, now: int) -> int:
        """Until the next window begins, rounded up."""
        return -((now % self._micros - self._micros) // MICROSECONDS)


def eight(number: Decimal) -> str:
    """Prices and amounts all have eight digits."""
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
    """The market that `symbol` names. Raises RequestRejectedError."""
    name = fields.get("symbol")
    if not name:
        raise RequestRejectedError("invalid_request", "symbol")
    if name not in listings:
        raise RequestRejectedError("unknown_market", name)
    return listings[name]


def milliseconds(micros: int) -> int:
    return micros // 1_000
