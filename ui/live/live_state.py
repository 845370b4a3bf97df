"""The latest state from streams and store, of bounded size; no I/O, one thread."""

from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from session.clock import Clock
from session.session import Session
from streams.message_format import WireError
from ui.live.detection_state import DetectionState
from ui.live.live_episodes import LiveEpisodes
from ui.live.live_snapshot import Ledger, LiveSnapshot, MarketKey, Sources, empty_ledger
from ui.live.opportunity_census import OpportunityCensus
from ui.live.price_series import PricePoint, PriceSeries
from ui.live.spread_table import SpreadCell, SpreadTable
from ui.live.top_of_book import LatestRow, TopOfBook

KEPT_OPPORTUNITIES = 500
KEPT_ARBITRAGES = 200
REMEMBERED_IDS = 20_000
"""A re-emission after a crash lies well within."""


class LiveState:
    """Rows go in by `apply_*`; `snapshot` is the whole, `take_points` what the charts gained since the last call."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._clock = clock
        self._session = session
        self._latest: dict[MarketKey, LatestRow] = {}
        self._series: dict[MarketKey, PriceSeries] = {
            (market.exchange, market.symbol): PriceSeries() for market in session.traded
        }
        self._moved: set[MarketKey] = set()
        self._table = SpreadTable(session.markets, session.settlement_currency)
        self._opportunities: deque[Opportunity] = deque(maxlen=KEPT_OPPORTUNITIES)
        self._opportunity_ids: OrderedDict[str, None] = OrderedDict()
        self._opportunity_count = 0
        self.census = OpportunityCensus()
        self._episodes = LiveEpisodes()
        self._windows: dict[tuple[str, str, str, int], SpreadWindow] = {}
        self._arbitrages: OrderedDict[str, Arbitrage] = OrderedDict()
        self.settings: Settings | None = None
        self.ledger: Ledger = empty_ledger(session.settlement_currency)
        self.sources = Sources()
        self.detection: DetectionState = "unknown"

    def apply_tick(self, row: Mapping[str, Any]) -> None:
        """A row of `ticks`; kinds that are not shown are ignored. Raises WireError."""
        try:
            kind = row["kind"]
            if kind in ("quote", "fx"):
                self._apply_quote((row["exchange"], row["symbol"]), row)
            elif kind in ("alive", "withdrawn", "fx_alive", "fx_withdrawn"):
                self._apply_mark((row["exchange"], row["symbol"]), row)
        except (KeyError, TypeError) as error:
            raise WireError(f"not a row of ticks: {error!r}") from error

    def apply_opportunity(self, opportunity: Opportunity) -> bool:
        """False where it is of an earlier session, or its id is known already: the first with an id wins."""
        if opportunity.opportunity_id in self._opportunity_ids or self._is_of_before(opportunity):
            return False
        self._opportunity_ids[opportunity.opportunity_id] = None
        if len(self._opportunity_ids) > REMEMBERED_IDS:
            self._opportunity_ids.popitem(last=False)
        self._opportunity_count += 1
        self._episodes.record(self.census.record(opportunity), opportunity)
        self._opportunities.appendleft(opportunity)
        return True

    def _is_of_before(self, opportunity: Opportunity) -> bool:
        """The topic keeps those of earlier sessions. Events of a replay have the times of its recording."""
        is_replay = self._session.replay is not None
        times = (opportunity.detected_time,) if is_replay else (opportunity.detected_time, opportunity.event_time)
        return min(times) < self._session.started_at

    def apply_window(self, window: SpreadWindow) -> None:
        """Keeps the newest of each pair and length."""
        key = (window.base, window.buy_exchange, window.sell_exchange, window.length_seconds)
        known = self._windows.get(key)
        if known is None or window.end >= known.end:
            self._windows[key] = window

    def apply_arbitrage(self, arbitrage: Arbitrage) -> bool:
        """Whether it is a change: older states and repeats are ignored."""
        known = self._arbitrages.get(arbitrage.arbitrage_id)
        if known is not None and (known == arbitrage or _progress(arbitrage) < _progress(known)):
            return False
        self._arbitrages[arbitrage.arbitrage_id] = arbitrage
        while len(self._arbitrages) > KEPT_ARBITRAGES:
            self._arbitrages.popitem(last=False)
        return True

    def arbitrages(self) -> tuple[Arbitrage, ...]:
        """Newest first."""
        return tuple(reversed(self._arbitrages.values()))

    def opportunities(self) -> tuple[Opportunity, ...]:
        """The newest distinct ones of the stream, newest first."""
        return tuple(self._opportunities)

    def take_points(self) -> dict[MarketKey, PricePoint]:
        """The newest point of each series that moved since the last call."""
        moved, self._moved = self._moved, set()
        newest = {key: self._series[key].newest for key in moved}
        return {key: point for key, point in newest.items() if point is not None}

    def snapshot(self) -> LiveSnapshot:
        now = self._clock.now()
        tops = self._tops()
        settings = self.settings
        return LiveSnapshot(
            now=now,
            sources=self.sources,
            detection=self.detection,
            settings=settings,
            tops=tuple(tops.values()),
            series={key: series.points() for key, series in self._series.items()},
            spreads=self._spreads(tops, settings, now),
            windows=tuple(self._windows.values()),
            opportunities=self.opportunities(),
            opportunity_count=self._opportunity_count,
            episodes=self._episodes.newest(),
            arbitrages=self.arbitrages(),
            ledger=self.ledger,
        )

    def _tops(self) -> dict[MarketKey, TopOfBook]:
        """A row that is not a valid quote is dropped."""
        tops: dict[MarketKey, TopOfBook] = {}
        for key, latest in sorted(self._latest.items()):
            try:
                tops[key] = latest.top()
            except WireError:
                del self._latest[key]
        return tops

    def _spreads(self, tops: dict[MarketKey, TopOfBook], settings: Settings | None, now: int) -> tuple[SpreadCell, ...]:
        """None before the fees are known: a spread without fees would be too high."""
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
    """Grows with each step of an arbitrage. A late fill reopens it, which its history shows."""
    done = sum(leg.is_final for leg in arbitrage.legs)
    return len(arbitrage.history), arbitrage.state in FINAL_STATES, len(arbitrage.legs), done
