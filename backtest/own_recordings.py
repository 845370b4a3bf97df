"""Loads a session's own recording for a replay: the rows that its feeds wrote to the log."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from heapq import merge
from pathlib import Path

from backtest.profile_recordings import Recording, check_enough
from backtest.replay_profiles import FEE_RATE, RecordedMarket, ReplayProfile
from exchanges.simulated_markets import taker_fees
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.prices.quotes import FeedMark, Quote
from pricefeeds.recording.feed_recording import (
    SUFFIX,
    RecordedEvent,
    RecordingHeader,
    parts_of,
    read_recording,
    recorded_folders,
)
from streams.message_format import WireError, mark_of, quote_of, row_of
from tick_sets.errors import ImportRejectedError, reject
from tick_sets.rows.quote_rows import Rejections

SETTLEMENT_CURRENCY = "USD"
TRADED_UNITS = Decimal(10)
"""Opening balance of each base on a paper account."""
WORTH = {"USD": Decimal(1_000_000), "USDT": Decimal(1_000_000), "EUR": Decimal(925_000), "JPY": Decimal(150_000_000)}
"""Opening balance of each quote currency: about a million dollars."""


@dataclass(slots=True)
class _ExchangeRows:
    """The rows that one exchange's feed published, in order."""

    header: RecordingHeader
    rows: list[Quote | FeedMark] = field(default_factory=list)


def load_own_recording(folder: Path) -> Recording:
    """Return all exchanges of one session, at or below `folder`. Raises ImportRejectedError in one sentence."""
    folders, rejected = recorded_folders(folder), Counter[str]()
    exchanges = [_exchange_rows(path, rejected) for path in folders]
    sessions = sorted({exchange.header.session_id for exchange in exchanges})
    if len(sessions) > 1:
        reject(folder, None, f"holds {len(sessions)} sessions; name one of them ({', '.join(sessions)})")
    rows = tuple(merge(*(exchange.rows for exchange in exchanges), key=lambda row: row.received_time))
    fed = {(row.exchange, row.symbol) for row in rows if isinstance(row, Quote)}
    recorded_markets = [market for exchange in exchanges for market in exchange.header.markets]
    markets = tuple(market for market in recorded_markets if (market.exchange, market.symbol) in fed)
    profile = own_profile(sessions[0], markets)
    check_enough(profile, markets)
    return Recording(
        profile=profile,
        files=tuple(part for path in folders for part in parts_of(path)),
        markets=markets,
        quotes=tuple(row for row in rows if isinstance(row, Quote)),
        rejected=dict(sorted(rejected.items())),
        outside=0,
        log=rows,
    )


def own_profile(session_id: str, markets: tuple[Market, ...]) -> ReplayProfile:
    """Return the settings that a new paper session begins with, on local paper accounts."""
    traded = [market for market in markets if not market.is_fx]
    fees = {market.exchange: taker_fees().get(market.exchange, FEE_RATE) for market in traded}
    balances: dict[str, dict[str, Decimal]] = {market.exchange: {} for market in traded}
    for market in traded:
        balances[market.exchange] |= {
            market.base: TRADED_UNITS,
            market.quote_currency: WORTH.get(market.quote_currency, WORTH["USD"]),
        }
    return ReplayProfile(
        name="own",
        title=f"the feeds of session {session_id}",
        assumptions=(
            "every row is as the session's feeds wrote it, withdrawn quotes included",
            "settings and balances are those of a new session, not those of the recorded one",
        ),
        recorded=tuple(RecordedMarket(market, market.exchange, SUFFIX, "own") for market in markets),
        settlement_currency=SETTLEMENT_CURRENCY,
        paper_balances=balances,
        settings=Settings(enabled_exchanges=tuple(fees), taker_fees=fees),
        default_speed=1.0,
    )


def _exchange_rows(folder: Path, rejected: Rejections) -> _ExchangeRows:
    """Return one exchange's rows. Raises ImportRejectedError."""
    found: _ExchangeRows | None = None
    for entry in read_recording(folder):
        if isinstance(entry, RecordingHeader):
            found = found or _ExchangeRows(entry)
        elif isinstance(entry, RecordedEvent) and entry.kind == "row" and found is not None:
            found.rows += _logged(folder, entry, rejected)
    if found is None:
        reject(folder, None, "is truncated: it ends before its first row")
    return found


def _logged(folder: Path, note: RecordedEvent, rejected: Rejections) -> Iterator[Quote | FeedMark]:
    """Return the row, or nothing for a rejected quote, which was never in the log."""
    data = note.data.encode() if isinstance(note.data, str) else note.data
    try:
        row = row_of(data)
        if "reason" in row:
            rejected[str(row["reason"])] += 1
        elif row.get("kind") in ("quote", "fx"):
            yield quote_of(row)
        else:
            yield mark_of(row)
    except WireError as error:
        raise ImportRejectedError(
            f"{folder}: the row of {note.symbol} at {note.now} cannot be read ({error})"
        ) from error
