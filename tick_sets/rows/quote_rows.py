"""Turns rows into quotes, or counts their reject reasons."""

from collections import Counter

from market.instruments.markets import Market
from market.money import ZERO, Amount, Price, decimal_of
from market.prices.quotes import Level, Quote, rejection_of
from tick_sets.rows.contract_amounts import counts_base, level_in_base

MAX_DIGITS = 18
LARGEST = 2**63 - 1
NO_LEVEL = Level(Price(ZERO), Amount(ZERO))
Rejections = Counter[str]
"""Reason → number of rows left out: those of `market.prices.quotes.rejection_of`, `unreadable` and `repeated`."""


class QuoteRows:
    """Turns the rows of one market's file into quotes, counting those that must stay out by reason."""

    def __init__(self, market: Market, rejections: Rejections) -> None:
        self._market = market
        self._is_in_base = counts_base(market)
        self._rejections = rejections
        self._last_received = 0
        self._last_sequence = -1

    def quote(
        self, bid: Level, ask: Level, received_time: int, exchange_time: int | None, sequence: int
    ) -> Quote | None:
        """Return the quote, or None if it is rejected; amounts as the source counts them. Times in microseconds UTC;
        `sequence` 0 if the source numbers nothing."""
        market = self._market
        if not self._is_in_base:
            bid, ask = (level_in_base(level, market) if level.price > 0 else level for level in (bid, ask))
        quote = Quote(
            kind="fx" if market.is_fx else "quote",
            exchange=market.exchange,
            region=market.region,
            symbol=market.symbol,
            base=market.base,
            quote_currency=market.quote_currency,
            bids=(bid,),
            asks=(ask,),
            exchange_time=exchange_time,
            received_time=received_time,
            sequence=sequence,
        )
        reason = rejection_of(quote, self._last_received)
        if reason is None and 0 < sequence <= self._last_sequence:
            reason = "repeated"
        if reason is not None:
            self._rejections[reason] += 1
            return None
        self._last_received, self._last_sequence = received_time, sequence
        return quote

    def count_unreadable(self) -> None:
        self._rejections["unreadable"] += 1


def whole_number(text: str) -> int | None:
    """Return a whole number from 0 on that fits a column of the log, else None; 1725000000.0 and 1.725e12 are whole."""
    text = text.strip().removeprefix("+")
    if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS:
        return int(text)
    try:
        number = decimal_of(text)
    except ValueError:
        return None
    return int(number) if 0 <= number <= LARGEST and number % 1 == 0 else None


def level_of(price: str, amount: str) -> Level:
    """Return the level. Raises ValueError for what is no number."""
    return Level(Price(decimal_of(price)), Amount(decimal_of(amount)))


class LastLevel:
    """Reads the levels of one side in their order; one that stays, as most do when the other side changes, is read
    once."""

    def __init__(self) -> None:
        self._texts: tuple[str, str] | None = None
        self._level = NO_LEVEL

    def level(self, price: str, amount: str) -> Level:
        """Return the level. Raises ValueError for what is no number."""
        if self._texts != (price, amount):
            self._level = level_of(price, amount)
            # what is no text, as a file may have it, equals other things too: 1 and true
            self._texts = (price, amount) if isinstance(price, str) and isinstance(amount, str) else None
        return self._level
