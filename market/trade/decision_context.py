"""The inputs of a decision, as stored with it: enough to repeat it, and nothing else."""

from dataclasses import dataclass, field, replace

from market.decide.risk_checks import Standing, View, notional_keys
from market.decide.settings import Settings
from market.instruments.orders import OrderReport
from market.money import ZERO, BoundedDecimal
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.trade.inflight_orders import inflight_keys
from market.trade.leases import UNFENCED, Actor
from market.trade.reservation_state import (
    SIDES,
    BalanceRow,
    PairRow,
    ReservationState,
    fill_key,
    half_key,
    liquidity_key,
)


@dataclass(frozen=True, slots=True)
class Stood:
    """A bot's `Standing`, less the settings, which have a version, and sums that the opportunity has no part in."""

    now: int
    reservations_open: bool
    open_arbitrages: int
    notional: dict[str, BoundedDecimal]
    paused_until: dict[str, int]
    pair_busy: bool
    pair_reserved_at: int

    def standing(self, settings: Settings) -> Standing:
        return Standing(
            now=self.now,
            settings=settings,
            reservations_open=self.reservations_open,
            open_arbitrages=self.open_arbitrages,
            notional=self.notional,
            # a bot leaves the day's result to the store
            day_net=ZERO,
            paused_until=self.paused_until,
            pair_busy=self.pair_busy,
            pair_reserved_at=self.pair_reserved_at,
        )


@dataclass(frozen=True, slots=True)
class Sight:
    """What the bot of `exchange` knew when it decided, at market time `now`, microseconds."""

    exchange: str
    offset: int
    """Of the row that made the opportunity: one that comes again with its id is older by then."""
    settings_version: int
    now: int
    window: SpreadWindow | None = None
    calmest: SpreadWindow | None = None
    """Of the 60 s windows of the pair the one that decides what is believed."""
    drift: dict[str, BoundedDecimal] = field(default_factory=dict)
    stood: Stood | None = None
    free: dict[str, BoundedDecimal] = field(default_factory=dict)
    """`exchange|currency` → what both legs could use."""
    is_used_up: bool = False
    """Whether the store had said that a quote has nothing left."""
    legs_left: int | None = None
    """How many legs the rate limits of `exchange` let begin; None where nothing limits them."""

    def view(self) -> View:
        history = () if self.calmest is None else (self.calmest,)
        return View(self.now, self.window, history, self.drift, self.legs_left)


def currencies_of(opportunity: Opportunity) -> tuple[str, ...]:
    """Those that its legs move, each once."""
    return tuple(dict.fromkeys((opportunity.base, opportunity.buy.quote_currency, opportunity.sell.quote_currency)))


def stood(opportunity: Opportunity, standing: Standing) -> Stood:
    exchanges = {opportunity.buy.exchange, opportunity.sell.exchange}
    return Stood(
        now=standing.now,
        reservations_open=standing.reservations_open,
        open_arbitrages=standing.open_arbitrages,
        notional={key: standing.notional[key] for key in notional_keys(opportunity) if key in standing.notional},
        paused_until={name: until for name, until in standing.paused_until.items() if name in exchanges},
        pair_busy=standing.pair_busy,
        pair_reserved_at=standing.pair_reserved_at,
    )


def calmest(view: View, settings: Settings) -> SpreadWindow | None:
    """The window that alone sets the limit of `market.decide.quarantine`."""
    deviations = settings.quarantine_deviations
    return min(view.history, key=lambda window: window.mean_bps + deviations * window.deviation, default=None)


@dataclass(frozen=True, slots=True)
class RowsRead:
    """What one transaction read, `ReservationState` less what the arbitrage's own record says already."""

    now: int
    by: Actor = UNFENCED
    settings_version: int | None = None
    is_joined: bool = False
    """Whether there was an arbitrage of this id."""
    reservations_open: bool = True
    open_arbitrages: int = 0
    notional: dict[str, BoundedDecimal] = field(default_factory=dict)
    day_net: BoundedDecimal = ZERO
    paused_until: dict[str, int] = field(default_factory=dict)
    pair: PairRow = field(default_factory=PairRow)
    balances: tuple[BalanceRow, ...] = ()
    liquidity: dict[str, BoundedDecimal] = field(default_factory=dict)
    awaiting_second_leg: dict[str, str | None] = field(default_factory=dict)
    in_flight: dict[str, str | None] = field(default_factory=dict)
    known_fills: tuple[str, ...] = ()

    def rows(self, opportunity: Opportunity, settings: Settings | None) -> ReservationState:
        """As they were, but for the arbitrage and its terms."""
        return ReservationState(
            now=self.now,
            opportunity=opportunity,
            settings=settings,
            reservations_open=self.reservations_open,
            open_arbitrages=self.open_arbitrages,
            notional=self.notional,
            day_net=self.day_net,
            paused_until=self.paused_until,
            by=self.by,
            pair=self.pair,
            balances={(row.exchange, row.currency): row for row in self.balances},
            liquidity=self.liquidity,
            awaiting_second_leg=self.awaiting_second_leg,
            in_flight=self.in_flight,
            known_fills=frozenset(self.known_fills),
        )


def rows_read(rows: ReservationState, report: OrderReport | None = None) -> RowsRead:
    """Those that a later step of an arbitrage follows from; of the ledger only what `report` asks for."""
    opportunity = rows.opportunity
    exchanges = sorted({opportunity.buy.exchange, opportunity.sell.exchange})
    places = [(exchange, currency) for exchange in exchanges for currency in currencies_of(opportunity)]
    reported = () if report is None else tuple(fill_key(fill) for fill in report.fills)
    return RowsRead(
        now=rows.now,
        by=rows.by,
        settings_version=None if rows.settings is None else rows.settings.version,
        is_joined=rows.arbitrage is not None,
        balances=tuple(rows.balances[place] for place in places if place in rows.balances),
        in_flight={key: rows.in_flight.get(key) for key in inflight_keys(opportunity)},
        known_fills=tuple(key for key in reported if key in rows.known_fills),
    )


def rows_read_to_reserve(rows: ReservationState) -> RowsRead:
    """Those that a reservation follows from, or its rejection."""
    opportunity = rows.opportunity
    exchanges = {opportunity.buy.exchange, opportunity.sell.exchange}
    used = [liquidity_key(opportunity, side) for side in SIDES]
    return replace(
        rows_read(rows),
        reservations_open=rows.reservations_open,
        open_arbitrages=rows.open_arbitrages,
        notional={key: rows.notional[key] for key in notional_keys(opportunity) if key in rows.notional},
        day_net=rows.day_net,
        paused_until={name: until for name, until in rows.paused_until.items() if name in exchanges},
        pair=rows.pair,
        liquidity={key: rows.liquidity[key] for key in used if key in rows.liquidity},
        awaiting_second_leg={
            key: rows.awaiting_second_leg.get(key) for key in (half_key(opportunity, side) for side in SIDES)
        },
    )
