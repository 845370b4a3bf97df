"""Recorded files of one profile, read into one list of quotes in the order in which they were received."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby
from pathlib import Path

from backtest.replay_profiles import RecordedMarket, ReplayProfile
from market.instruments.markets import Market
from market.prices.quotes import FeedMark, Quote
from tick_sets.errors import ImportRejectedError, reject
from tick_sets.importers.hftbacktest import book_tickers
from tick_sets.importers.lean import quote_bars
from tick_sets.rows.quote_rows import Rejections


@dataclass(frozen=True, slots=True)
class Recording:
    """What a replay sends: `quotes` by (received time, FX first, market, row), each with its final sequence."""

    profile: ReplayProfile
    files: tuple[Path, ...]
    markets: tuple[Market, ...]
    """The profile's markets that the files feed, in the profile's order."""
    quotes: tuple[Quote, ...]
    rejected: dict[str, int]
    """Rows that are no usable quotes, by reason."""
    outside: int
    """FX quotes left out because nothing is traded at their time."""
    log: tuple[Quote | FeedMark, ...] = ()
    """If the source has more than quotes: all rows, as they stood in the log."""

    def rows(self) -> Iterator[Quote | FeedMark]:
        """Return what the replayer writes.

        If bars are recorded, those of one moment replace the older ones together: they are withdrawn first, so that a
        new close is never compared with the other market's close of a minute ago, a gap that was never there.
        """
        if self.log:
            return iter(self.log)
        return superseding(self.quotes) if self.profile.is_of_bars else iter(self.quotes)

    @property
    def start_time(self) -> int:
        """Return microseconds UTC of the first quote."""
        return self.quotes[0].received_time

    @property
    def end_time(self) -> int:
        """Return microseconds UTC of the last quote."""
        return self.quotes[-1].received_time


def load_recording(profile: ReplayProfile, files: tuple[Path, ...]) -> Recording:
    """Read all files. Raises ImportRejectedError: one sentence that names the file, or what is missing."""
    recorded = recorded_files(profile, files)
    rejections: Rejections = Counter()
    streams = [_quotes_of(path, market, rejections) for path, market in recorded]
    quotes = tuple(merge(*streams, key=_received_time))
    fed = {(quote.exchange, quote.symbol) for quote in quotes}
    markets = tuple(market for market in profile.markets if (market.exchange, market.symbol) in fed)
    check_enough(profile, markets)
    kept = _while_traded(quotes, profile.settings.max_quote_age_ms * 1_000)
    return Recording(
        profile=profile,
        files=tuple(path for path, _ in recorded),
        markets=markets,
        quotes=tuple(_ranked(kept)),
        rejected=dict(sorted(rejections.items())),
        outside=len(quotes) - len(kept),
    )


def recorded_files(profile: ReplayProfile, files: tuple[Path, ...]) -> list[tuple[Path, RecordedMarket]]:
    """Return the files in an order that does not depend on how they were named: FX markets first, then as in the
    profile. So at one and the same time the rate comes before the quotes that are converted with it."""
    found: dict[Path, tuple[tuple[bool, int, str], Path, RecordedMarket]] = {}
    for path in files:
        recorded = profile.recorded_market(path)
        if recorded is None:
            raise ImportRejectedError(f"{path}: is not a recording of {profile.name}")
        if path.resolve() in found:
            raise ImportRejectedError(f"{path}: is named twice")
        rank = (not recorded.market.is_fx, profile.recorded.index(recorded), path.name)
        found[path.resolve()] = (rank, path, recorded)
    return [(path, recorded) for _, path, recorded in sorted(found.values(), key=lambda item: item[0])]


def _quotes_of(path: Path, recorded: RecordedMarket, rejections: Rejections) -> Iterator[Quote]:
    if recorded.source == "own":
        reject(path, None, "is a file of a recorded session; name its folder")
    if recorded.source == "lean":
        return quote_bars(path, recorded.market, recorded.utc_offset_hours, rejections)
    return book_tickers(path, recorded.market, recorded.source, rejections)


def check_enough(profile: ReplayProfile, markets: tuple[Market, ...]) -> None:
    """Raise ImportRejectedError if `markets`, which have quotes, do not make an arbitrage."""
    traded = [market for market in markets if not market.is_fx]
    if len(traded) < 2:
        names = ", ".join(market.exchange for market in profile.markets if not market.is_fx)
        raise ImportRejectedError(f"a replay of {profile.name} needs usable quotes of two of {names}")
    settled = {profile.settlement_currency}
    settled.update(currency for market in markets if market.is_fx for currency in (market.base, market.quote_currency))
    for market in traded:
        if market.quote_currency not in settled:
            raise ImportRejectedError(
                f"{market.exchange} {market.symbol} needs FX quotes to become {profile.settlement_currency}; "
                f"name a file that has them"
            )


def _while_traded(quotes: Iterable[Quote], max_quote_age: int) -> list[Quote]:
    """Return the quotes without the FX quotes that are too old by the first traded quote, or come after the
    last one."""
    kept = list(quotes)
    traded_times = [quote.received_time for quote in kept if quote.kind == "quote"]
    first, last = traded_times[0] - max_quote_age, traded_times[-1]
    return [quote for quote in kept if quote.kind == "quote" or first <= quote.received_time <= last]


def _ranked(quotes: Iterable[Quote]) -> Iterator[Quote]:
    """Give the quotes that their source did not number their rank over the whole set, from 1."""
    for rank, quote in enumerate(quotes, start=1):
        yield quote if quote.sequence else replace(quote, sequence=rank)


def superseding(quotes: Iterable[Quote]) -> Iterator[Quote | FeedMark]:
    """Return the quotes, those of each moment after the withdrawal of what they replace."""
    seen: set[tuple[str, str]] = set()
    for _, moment in groupby(quotes, key=_received_time):
        bars = list(moment)
        yield from (_withdrawal(bar) for bar in bars if bar.kind == "quote" and (bar.exchange, bar.symbol) in seen)
        yield from bars
        seen.update((bar.exchange, bar.symbol) for bar in bars)


def _withdrawal(quote: Quote) -> FeedMark:
    return FeedMark(
        kind="withdrawn",
        exchange=quote.exchange,
        region=quote.region,
        symbol=quote.symbol,
        base=quote.base,
        quote_currency=quote.quote_currency,
        received_time=quote.received_time,
        sequence=quote.sequence,
    )


def _received_time(quote: Quote) -> int:
    return quote.received_time
