"""What the age of a backtest's quotes counts from, in words: the exchange's time if it can be trusted."""

from collections.abc import Callable, Iterator, Sequence

from backtest.result.quote_spacing import seconds_words
from tick_sets.sets.exchange_times import FeedDelay, Trust


def quote_age_words(delays: Sequence[FeedDelay], max_quote_age_ms: int) -> tuple[str, ...]:
    """Return words for a report's assumptions; a bar is as old as its end, which needs no words."""
    return tuple(_words(delays, max_quote_age_ms))


def late_words(delays: Sequence[FeedDelay], max_quote_age_ms: int) -> tuple[str, ...]:
    """Return warnings about markets whose quotes spend much of their maximum age before they arrive."""
    max_age = max_quote_age_ms * 1_000
    return tuple(
        f"{one.exchange} {one.symbol} is {seconds_words(one.median)} old when it arrives (median; 95 % within "
        f"{seconds_words(one.p95)}), and a quote counts for {seconds_words(max_age)}: "
        f"{_lost_words(one.median, max_age)}; raise max_quote_age_ms if its exchange's time is rounded, or not "
        f"when the quote was true"
        for one in delays
        if one.trust == "used" and one.median is not None and one.p95 is not None
        if 2 * one.median > max_age or one.p95 > max_age
    )


def _lost_words(median: int, max_age: int) -> str:
    if median > max_age:
        return "most of it is never traded"
    return "half of that is over by then" if 2 * median > max_age else "some of it is never traded"


def _words(delays: Sequence[FeedDelay], max_quote_age_ms: int) -> Iterator[str]:
    used = [one for one in delays if one.trust == "used"]
    if used:
        yield f"a quote's age counts from the exchange's time: {_listed(used, _delay_words)}"
    yield from late_words(delays, max_quote_age_ms)
    for trust, words in _ELSE.items():
        others = [one for one in delays if one.trust == trust]
        if others:
            yield f"a quote's age counts from its arrival because {words}: {_listed(others, _ahead_words)}"


_ELSE: dict[Trust, str] = {
    "absent": "the source has no exchange time",
    "ahead": "the exchange's time is ahead of it (the clocks differ)",
    "same": "the source has one time for both",
}


def _listed(delays: Sequence[FeedDelay], words: Callable[[FeedDelay], str]) -> str:
    return ", ".join(f"{one.exchange} {one.symbol}{words(one)}" for one in delays)


def _delay_words(one: FeedDelay) -> str:
    if one.median is None or one.p95 is None:
        return ""
    return f" ({seconds_words(max(one.median, 0))} before it arrives, 95 % within {seconds_words(max(one.p95, 0))})"


def _ahead_words(one: FeedDelay) -> str:
    return f" (by {seconds_words(-one.median)})" if one.trust == "ahead" and one.median is not None else ""
