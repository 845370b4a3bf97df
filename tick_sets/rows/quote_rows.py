"""Turns rows into quotes, or counts their reject reasons."""

from collections import Counter
from collections.abc import Iterator

from market.instruments.markets import Market
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level, Quote, rejection_of
from tick_sets.rows.contract_amounts import level_in_base

MAX_DIGITS = 18
LARGEST = 2**63 - 1
Rejections = Counter[str]
"""Reason → number of rows left out: those of `market.prices.quotes.rejection_of`, `unreadable` and `repeated`."""


class QuoteRows:
    """Turns the rows of one market's file into quotes, counting those that must stay out by reason."""

    def __init__(self, market: Market, rejections: Rejections) -> None:
        self._market = market
        self._rejections = rejections
        self._last_received = 0
        self._last_sequence = -1

    def quotes(
        self, bid: Level, ask: Level, received_time: int, exchange_time: int | None, sequence: int
    ) -> Iterator[Quote]:
        """Return the quote, or nothing; amounts as the source counts them. Times in microseconds UTC; `sequence` 0 if
        the source numbers nothing."""
        market = self._market
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
            return
        self._last_received, self._last_sequence = received_time, sequence
        yield quote

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
