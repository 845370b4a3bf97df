"""Candles of one market, from its public trades."""

from collections import deque
from collections.abc import Iterable, Iterator, MutableSequence, Reversible
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import takewhile

from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.matching.order_records import PublicTrade

_MINUTE_SECONDS, _HOUR_SECONDS = 60, 3_600
_KEPT = 1_500
"""Minutes, and hours: more than any exchange lists at once."""


@dataclass(slots=True)
class Candle:
    """Prices in quote currency; `began` in microseconds. Without trades, `count` is 0 and prices are equal."""

    began: int
    open: Decimal
    high: Decimal
    low: Decimal
    close: Decimal
    volume: Decimal = ZERO
    """In base currency."""
    value: Decimal = ZERO
    """In quote currency."""
    bought: Decimal = ZERO
    """The part of `volume` whose takers bought."""
    bought_value: Decimal = ZERO
    count: int = 0
    first: int = -1
    """Number of the first trade."""
    last: int = -1

    @classmethod
    def of(cls, trade: PublicTrade) -> "Candle":
        price, amount, value = trade.price, trade.amount, trade.price * trade.amount
        bought = (amount, value) if trade.side == "buy" else (ZERO, ZERO)
        numbers = (trade.number, trade.number)
        return cls(trade.traded_at, price, price, price, price, amount, value, *bought, 1, *numbers)

    @property
    def average(self) -> Decimal:
        """Return the average weighted by volume; 0 if nothing was traded."""
        return self.value / self.volume if self.volume else ZERO

    def join(self, later: "Candle") -> None:
        self.high = max(self.high, later.high)
        self.low = min(self.low, later.low)
        self.close = later.close
        self.volume += later.volume
        self.value += later.value
        self.bought += later.bought
        self.bought_value += later.bought_value
        self.count += later.count
        self.last = later.last

    def flat_at(self, began: int) -> "Candle":
        """Return a later one in which nothing was traded."""
        return Candle(began, self.close, self.close, self.close, self.close)


@dataclass(frozen=True, slots=True)
class Interval:
    """The length of candles: so many seconds counted from 1970, or calendar months if `seconds` is 0."""

    seconds: int
    anchor: int = 0
    """When the first one of 1970 began, seconds: its first Monday is day 5."""

    def start(self, micros: int) -> int:
        """Return when the interval began that includes this time, microseconds."""
        if not self.seconds:
            day = datetime.fromtimestamp(micros // MICROSECONDS, UTC)
            return int(datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()) * MICROSECONDS
        length, anchor = self.seconds * MICROSECONDS, self.anchor * MICROSECONDS
        return (micros - anchor) // length * length + anchor

    def after(self, began: int) -> int:
        """Return when the interval begins that follows the one that began at `began`."""
        if self.seconds:
            return began + self.seconds * MICROSECONDS
        return self.start(began + timedelta(days=32) // timedelta(microseconds=1))


MONTH = Interval(0)
WEEK_FROM_MONDAY = Interval(7 * 86_400, anchor=4 * 86_400)
MINUTE, _HOUR = Interval(_MINUTE_SECONDS), Interval(_HOUR_SECONDS)


class Candles:
    """`trades`: the market's newest, oldest first; intervals shorter than a minute reach as far back as they do."""

    def __init__(self, trades: Reversible[PublicTrade]) -> None:
        self._trades = trades
        self._minutes = KeptCandles(MINUTE)
        self._hours = KeptCandles(_HOUR)

    def add(self, trade: PublicTrade) -> None:
        """Add a trade; trades come in order of time."""
        part = Candle.of(trade)
        self._minutes.add(part)
        self._hours.add(part)

    def at(self, interval: Interval, began: int) -> Candle | None:
        """Return the candle that began then, None if nothing was traded in it."""
        parts = takewhile(lambda part: part.began >= began, self._newest_parts(interval))
        found = _joined(interval, reversed(list(parts)))
        return found[0] if found and found[0].began == began else None

    def traded(self, interval: Interval) -> list[Candle]:
        """Return the candles in which something was traded, oldest first."""
        candles = _joined(interval, reversed(list(self._newest_parts(interval))))
        is_cut = len(self._source(interval)) == _KEPT
        return candles[1:] if is_cut else candles

    def unbroken(self, interval: Interval, now: int) -> list[Candle]:
        """Return candles from the first trade to `now`, oldest first: flat ones if nothing was traded."""
        filled: list[Candle] = []
        for candle in self.traded(interval):
            filled += _flat_after(filled, interval, candle.began)
            filled.append(candle)
        return filled + _flat_after(filled, interval, now + 1)

    def _newest_parts(self, interval: Interval) -> Iterator[Candle]:
        if 0 < interval.seconds < _MINUTE_SECONDS:
            return (Candle.of(trade) for trade in reversed(self._trades))
        return reversed(self._source(interval))

    def _source(self, interval: Interval) -> "KeptCandles":
        return self._minutes if interval.seconds % _HOUR_SECONDS else self._hours


class KeptCandles:
    """The newest `most` of one interval, oldest first; only the last one may still change. The others are text: there
    are 253 markets, and a Decimal alone has 104 bytes."""

    def __init__(self, interval: Interval, most: int = _KEPT) -> None:
        self._interval = interval
        self._ended: deque[str] = deque(maxlen=most - 1)
        self._last: list[Candle] = []

    def add(self, part: Candle) -> Candle | None:
        """Return the one that ended with it, if any."""
        extend(self._last, self._interval, part)
        if len(self._last) == 1:
            return None
        ended = self._last.pop(0)
        self._ended.append(_text_of(ended))
        return ended

    def pop_oldest(self) -> Candle:
        """Remove and return the oldest. Raises IndexError if there is none."""
        return _candle_of(self._ended.popleft()) if self._ended else self._last.pop()

    def __len__(self) -> int:
        return len(self._ended) + len(self._last)

    def __iter__(self) -> Iterator[Candle]:
        yield from map(_candle_of, self._ended)
        yield from self._last

    def __reversed__(self) -> Iterator[Candle]:
        yield from reversed(self._last)
        yield from map(_candle_of, reversed(self._ended))


def _text_of(candle: Candle) -> str:
    return " ".join(str(value) for value in astuple(candle))


def _candle_of(text: str) -> Candle:
    began, *amounts, count, first, last = text.split()
    opened, high, low, close, volume, value, bought, bought_value = map(Decimal, amounts)
    prices, volumes = (opened, high, low, close), (volume, value, bought, bought_value)
    return Candle(int(began), *prices, *volumes, int(count), int(first), int(last))


def page(candles: list[Candle], since: int, until: int, limit: int) -> list[Candle]:
    """Return candles that began from `since` to `until`, microseconds: the first ones, or the last if `since` is 0."""
    found = [candle for candle in candles if since <= candle.began <= until]
    return found[:limit] if since else found[-limit:]


def extend(candles: MutableSequence[Candle], interval: Interval, part: Candle) -> None:
    """Join `part` to the last one, or begin the next. Parts come in order of time."""
    began = interval.start(part.began)
    if candles and candles[-1].began >= began:
        candles[-1].join(part)
    else:
        candles.append(replace(part, began=began))


def _joined(interval: Interval, parts: Iterable[Candle]) -> list[Candle]:
    candles: list[Candle] = []
    for part in parts:
        extend(candles, interval, part)
    return candles


def _flat_after(candles: list[Candle], interval: Interval, until: int) -> list[Candle]:
    """Return flat ones that follow the last of `candles` and begin before `until`."""
    flat: list[Candle] = []
    if candles:
        last = candles[-1]
        began = interval.after(last.began)
        while began < until:
            flat.append(last.flat_at(began))
            began = interval.after(began)
    return flat
