"""The latest state from streams and store, of bounded size; no I/O, one thread."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from runtime.clock import Clock
from runtime.recent_names import RecentNames
from session.session import Session
from streams.message_format import WireError
from ui.live.detection_state import DetectionState
from ui.live.episodes import LiveEpisodes
from ui.live.opportunity_census import OpportunityCensus
from ui.live.price_series import PricePoint, PriceSeries
from ui.live.snapshot import Ledger, LiveSnapshot, MarketKey, Sources, empty_ledger
from ui.live.spread_table import AssetLine, SpreadCell, SpreadTable
from ui.live.top_of_book import LatestRow, TopOfBook

KEPT_OPPORTUNITIES = 500
KEPT_ARBITRAGES = 200
REMEMBERED_IDS = 20_000
"""A row that is emitted again after a crash comes well within this time."""


class LiveState:
    """Rows go in by `apply_*`; `snapshot` is the whole, `take_points` what the charts gained since the last call."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._clock = clock
        self._session = session
        self._latest: dict[MarketKey, LatestRow] = {}
        self._keys: dict[str | None, set[MarketKey]] = {}
        """Asset → its markets that were quoted; None: FX markets."""
        self._series: dict[MarketKey, PriceSeries] = {
            (market.exchange, market.symbol): PriceSeries() for market in session.traded
        }
        self._bases = {(market.exchange, market.symbol): market.base for market in session.traded}
        self._moved: set[MarketKey] = set()
        self._table = SpreadTable(session.markets, session.settlement_currency)
        self._opportunities: deque[Opportunity] = deque(maxlen=KEPT_OPPORTUNITIES)
        self._opportunity_ids = RecentNames(REMEMBERED_IDS)
        self.opportunity_count = 0
        self.census = OpportunityCensus()
        self._episodes = LiveEpisodes()
        self._windows: dict[str, dict[tuple[str, str, int], SpreadWindow]] = {}
        self._arbitrages: OrderedDict[str, Arbitrage] = OrderedDict()
        self.settings: Settings | None = None
        self.ledger: Ledger = empty_ledger(session.settlement_currency)
        self.sources = Sources()
        self.detection: DetectionState = "unknown"

    def apply_tick(self, row: Mapping[str, Any]) -> None:
        """Apply a row of `ticks`; kinds that are not shown are ignored. Raises WireError."""
        try:
            kind = row["kind"]
            if kind in ("quote", "fx"):
                self._apply_quote((row["exchange"], row["symbol"]), row)
            elif kind in ("alive", "withdrawn", "fx_alive", "fx_withdrawn"):
                self._apply_mark((row["exchange"], row["symbol"]), row)
        except (KeyError, TypeError) as error:
            raise WireError(f"not a row of ticks: {error!r}") from error

    def apply_opportunity(self, opportunity: Opportunity) -> bool:
        """Record an opportunity. Return False if it is of an earlier session, or its id is known: the first with an id
        wins."""
        if self._is_of_before(opportunity) or not self._opportunity_ids.is_new(opportunity.opportunity_id):
            return False
        self.opportunity_count += 1
        self._episodes.record(self.census.record(opportunity), opportunity)
        self._opportunities.appendleft(opportunity)
        return True

    def _is_of_before(self, opportunity: Opportunity) -> bool:
        """Return whether it is of an earlier session, which the topic keeps. Events of a replay have the times of its
        recording."""
        is_replay = self._session.replay is not None
        times = (opportunity.detected_time,) if is_replay else (opportunity.detected_time, opportunity.event_time)
        return min(times) < self._session.started_at

    def apply_window(self, window: SpreadWindow) -> None:
        """Keep the newest of each pair and length."""
        of_base = self._windows.setdefault(window.base, {})
        key = (window.buy_exchange, window.sell_exchange, window.length_seconds)
        known = of_base.get(key)
        if known is None or window.end >= known.end:
            of_base[key] = window

    def apply_arbitrage(self, arbitrage: Arbitrage) -> bool:
        """Record an arbitrage. Return whether it has changed: older states and repeats are ignored."""
        known = self._arbitrages.get(arbitrage.arbitrage_id)
        if known is not None and (known == arbitrage or _progress(arbitrage) < _progress(known)):
            return False
        self._arbitrages[arbitrage.arbitrage_id] = arbitrage
        while len(self._arbitrages) > KEPT_ARBITRAGES:
            self._arbitrages.popitem(last=False)
        return True

    def arbitrages(self) -> tuple[Arbitrage, ...]:
        """Return the arbitrages, newest first."""
        return tuple(reversed(self._arbitrages.values()))

    def opportunities(self) -> tuple[Opportunity, ...]:
        """Return the newest distinct ones of the stream, newest first."""
        return tuple(self._opportunities)

    def take_points(self) -> dict[MarketKey, PricePoint]:
        """Return the newest point of each series that moved since the last call."""
        moved, self._moved = self._moved, set()
        newest = {key: self._series[key].newest for key in moved}
        return {key: point for key, point in newest.items() if point is not None}

    def latest(self, exchange: str, symbol: str) -> LatestRow | None:
        """Return the newest quote of a market; None if none came yet."""
        return self._latest.get((exchange, symbol))

    def lines(self) -> tuple[AssetLine, ...]:
        """Return every asset with its prices and its best pair now; none before the fees are known."""
        if self.settings is None:
            return ()
        age = self.settings.max_quote_age_ms * 1_000
        return self._table.lines(self._tops(None), self.settings.taker_fees, self._clock.now(), age)

    def snapshot(self, base: str | None = None) -> LiveSnapshot:
        """Return the snapshot with the markets of `base` only; None: of every asset, which costs more with each of
        them."""
        tops = self._tops(base)
        plain = self._without_charts(tops)
        return replace(
            plain,
            series={key: series.points() for key, series in self._series.items() if base in (None, self._bases[key])},
            spreads=self._spreads(tops, plain.settings, plain.now),
            windows=tuple(
                window for name, of in self._windows.items() if base in (None, name) for window in of.values()
            ),
            base=base,
            asset_episodes=self._episodes.newest(base),
        )

    def books(self) -> LiveSnapshot:
        """Return the quotes of every asset, by which balances are valued; without charts, spreads and windows."""
        return self._without_charts(self._tops(None))

    def _without_charts(self, tops: Mapping[MarketKey, TopOfBook]) -> LiveSnapshot:
        return LiveSnapshot(
            now=self._clock.now(),
            sources=self.sources,
            detection=self.detection,
            settings=self.settings,
            tops=tuple(tops.values()),
            series={},
            spreads=(),
            windows=(),
            opportunities=self.opportunities(),
            opportunity_count=self.opportunity_count,
            episodes=self._episodes.newest(),
            arbitrages=self.arbitrages(),
            ledger=self.ledger,
        )

    def _tops(self, base: str | None) -> dict[MarketKey, TopOfBook]:
        """Return the tops of `base`, with FX; None: all. A row that is not a valid quote is dropped."""
        wanted = self._latest.keys() if base is None else self._keys.get(base, set()) | self._keys.get(None, set())
        tops: dict[MarketKey, TopOfBook] = {}
        for key in sorted(wanted & self._latest.keys()):
            try:
                tops[key] = self._latest[key].top()
            except WireError:
                del self._latest[key]
        return tops

    def _spreads(self, tops: dict[MarketKey, TopOfBook], settings: Settings | None, now: int) -> tuple[SpreadCell, ...]:
        """Return the spreads; none before the fees are known, since a spread without fees would be too high."""
        if settings is None:
            return ()
        return self._table.cells(tops, settings.taker_fees, now, settings.max_quote_age_ms * 1_000)

    def _apply_quote(self, key: MarketKey, row: Mapping[str, Any]) -> None:
        known = self._latest.get(key)
        if known is not None and row["sequence"] <= known.row["sequence"]:
            return
        latest = LatestRow(row)
        mid = latest.mid()
        self._latest[key] = latest
        if known is None:
            self._keys.setdefault(None if row["kind"] == "fx" else row["base"], set()).add(key)
        if key in self._series:
            self._series[key].add(row["received_time"], mid)
            self._moved.add(key)

    def _apply_mark(self, key: MarketKey, row: Mapping[str, Any]) -> None:
        known = self._latest.get(key)
        if known is None:
            return
        if row["kind"].endswith("withdrawn"):
            known.is_withdrawn = True
        else:
            known.verified_time = max(known.verified_time, row["received_time"])


def _progress(arbitrage: Arbitrage) -> tuple[int, bool, int, int]:
    """Return a number that grows with each step of an arbitrage. A late fill reopens it, which its history shows."""
    done = sum(leg.is_final for leg in arbitrage.legs)
    return len(arbitrage.history), arbitrage.state in FINAL_STATES, len(arbitrage.legs), done
