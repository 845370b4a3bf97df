"""What the age of a backtest's quotes counts from, in words: the exchange's time where it can be trusted."""

from collections.abc import Callable, Iterator, Sequence

from backtest.result.quote_spacing import seconds_words
from datasets.rows.arrow_columns import MarketKey
from datasets.ticksets.exchange_times import FeedDelay, Trust


def quote_age_words(
    delays: Sequence[FeedDelay], of_bars: frozenset[MarketKey], max_quote_age_ms: int
) -> tuple[str, ...]:
    """For a report's assumptions; a bar is as old as its end, which needs no words."""
    quoted = [one for one in delays if (one.exchange, one.symbol) not in of_bars]
    return tuple(_words(quoted, max_quote_age_ms * 1_000))


def _words(delays: Sequence[FeedDelay], max_age: int) -> Iterator[str]:
    used = [one for one in delays if one.trust == "used"]
    if used:
        yield f"a quote's age counts from the exchange's time: {_listed(used, _delay_words)}"
    for one in used:
        if one.median is not None and one.median > max_age:
            yield (
                f"{one.exchange} {one.symbol} is {seconds_words(one.median)} old when it arrives (median), and a quote "
                f"counts for {seconds_words(max_age)}: most of it is never traded; raise max_quote_age_ms if its "
                f"exchange's time is not when the quote was true"
            )
    for trust, words in _ELSE.items():
        others = [one for one in delays if one.trust == trust]
        if others:
            yield f"a quote's age counts from its arrival where {words}: {_listed(others, _ahead_words)}"


_ELSE: dict[Trust, str] = {
    "absent": "the source has no exchange time",
    "ahead": "the exchange's time is ahead of it, since the clocks differ",
    "same": "the source has one time for both",
}


def _listed(delays: Sequence[FeedDelay], words: Callable[[FeedDelay], str]) -> str:
    return ", ".join(f"{one.exchange} {one.symbol}{words(one)}" for one in delays)


def _delay_words(one: FeedDelay) -> str:
    if one.median is None or one.p95 is None:
        return ""
    return f" ({seconds_words(one.median)} before it arrives, 95 % within {seconds_words(one.p95)})"


def _ahead_words(one: FeedDelay) -> str:
    return f" (by {seconds_words(-one.median)})" if one.trust == "ahead" and one.median is not None else ""
