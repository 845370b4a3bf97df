"""Prepared order-book streams in four exchanges' own protocols: the same changes of the same book in four formats."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from zlib import crc32

import orjson

from exchanges.simulated_markets import paper_markets
from market.instruments.markets import Market
from market.prices.quotes import MAX_LEVELS
from market.time_units import MICROSECONDS

MIDDLE = 1_000_000
"""In tenths of a dollar."""
STEP = 20
"""Microseconds of exchange time between messages that go out at full speed: none may look too old."""
WARM_UP = 20
"""Changes before the book by REST: ccxt reads a few of Bitstamp's before it asks for it."""
LAST_AMOUNT = 7_777_777_777
"""Amount of the best bid after the last message and never before, in units of 0.00000001."""

Change = tuple[int, int]
"""Price in tenths, amount in hundred-millionths; amount 0 removes the level."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A change of the book, and the book after it. `number` counts from 1; time in microseconds UTC."""

    number: int
    at: int
    bids: list[Change]
    asks: list[Change]
    best_bids: list[Change]
    best_asks: list[Change]


@dataclass(frozen=True, slots=True)
class PreparedStream:
    """The exchange's reply to a subscription, its book by REST, and its messages for as long as the measurement
    lasts."""

    exchange: str
    market: Market
    greeting: tuple[str, ...]
    rest_book: str
    messages: tuple[str, ...]


class ModelBook:
    """A book of constant depth: amounts change, and each fourth message a level leaves or comes back."""

    def __init__(self, depth: int, seed: int) -> None:
        self._chance = random.Random(seed)
        self._depth = depth
        self.sides = ({}, {})  # type: tuple[dict[int, int], dict[int, int]]
        for side, sign in zip(self.sides, (-1, 1), strict=True):
            side.update((MIDDLE + sign * (1 + rank), self._amount()) for rank in range(depth))
        self._away: list[tuple[int, int] | None] = [None, None]
        """For each side, the price that left and the worse one that stands in for it."""

    def change(self, number: int) -> tuple[list[Change], list[Change]]:
        side = self._chance.randrange(2)
        if number % 4 == 0:
            changes = self._swap(side)
        else:
            prices = self.best(side)
            chosen = {self._chance.choice(prices[:MAX_LEVELS]), self._chance.choice(prices)}
            changes = [(price, self._amount()) for price in sorted(chosen)]
        return self._applied(side, changes)

    def end(self) -> tuple[list[Change], list[Change]]:
        """Return the last message of all."""
        return self._applied(0, [(self.best(0)[0], LAST_AMOUNT)])

    def best(self, side: int, levels: int | None = None) -> list[int]:
        return sorted(self.sides[side], reverse=side == 0)[:levels]

    def levels(self, side: int, levels: int | None = None) -> list[Change]:
        return [(price, self.sides[side][price]) for price in self.best(side, levels)]

    def _applied(self, side: int, changes: list[Change]) -> tuple[list[Change], list[Change]]:
        for price, amount in changes:
            if amount:
                self.sides[side][price] = amount
            else:
                del self.sides[side][price]
        return (changes, []) if side == 0 else ([], changes)

    def _swap(self, side: int) -> list[Change]:
        away = self._away[side]
        if away is not None:
            self._away[side] = None
            return [(away[0], self._amount()), (away[1], 0)]
        gone = self._chance.choice(self.best(side, MAX_LEVELS)[1:])
        worse = MIDDLE + (-1, 1)[side] * (1 + self._depth)
        self._away[side] = (gone, worse)
        return [(gone, 0), (worse, self._amount())]

    def _amount(self) -> int:
        return self._chance.randrange(1, 500_000_000)


def prepared_stream(exchange: str, messages: int, start: int, step: int) -> PreparedStream:
    """Return `messages` changes from `start` on, `step` apart (microseconds), after those that lead to the book by
    REST."""
    wording, depth = _WORDINGS[exchange]
    book = ModelBook(depth, seed=1)
    opening = Moment(0, start, book.levels(0), book.levels(1), book.levels(0, MAX_LEVELS), book.levels(1, MAX_LEVELS))
    times = range(start, start + step * (messages + WARM_UP + 1), step)
    warm_up = list(_moments(book, times[1 : WARM_UP + 1], 1))
    first = [wording(opening, True), *(wording(moment, False) for moment in warm_up)]
    by_rest = Moment(WARM_UP, warm_up[-1].at, book.levels(0), book.levels(1), [], [])
    stream = tuple(wording(moment, False) for moment in _moments(book, times[WARM_UP + 1 :], WARM_UP + 1))
    return PreparedStream(
        exchange, market_of(exchange), tuple(text for text in first if text), _rest_book(exchange, by_rest), stream
    )


def market_of(exchange: str) -> Market:
    """Return the market of BTC in dollars, or in the exchange's substitute for them."""
    model = next(market for market in paper_markets() if market.exchange == "kraken" and market.base == "BTC")
    quote_currency = "USDT" if exchange == "binance" else "USD"
    return Market(
        exchange=exchange,
        region=model.region,
        symbol=f"BTC/{quote_currency}",
        base="BTC",
        quote_currency=quote_currency,
        tick_size=model.tick_size,
        lot_step=model.lot_step,
        minimum_amount=model.minimum_amount,
        minimum_notional=model.minimum_notional,
        fee_side="quote",
    )


def _moments(book: ModelBook, times: range, first: int) -> Iterator[Moment]:
    for number, at in enumerate(times, start=first):
        bids, asks = book.end() if first > 1 and at == times[-1] else book.change(number)
        yield Moment(number, at, bids, asks, book.levels(0, MAX_LEVELS), book.levels(1, MAX_LEVELS))


def _coinbaseexchange(moment: Moment, is_snapshot: bool) -> str:
    product = {"product_id": "BTC-USD"}
    if is_snapshot:
        sides = {"bids": _texts(moment.bids), "asks": _texts(moment.asks)}
        return _json({"type": "snapshot", **product, **sides})
    changes = [["buy", *row] for row in _texts(moment.bids)] + [["sell", *row] for row in _texts(moment.asks)]
    return _json({"type": "l2update", **product, "changes": changes, "time": _iso(moment.at)})


def _kraken(moment: Moment, is_snapshot: bool) -> str:
    """Return the message. Prices and amounts are JSON numbers with all their digits, since the checksum covers them."""
    bids, asks = (
        "[" + ",".join(f'{{"price":{price},"qty":{amount}}}' for price, amount in _texts(side)) + "]"
        for side in (moment.bids, moment.asks)
    )
    digits = _digits(moment.best_asks) + _digits(moment.best_bids)
    kind = "snapshot" if is_snapshot else "update"
    return (
        f'{{"channel":"book","type":"{kind}","data":[{{"symbol":"BTC/USD","bids":{bids},"asks":{asks},'
        f'"checksum":{crc32(digits.encode())},"timestamp":"{_iso(moment.at)}"}}]}}'
    )


def _bitstamp(moment: Moment, is_snapshot: bool) -> str:
    channel = "diff_order_book_btcusd"
    if is_snapshot:
        return _json({"event": "bts:subscription_succeeded", "channel": channel, "data": {}})
    return _json({"data": _bitstamp_book(moment), "channel": channel, "event": "data"})


def _binance(moment: Moment, is_snapshot: bool) -> str:
    if is_snapshot:
        return _json({"result": None, "id": 1})
    numbers = {"E": moment.at // 1_000, "U": moment.number, "u": moment.number}
    sides = {"b": _texts(moment.bids), "a": _texts(moment.asks)}
    return _json({"e": "depthUpdate", "s": "BTCUSDT", **numbers, **sides})


def _rest_book(exchange: str, moment: Moment) -> str:
    """Return the book that Bitstamp and Binance give by REST; the others' streams bring their own."""
    if exchange == "bitstamp":
        return _json(_bitstamp_book(moment))
    return _json({"lastUpdateId": moment.number, "bids": _texts(moment.bids), "asks": _texts(moment.asks)})


def _bitstamp_book(moment: Moment) -> dict[str, object]:
    times = {"timestamp": str(moment.at // MICROSECONDS), "microtimestamp": str(moment.at)}
    return {**times, "bids": _texts(moment.bids), "asks": _texts(moment.asks)}


_WORDINGS: dict[str, tuple[Callable[[Moment, bool], str], int]] = {
    "coinbaseexchange": (_coinbaseexchange, 500),
    "kraken": (_kraken, MAX_LEVELS),
    "bitstamp": (_bitstamp, 500),
    "binance": (_binance, 500),
}
"""Exchange → its message of a moment, and the depth of its book in levels per side: Kraken's is ccxt's default."""
EXCHANGES = tuple(_WORDINGS)


def _texts(changes: list[Change]) -> list[list[str]]:
    return [[f"{price // 10}.{price % 10}", f"{amount // 10**8}.{amount % 10**8:08}"] for price, amount in changes]


def _digits(changes: list[Change]) -> str:
    """Return the digits as Kraken joins them: without point and leading zeros."""
    return "".join(text.replace(".", "").lstrip("0") for row in _texts(changes) for text in row)


def _iso(at: int) -> str:
    moment = datetime.fromtimestamp(at // MICROSECONDS, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % MICROSECONDS:06}Z"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
