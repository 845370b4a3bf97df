"""Made-up recordings for the tests of trading in a backtest: quotes on a tape, opportunities, parameters."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from backtest.detect.sighting_windows import Figures, SightingWindow, side_columns
from backtest.detect.sightings import Sighting
from backtest.parameters import Balances, Latency, Parameters
from backtest.result.trading_outcome import TradingOutcome
from backtest.simulate.history_piece import COLUMNS
from backtest.simulate.quote_history import HistoryPosition, QuoteHistory
from backtest.simulate.trade_simulation import trade
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from streams.message_format import levels_text
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of, settings_of
from tick_sets.sets.opening_rows import OpeningRows
from tick_sets.sets.schema import TICK_SCHEMA

SECOND = 1_000_000
MILLISECOND = 1_000
DAY = 86_400 * SECOND
START = 1_000 * SECOND
EASY: dict[str, object] = {"max_quote_age_ms": 86_400_000, "max_notional": 2_000}
MARKETS = (USD_MARKET, EUR_MARKET)
OPENING: Balances = {
    "alpha": {"USD": Decimal(2_000_000), "BTC": Decimal(30)},
    "beta": {"EUR": Decimal(2_000_000), "BTC": Decimal(30)},
}
Book = tuple[tuple[str, str], ...]
CHEAP: Book = (("6000", "1"), ("6010", "1"))
"""Asks of alpha, USD."""
DEAR: Book = (("5618", "1"), ("5600", "1"))
"""Bids of beta, EUR: 5618 EUR are 6179 USD."""


def tick(
    market: Market, time: int, bids: Book = (), asks: Book = (), kind: str = "quote", sequence: int = 0
) -> dict[str, object]:
    """Return a row of TICK_SCHEMA without its offset; a book of one level has no text of levels, as from an import."""
    row: dict[str, object] = dict.fromkeys(TICK_SCHEMA.names)
    row |= {"kind": kind, "exchange": market.exchange, "symbol": market.symbol, "received_time": time}
    row["sequence"] = sequence or time
    for side, book in (("bid", bids), ("ask", asks)):
        if book:
            row |= {side: book[0][0], f"{side}_amount": book[0][1], f"{side}_price": float(book[0][0])}
        if len(book) > 1:
            row[f"{side}s"] = levels_text(levels(*book))
    return row


def tape_with(
    rows: Sequence[dict[str, object]],
    cut: int | None = None,
    kept: int | None = None,
    markets: tuple[Market, ...] = MARKETS,
) -> QuoteHistory:
    """Return a tape of one base, in the order given; a row group each `cut` rows."""
    whole = pa.Table.from_pylist([row | {"offset": offset} for offset, row in enumerate(rows)], TICK_SCHEMA)
    size = cut or max(len(rows), 1)
    known = OpeningRows()
    places = []
    for number, start in enumerate(range(0, len(rows), size)):
        own = whole.slice(start, size)
        before = known.before(number).select(COLUMNS)
        known.learn(own)
        since = min(time for time in own["received_time"].to_pylist() if time is not None)
        places.append(HistoryPosition(since, start, lambda before=before, own=own: (before, own)))  # type: ignore[misc]
    return QuoteHistory({"BTC": places}, markets, kept)


def offered(time: int, identity: str = "one", cheap: Book = CHEAP, dear: Book = DEAR) -> Opportunity:
    """Return an opportunity to buy at alpha and sell at beta."""
    return opportunity_of(
        (USD_MARKET, levels(*cheap)),
        (EUR_MARKET, levels(*dear)),
        identity=identity,
        event_time=time,
        sequence=time,
    )


def steady_quotes(times: Iterable[int], cheap: Book = CHEAP, dear: Book = DEAR) -> list[dict[str, object]]:
    """Return both books anew at each of these times."""
    rows = []
    for time in times:
        rows.append(tick(USD_MARKET, time, bids=(("5990", "1"), ("5980", "1")), asks=cheap))
        rows.append(tick(EUR_MARKET, time, bids=dear, asks=(("5700", "1"), ("5710", "1"))))
    return rows


def parameters_of(settings: Settings | None = None, **changes: object) -> Parameters:
    """Return parameters: 50 ms to each exchange, 5 ms to decide."""
    known: dict[str, object] = {
        "settings": settings or settings_of(max_quote_age_ms=86_400_000),
        "balances": OPENING,
        "latency": {"alpha": Latency(50.0), "beta": Latency(50.0)},
    }
    return Parameters(**(known | changes))  # type: ignore[arg-type]  # a test names them


def traded(
    opportunities: list[Opportunity],
    later: list[dict[str, object]] | None = None,
    settings: Settings | None = None,
    **changes: object,
) -> TradingOutcome:
    """Trade on the books of the samples, then on `later`."""
    rows = steady_quotes([START]) + (later or [])
    return trade(opportunities, tape_with(rows), MARKETS, parameters_of(settings or settings_of(**EASY), **changes))


def fills(outcome: TradingOutcome) -> list[tuple[str, str, str, str]]:
    """Return role, price, amount, milliseconds after the start."""
    return [
        (leg.role, str(fill.price), str(fill.amount), str((fill.filled_at - START) / MILLISECOND))
        for arbitrage in outcome.arbitrages
        for leg in arbitrage.legs
        for fill in leg.fills
    ]


def ends(outcome: TradingOutcome) -> list[tuple[str, str | None]]:
    return [(arbitrage.state, arbitrage.reason) for arbitrage in outcome.arbitrages]


def counts(outcome: TradingOutcome) -> dict[str, int]:
    return {reason: rejected.count for reason, rejected in outcome.rejections.items()}


def beta(time: int, bids: Book, asks: Book = (("5700", "1"), ("5710", "1"))) -> dict[str, object]:
    return tick(EUR_MARKET, time, bids, asks)


def refilled(opportunities: list[Opportunity]) -> list[dict[str, object]]:
    """Return quotes that show anew, with another amount, whatever was taken at each of these."""
    return [
        row
        for number, one in enumerate(opportunities)
        for row in (
            alpha(one.event_time, (("6000", f"1.{number}"), ("6010", "1"))),
            beta(one.event_time, (("5618", f"1.{number}"), ("5600", "1"))),
        )
    ]


def alpha(time: int, asks: Book, bids: Book = (("5990", "1"), ("5980", "1"))) -> dict[str, object]:
    return tick(USD_MARKET, time, bids, asks)


def window_of(sightings: Sequence[Sighting]) -> SightingWindow:
    """Return these as one window."""
    pairs = list(dict.fromkeys(one.pair for one in sightings))
    legs = [(one.opportunity.buy, one.opportunity.sell) for one in sightings]
    figures = Figures(
        *(
            np.array(column)
            for column in (
                [pairs.index(one.pair) for one in sightings],
                [one.event_time for one in sightings],
                [one.expires_at for one in sightings],
                [one.net_bps for one in sightings],
                [one.expected_profit for one in sightings],
                [one.buy_age for one in sightings],
                [one.sell_age for one in sightings],
                [float(buy.price) for buy, _ in legs],
                [float(sell.price) for _, sell in legs],
                [bool(one.opportunity.fx) for one in sightings],
            )
        )
    )
    return SightingWindow(
        pairs=pairs,
        figures=figures,
        currency=sightings[0].currency,
        sighting=lambda place: sightings[place],
        read_books=lambda: (
            side_columns([one.source.asks(one.number) for one in sightings]),
            side_columns([one.source.bids(one.number) for one in sightings]),
        ),
        uses=lambda ids: np.array([not set(ids).isdisjoint(one.source.quote_ids(0)) for one in sightings]),
    )
