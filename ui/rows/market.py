"""The rows of markets and opportunities. Money as decimal strings, bps as numbers, times in microseconds UTC."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from market.decide.settings import Settings
from market.decide.trade_bounds import settings_bounds
from market.instruments.markets import Market
from market.prices.episodes import tradable_profit
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.time_units import MICROSECONDS
from session.session import Session
from session.simulated_market import calibrated_on
from ui.live.price_series import PricePoint
from ui.live.snapshot import LiveSnapshot
from ui.live.spread_table import SpreadCell
from ui.live.top_of_book import TopOfBook
from ui.rows.attribute import row_from


class QuoteRow(TypedDict):
    """`mean_mid` is the mean of the last ten mids; `status`: fresh, stale (older than max_quote_age_ms), withdrawn."""

    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    bid: str
    bid_amount: str
    ask: str
    ask_amount: str
    mid: str
    mean_mid: float | None
    received_time: int
    verified_time: int
    status: str


class WindowRow(TypedDict):
    """Statistics of the last complete window; `share_above`: share of its rows at or above `min_net_bps`."""

    seconds: int
    end: int
    mean_bps: float
    deviation: float
    max_bps: float
    share_above: float
    rows: int


class SpreadRow(TypedDict):
    """Buying on one exchange and selling on the other; net of both taker fees and of the FX paid."""

    base: str
    buy_exchange: str
    buy_symbol: str
    sell_exchange: str
    sell_symbol: str
    gross_bps: float
    fee_bps: float
    net_bps: float
    is_fresh: bool
    windows: list[WindowRow]


class SeriesRow(TypedDict):
    """Columns of one chart, oldest first: seconds since the epoch, mids, means of the last ten mids."""

    exchange: str
    region: str
    symbol: str
    base: str
    quote_currency: str
    tick_size: str
    lot_step: str
    points: tuple[list[float], list[float], list[float]]


class FeedRow(TypedDict):
    """State and counters of one feed since its process started."""

    exchange: str
    region: str
    symbol: str
    status: str
    changed_at: int
    last_received: int
    quotes: int
    reconnects: int
    rejected: dict[str, int]
    gaps: int
    checksums: int
    malformed: int
    resyncs: int
    rest_checks: int
    rest_mismatches: int
    rest_failures: int
    offset_us: int | None
    """Offset of the exchange's clock ahead of ours; None until it is known."""


class SimulatedMarketRow(TypedDict):
    """The simulated exchanges' market; `tape`: the tick set that drives it, null if a seed does; `calibrated_on`: the
    recorded sets that its figures come from, null if it was invented."""

    name: str
    tape: str | None
    calibrated_on: str | None


class SourcesRow(TypedDict):
    """Whether this process follows Kafka and MongoDB right now."""

    kafka: bool
    mongodb: bool


class OpportunityRow(TypedDict):
    """`expected_profit` in `currency`, of all that the best levels show; `tradable_profit`: of as much of it as one
    trade may use within the limits in force."""

    opportunity_id: str
    base: str
    buy_exchange: str
    buy_symbol: str
    buy_price: str
    buy_amount: str
    sell_exchange: str
    sell_symbol: str
    sell_price: str
    sell_amount: str
    gross_bps: float
    fee_bps: float
    net_bps: float
    expected_profit: float
    tradable_profit: str
    currency: str
    settings_version: int
    event_time: int
    detected_time: int
    expires_at: int


def simulated_market_row(session: Session) -> SimulatedMarketRow | None:
    """Return the row; None if the prices are not simulated."""
    if session.mode != "paper":
        return None
    market = session.simulated.market
    return SimulatedMarketRow(name=market.name, tape=market.tape, calibrated_on=calibrated_on(market.name))


def quote_rows(snapshot: LiveSnapshot) -> list[QuoteRow]:
    return [_quote_row(top, snapshot) for top in snapshot.tops]


def spread_rows(snapshot: LiveSnapshot) -> list[SpreadRow]:
    windows: dict[tuple[str, str, str], list[WindowRow]] = {}
    for window in snapshot.windows:
        pair = (window.base, window.buy_exchange, window.sell_exchange)
        windows.setdefault(pair, []).append(_window_row(window))
    return [
        _spread_row(cell, windows.get((cell.base, cell.buy_exchange, cell.sell_exchange), []))
        for cell in snapshot.spreads
    ]


def opportunity_row(opportunity: Opportunity, settings: Settings | None) -> OpportunityRow:
    """Return the row; the limits of `settings`, those in force, bound what is tradable."""
    buy, sell = opportunity.buy, opportunity.sell
    return row_from(
        OpportunityRow,
        opportunity,
        buy_exchange=buy.exchange,
        buy_symbol=buy.symbol,
        buy_price=buy.price,
        buy_amount=buy.amount,
        sell_exchange=sell.exchange,
        sell_symbol=sell.symbol,
        sell_price=sell.price,
        sell_amount=sell.amount,
        tradable_profit=tradable_profit(opportunity, settings_bounds(opportunity, settings)),
    )


def series_row(market: Market, points: Iterable[PricePoint]) -> SeriesRow:
    kept = tuple(points)
    seconds = [point.time / MICROSECONDS for point in kept]
    means = [point.mean_mid for point in kept]
    return row_from(SeriesRow, market, points=(seconds, [point.mid for point in kept], means))


def _quote_row(top: TopOfBook, snapshot: LiveSnapshot) -> QuoteRow:
    points = snapshot.series.get((top.exchange, top.symbol))
    mean_mid = points[-1].mean_mid if points else None
    return row_from(QuoteRow, top, mean_mid=mean_mid, status=top.status(snapshot.now, snapshot.max_quote_age))


def _spread_row(cell: SpreadCell, windows: list[WindowRow]) -> SpreadRow:
    bps = {name: round(getattr(cell, name), 4) for name in ("gross_bps", "fee_bps", "net_bps")}
    return row_from(SpreadRow, cell, windows=windows, **bps)


def _window_row(window: SpreadWindow) -> WindowRow:
    return row_from(WindowRow, window, seconds=window.length_seconds)
