"""Messages of `/ws/live` and `/api/stream`: a snapshot, then pulses (≤ 4 a second), trades at once, the ledger.

Each has a `sequence`: a client that reconnects with the last one (`since`, or Last-Event-ID) misses no trade.

A client may name the one asset that it shows, `base`, in the address or, over the WebSocket, in a message
`{"base": "ETH"}`, which a snapshot answers; `base=` is the session's first asset. Without one it receives every asset,
which costs more with each of them.

* `snapshot`: everything. It replaces the client's whole state. `is_complete` false: trades since then are left out.
  `series` has every market, but points only of `base`. `regions`: exchange → region of its bots, if the session has
  any.
* `pulse`: of `base`: quotes (and FX), newest points of charts, volatility of a year (a fraction of one), spreads,
  newest episodes; of all assets: new opportunities, the newest episodes; the state of detection; at least one a second.
* `assets`: every asset whose prices or best pair changed, at most twice a second.
* `trade`: one arbitrage as it stands; `arbitrage_id`, `event_time` and `times` are repeated outside of it.
* `ledger`: balances, inventory, feeds, P&L (also by exchange, asset, day), rejections, episodes by
  outcome. `settings`: the ones in force.
"""

from collections.abc import Iterable, Mapping
from typing import get_args

import orjson

from market.accounting.profit_groups import GroupedBy, profit_by
from market.decide.settings import Settings
from market.instruments.markets import Market
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from session.session import Session
from ui.live.price_series import PricePoint
from ui.live.price_volatility import annual_volatility
from ui.live.snapshot import LiveSnapshot, MarketKey
from ui.rows.arbitrage import arbitrage_row, balance_row, pnl_line_row, pnl_row, reason_rows
from ui.rows.attribute import row_from
from ui.rows.episode import live_episode_row
from ui.rows.inventory import inventory_row
from ui.rows.market import (
    FeedRow,
    SeriesRow,
    SourcesRow,
    opportunity_row,
    quote_rows,
    series_row,
    simulated_market_row,
    spread_rows,
)
from ui.rows.matrix import MatrixRow
from ui.rows.region import exchange_regions

SHOWN_OPPORTUNITIES = 20
SHOWN_EPISODES = 20
"""More than the table shows, so that a filter by exchange finds some."""
SHOWN_ARBITRAGES = 100
"""More than the table shows at once, so that a filter finds some."""


def snapshot_message(
    session: Session, snapshot: LiveSnapshot, books: LiveSnapshot, assets: list[MatrixRow], arbitrages: int
) -> str:
    """Return the message. `books` has the quotes of every asset, also if `snapshot` is of one; `arbitrages`: how many
    of the newest."""
    return _text(
        "snapshot",
        {
            "mode": session.mode,
            "simulated_market": simulated_market_row(session),
            "session_id": session.session_id,
            "settlement_currency": session.settlement_currency,
            "regions": exchange_regions(session) if session.place.regions else {},
            "base": snapshot.base,
            "series": [_series(snapshot, market) for market in session.traded],
            "assets": assets,
            "arbitrages": [arbitrage_row(arbitrage) for arbitrage in snapshot.arbitrages[:arbitrages]],
            "settings": _settings(snapshot.settings),
            "ledger": _ledger(session, books),
            **_market(session, snapshot, snapshot.opportunities),
        },
    )


def pulse_message(
    session: Session,
    snapshot: LiveSnapshot,
    points: Mapping[MarketKey, PricePoint],
    opportunities: Iterable[Opportunity],
) -> str:
    drawn = {
        f"{key[0]} {key[1]}": (point.time / MICROSECONDS, point.mid, point.mean_mid)
        for key, point in points.items()
        if key in snapshot.series
    }
    return _text("pulse", {"points": drawn, **_market(session, snapshot, opportunities)})


def assets_message(assets: list[MatrixRow]) -> str:
    return _text("assets", {"assets": assets})


def trade_message(arbitrage: Arbitrage) -> str:
    row = arbitrage_row(arbitrage)
    return _text(
        "trade",
        {
            "arbitrage_id": row["arbitrage_id"],
            "state": row["state"],
            "is_final": row["is_final"],
            "event_time": row["event_time"],
            "times": row["times"],
            "arbitrage": row,
        },
    )


def ledger_message(session: Session, snapshot: LiveSnapshot) -> str:
    return _text("ledger", {"ledger": _ledger(session, snapshot)})


def settings_message(settings: Settings) -> str:
    return _text("settings", {"settings": _settings(settings)})


def _market(session: Session, snapshot: LiveSnapshot, opportunities: Iterable[Opportunity]) -> dict[str, object]:
    newest = list(opportunities)[:SHOWN_OPPORTUNITIES]
    return {
        "now": snapshot.now,
        "sources": row_from(SourcesRow, snapshot.sources),
        "detection": snapshot.detection,
        "quotes": quote_rows(snapshot),
        "volatility": annual_volatility(snapshot.series, session.traded),
        "spreads": spread_rows(snapshot),
        "opportunities": [opportunity_row(opportunity, snapshot.settings) for opportunity in newest],
        "opportunity_count": snapshot.opportunity_count,
        "episodes": [live_episode_row(one, snapshot.settings) for one in snapshot.episodes[:SHOWN_EPISODES]],
        "asset_episodes": [
            live_episode_row(one, snapshot.settings) for one in snapshot.asset_episodes[:SHOWN_EPISODES]
        ],
    }


def _series(snapshot: LiveSnapshot, market: Market) -> SeriesRow:
    return series_row(market, snapshot.series.get((market.exchange, market.symbol), ()))


def _ledger(session: Session, snapshot: LiveSnapshot) -> dict[str, object]:
    ledger = snapshot.ledger
    groups, earned = ledger.totals.groups, ledger.totals.profit.net
    return {
        "balances": [balance_row(balance) for balance in ledger.balances],
        "feeds": [row_from(FeedRow, feed) for feed in ledger.feeds],
        "pnl": pnl_row(ledger.totals.profit, ledger.totals.arbitrages),
        "pnl_by": {by: [pnl_line_row(line) for line in profit_by(groups, by)] for by in get_args(GroupedBy)},
        "inventory": inventory_row(
            session, snapshot, ledger.balances, ledger.opening, snapshot.arbitrages, earned, ledger.transfers
        ),
        "episodes": ledger.totals.episodes,
        "rejections": reason_rows(ledger.totals.rejections, ledger.totals.missed_episodes, ledger.totals.missed_profit),
    }


def _settings(settings: Settings | None) -> dict[str, object] | None:
    return settings.model_dump(mode="json") if settings else None


def _text(kind: str, fields: Mapping[str, object]) -> str:
    return orjson.dumps({"type": kind, **fields}).decode()
