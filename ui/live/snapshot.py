"""The dashboard's state at one moment: immutable, so that any thread may read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.accounting.profit_groups import profit_from
from market.accounting.transfer_lifecycle import MoneyTransfer
from market.decide.settings import Settings
from market.prices.feed_state import FeedState
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import BalanceRow
from store.aggregates.session_totals import SessionTotals
from ui.live.detection_state import DetectionState
from ui.live.episodes import LiveEpisode
from ui.live.price_series import PricePoint
from ui.live.spread_table import SpreadCell
from ui.live.top_of_book import TopOfBook

MarketKey = tuple[str, str]
"""Exchange and symbol."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Read from the store again after a change. Balances and feeds are few; the totals are expensive."""

    balances: tuple[BalanceRow, ...]
    feeds: tuple[FeedState, ...]
    totals: SessionTotals
    opening: Mapping[str, Mapping[str, Decimal]] = field(default_factory=dict)
    """What the exchanges reported when the session began: exchange → currency → amount."""
    transfers: tuple[MoneyTransfer, ...] = ()
    """Between exchanges: those wanted or under way, and all of the session, oldest first."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Whether the two sources are being followed right now."""

    kafka: bool = False
    mongodb: bool = False


@dataclass(frozen=True, slots=True)
class LiveSnapshot:
    """Sequences in time are newest first. `now` in microseconds of market time.

    `tops`, `series`, `spreads`, `windows` and `asset_episodes` are those of `base`, with FX tops; None: of every asset.
    """

    now: int
    sources: Sources
    detection: DetectionState
    settings: Settings | None
    tops: tuple[TopOfBook, ...]
    series: dict[MarketKey, tuple[PricePoint, ...]]
    spreads: tuple[SpreadCell, ...]
    windows: tuple[SpreadWindow, ...]
    opportunities: tuple[Opportunity, ...]
    opportunity_count: int
    """Distinct ids of this session seen since this process started."""
    episodes: tuple[LiveEpisode, ...]
    arbitrages: tuple[Arbitrage, ...]
    ledger: Ledger
    base: str | None = None
    asset_episodes: tuple[LiveEpisode, ...] = ()

    @property
    def max_quote_age(self) -> int:
        """The maximum age in microseconds; the shipped default until the settings are known."""
        return (self.settings.max_quote_age_ms if self.settings else 2_000) * 1_000


def empty_ledger(settlement_currency: str) -> Ledger:
    return Ledger((), (), SessionTotals(profit_from(settlement_currency, {}), {}, {}))
