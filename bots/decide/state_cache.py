"""The bot's cache of recent state, which saves round trips. It is never authoritative: the store decides."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain

from bots.decide.partner_budgets import PartnerBudgets, less_open_legs
from market.accounting.inventory import exposures_of
from market.accounting.rebalancing import imbalance_of
from market.accounting.transfer_lifecycle import MoneyTransfer, is_taken, still_ours
from market.accounting.transfer_planning import OFF, TransferRules, counted_rows
from market.accounting.transfer_terms import TransferTerms
from market.decide.cycle_checks import cycle_notional_keys
from market.decide.decision_context import RiskState, notional_keys
from market.decide.kill_switch import HALTED, permits_orders
from market.decide.place_values import PlacesLeft, PlaceValues
from market.decide.quarantine import HISTORY_SECONDS, belongs_to_history
from market.decide.settings import Settings
from market.decide.thresholds import Imbalance
from market.decide.trade_bounds import bounds_now
from market.instruments.cycles import Cycle
from market.money import ZERO, decimal_of_double
from market.prices.episodes import DIGITS, TradeBounds, tradable_profit
from market.prices.opportunities import Opportunity
from market.prices.spread_statistics import SpreadWindow
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage, TradeOfLegs
from market.trade.cycle_reservations import CycleRows
from market.trade.cycle_trades import CycleTrade
from market.trade.leases import UNFENCED
from market.trade.reservation_state import BalanceRow, PairRow
from store.ports.parts import Balances

PERSISTENCE_SECONDS = 10
MAX_SETTINGS_SILENCE = 1 * MICROSECONDS
USED_UP_QUOTES = 64
"""How many used-up quotes are remembered: the next quote soon replaces one."""


def _unlimited() -> int | None:
    """Default for accounts without rate limits."""
    return None


def _no_silence() -> int:
    """Default without a stream that could fall silent."""
    return 0


def _always() -> bool:
    """Default without lease or rate limits."""
    return True


@dataclass(slots=True)
class StateCache:
    """Newest settings, windows, balances and open arbitrages."""

    settings: Settings
    exchange: str = ""
    """The exchange of this bot; none in a backtest."""
    partitions: int = 1
    """The partitions of the log."""
    free: dict[tuple[str, str], Decimal] = field(default_factory=dict)
    """(exchange, currency) → usable balance."""
    open: dict[str, Arbitrage] = field(default_factory=dict)
    open_cycles: dict[str, CycleTrade] = field(default_factory=dict)
    is_stopping: bool = False
    """The session is ending: no new reservation from now on, by any bot."""
    is_draining: bool = False
    """This process reserves nothing more and is about to exit; another may take over its exchange."""
    is_locked_out: bool = False
    """The exchange currently rejects the account: nothing is reserved that could not be sent."""
    is_reserving_signal: bool = False
    """Whether the order of a moving average signal is being reserved right now."""
    paused_until: dict[str, int] = field(default_factory=dict)
    """Exchange → until when it is paused, by the store's clock, microseconds."""
    unexplained: tuple[str, ...] = ()
    """Exchanges that are reduce-only for an unexplained difference."""
    drift: dict[str, Decimal] = field(default_factory=dict)
    """Currency → change of its total over all exchanges since the session's opening."""
    on_its_way: Mapping[str, Decimal] = field(default_factory=dict)
    """Currency → what is between exchanges, as the drift counts it."""
    server_ahead: int = 0
    """How far the store's clock is ahead of this machine's, microseconds."""
    legs_left: Callable[[], int | None] = _unlimited
    """How many more legs the rate limits of the bot's exchange allow now; None without limits."""
    has_room: Callable[[], bool] = _always
    """Whether the rate limits allow an unwinding order now."""
    partners: PartnerBudgets = field(default_factory=lambda: PartnerBudgets({}))
    """Estimated rate limit budgets of the other bots."""
    session_id: str = ""
    transfers: tuple[MoneyTransfer, ...] = ()
    """Those that are proposed or under way, of whatever exchanges."""
    transfer_rules: TransferRules = OFF
    transfer_terms: Mapping[tuple[str, str], TransferTerms] = field(default_factory=dict)
    """(exchange, currency) → what sending it away costs, as far as that is known."""
    place_values: PlaceValues = field(default_factory=lambda: PlaceValues({}))
    """What places within the rate limits are worth."""
    holds_lease: Callable[[], bool] = _always
    """Whether this process certainly still holds its lease."""
    decides: Callable[[], bool] = _always
    """Whether it decides on any opportunities."""
    settings_silence: Callable[[], int] = _no_silence
    """For how long the stream of the settings has been silent, microseconds: a halt may not have come through."""
    _reserved_at: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """When the newest arbitrage of a pair was first reserved, by the store's clock."""
    _cycle_reserved_at: dict[str, int] = field(default_factory=dict)
    _rows: dict[tuple[str, str], BalanceRow] = field(default_factory=dict)
    _places: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Currency → the keys of its rows."""
    _opening: Balances = field(default_factory=dict)
    _used_up: deque[str] = field(default_factory=lambda: deque(maxlen=USED_UP_QUOTES))
    _windows: dict[tuple[str, str, str], SpreadWindow] = field(default_factory=dict)
    _history: dict[tuple[str, str, str], tuple[SpreadWindow, ...]] = field(default_factory=dict)

    @property
    def reserves_nothing_new(self) -> bool:
        """Whether this process reserves nothing new: it is draining, or its account is rejected."""
        return self.is_draining or self.is_locked_out

    def update_window(self, window: SpreadWindow) -> None:
        """Store the newest 10 s window of each pair, and its 60 s windows of the last minutes."""
        pair = (window.base, window.buy_exchange, window.sell_exchange)
        if window.length_seconds == HISTORY_SECONDS:
            # a window that comes again after a restart of its source may be older than those known
            others = [one for one in self._history.get(pair, ()) if one.end != window.end]
            newest = max(window.end, *(one.end for one in others), 0)
            self._history[pair] = tuple(one for one in (*others, window) if belongs_to_history(one, newest))
        known = self._windows.get(pair)
        if window.length_seconds == PERSISTENCE_SECONDS and (known is None or window.end > known.end):
            self._windows[pair] = window

    def window_of(self, opportunity: Opportunity) -> SpreadWindow | None:
        return self._windows.get(_pair_of(opportunity))

    def history_of(self, opportunity: Opportunity) -> tuple[SpreadWindow, ...]:
        """Return the 60 s windows of its pair that count at the time of the opportunity."""
        history = self._history.get(_pair_of(opportunity), ())
        return tuple(window for window in history if belongs_to_history(window, opportunity.event_time))

    def update_balances(self, rows: Iterable[BalanceRow]) -> None:
        """Replace all balance rows. Unchanged row objects cost next to nothing."""
        before, self._rows = self._rows, {_place_of(row): row for row in rows}
        if before.keys() != self._rows.keys():
            self.free, self.drift = {place: row.usable for place, row in self._rows.items()}, {}
            self._places = {}
            for exchange, currency in self._rows:
                self._places.setdefault(currency, []).append((exchange, currency))
            self._update_drift(self._rows.values())
            return
        self._change([row for place, row in self._rows.items() if row is not before[place]])

    def update_some_balances(self, rows: Iterable[BalanceRow]) -> None:
        """Replace these rows, and keep the others: a backtest has hundreds, of which a trade changes four."""
        changed = [row for row in rows if row is not self._rows.get(_place_of(row))]
        if not all(_place_of(row) in self._rows for row in changed):
            self.update_balances((self._rows | {_place_of(row): row for row in changed}).values())
            return
        self._rows.update((_place_of(row), row) for row in changed)
        self._change(changed)

    def _change(self, changed: Collection[BalanceRow]) -> None:
        self.free.update((_place_of(row), row.usable) for row in changed)
        places = (place for currency in {row.currency: None for row in changed} for place in self._places[currency])
        self._update_drift(self._rows[place] for place in places)

    def held(self, exchange: str) -> frozenset[str]:
        """Currencies of which the account there has something."""
        rows = (row for row in self._rows.values() if row.exchange == exchange)
        return frozenset(row.currency for row in rows if row.free + row.held > 0)

    def update_opening(self, opening: Balances) -> None:
        """Set the session's opening balances; exchanges that have not reported any are left out of the drift."""
        if opening == self._opening:
            return
        self._opening = opening
        self.drift = {}
        self._update_drift(self._rows.values())

    def record_used_up(self, quote_id: str) -> None:
        """Record that the store rejected a trade because this quote's liquidity is used up."""
        self._used_up.append(quote_id)

    def update_arbitrage(self, arbitrage: Arbitrage) -> None:
        pair = _pair_of(arbitrage.opportunity)
        reserved_at = min((leg.times.get("reserved", 0) for leg in arbitrage.legs), default=0)
        self.partners.update(arbitrage)
        self._reserved_at[pair] = max(reserved_at, self._reserved_at.get(pair, 0))
        if arbitrage.state in OPEN_STATES:
            self.open[arbitrage.arbitrage_id] = arbitrage
        else:
            self.open.pop(arbitrage.arbitrage_id, None)

    def update_cycle(self, trade: CycleTrade) -> None:
        """Store a trade on a cycle as it is now."""
        self.partners.update(trade)
        cycle_id = trade.cycle.cycle_id
        self._cycle_reserved_at[cycle_id] = max(trade.times["reserved"], self._cycle_reserved_at.get(cycle_id, 0))
        if trade.is_open:
            self.open_cycles[trade.trade_id] = trade
        else:
            self.open_cycles.pop(trade.trade_id, None)

    def open_trade(self, trade_id: str) -> TradeOfLegs | None:
        """None if it is not open, or not known yet."""
        return self.open.get(trade_id) or self.open_cycles.get(trade_id)

    @property
    def open_trades(self) -> Iterable[TradeOfLegs]:
        """All that is open, of pairs and of cycles."""
        return chain(self.open.values(), self.open_cycles.values())

    def replace_open(self, arbitrages: Iterable[Arbitrage], cycles: Iterable[CycleTrade] = ()) -> None:
        """Replace what is open."""
        self.open = {arbitrage.arbitrage_id: arbitrage for arbitrage in arbitrages}
        self.open_cycles = {trade.trade_id: trade for trade in cycles}

    def hears_settings(self) -> bool:
        """Whether a halt would come through within a second."""
        return self.settings_silence() <= MAX_SETTINGS_SILENCE

    def send_block(self) -> str | None:
        """Why no order may be sent right now; None if it may."""
        if not permits_orders(self.settings.trading_state):
            return HALTED
        if not self.hears_settings():
            return "the settings could not be followed for a second: trading may be halted"
        if self.is_locked_out:
            return "the exchange rejects the account"
        return None if self.holds_lease() else "another process may have taken over the lease"

    def final_within(self) -> float:
        """Seconds within which an acknowledged order has to become final."""
        return self.settings.order_final_ms / 1_000

    def can_send(self) -> bool:
        """Whether an unwinding order could be sent now."""
        return self.send_block() is None and self.has_room()

    def places_left(self, opportunity: Opportunity, under_way: int = 0) -> PlacesLeft:
        """`new_legs_left` of both its exchanges, the other bots' estimated."""
        return self.left_at(opportunity.buy.exchange, under_way), self.left_at(opportunity.sell.exchange, under_way)

    def left_at(self, exchange: str, under_way: int = 0) -> int | None:
        """`new_legs_left` of an exchange, another bot's estimated."""
        if exchange == self.exchange:
            return self.new_legs_left(exchange, under_way)
        return self.partners.legs_left(exchange, self.open_trades, under_way)

    def place_value(self, opportunity: Opportunity, left: PlacesLeft, now: int) -> Decimal | None:
        """Return what a trade on it has to bring for its places at both exchanges; None if nothing is asked for.
        `now`: the market's time, microseconds."""
        share = self.settings.place_value_share
        if share <= 0 or not self.place_values.has_any:
            return None
        return (self.place_values.price(opportunity, left, now) * decimal_of_double(share)).quantize(DIGITS)

    def see_wanted(self, opportunity: Opportunity, left: PlacesLeft, now: int) -> None:
        """Take one that would be traded if the rate limits allowed more, or that is."""
        if self.place_values.has_any:
            profit = tradable_profit(opportunity, self.bounds_of(opportunity))
            self.place_values.see(opportunity, profit, left, now)

    def surplus(self, opportunity: Opportunity, now: int) -> Decimal:
        """Return what a trade on it would bring beyond its places."""
        profit = tradable_profit(opportunity, self.bounds_of(opportunity))
        return profit - (self.place_value(opportunity, self.places_left(opportunity), now) or ZERO)

    def new_legs_left(self, exchange: str, attempts: int = 0) -> int | None:
        """`legs_left` less the open legs there, whose cost is not spent yet, and less `attempts`, the reservations
        under way."""
        return less_open_legs(self.legs_left(), exchange, self.open_trades, attempts)

    @property
    def used_up(self) -> Collection[str]:
        """Return the ids of quotes that are known to be used up."""
        return self._used_up

    def is_used_up(self, opportunity: Opportunity) -> bool:
        """Whether one of its quotes is known to be used up."""
        return opportunity.buy.quote_id in self._used_up or opportunity.sell.quote_id in self._used_up

    def imbalance(self, opportunity: Opportunity) -> Imbalance | None:
        """Return what a trade on it would bring back, if its spread is too small for any other."""
        settings, base = self.settings, opportunity.base
        buy, sell = opportunity.buy.exchange, opportunity.sell.exchange
        if settings.rebalancing_bps <= 0 or buy == sell or not self._opening:
            return None
        threshold = settings.threshold(base, buy, sell)
        if not threshold - settings.rebalancing_bps <= opportunity.net_bps < threshold:
            return None
        if is_taken(frozenset({(buy, base), (sell, base)}), self.transfers):
            # it is paid for already, or would be undone
            return None
        rows = counted_rows(
            (self._rows[place] for place in self._places.get(base, ())),
            [one for one in self.transfers if one.currency == base],
        )
        rules, terms = self.transfer_rules, self.transfer_terms.get((sell, base))
        return imbalance_of(rows, self._opening, buy, sell, terms, rules.tolerance, rules.target)

    def bounds_of(self, opportunity: Opportunity) -> TradeBounds:
        """Return what one trade on it may use now: notional and balances."""
        return bounds_now(opportunity, self.settings, self.free)

    def risk_state(self, opportunity: Opportunity, now: int) -> RiskState:
        """Return the exposure and counters that the store would most likely check at wall time `now`. The day's result
        is known to the store alone."""
        pair = _pair_of(opportunity)
        return RiskState(
            now=now + self.server_ahead,
            reservations_open=not self.is_stopping,
            open_arbitrages=len(self.open) + len(self.open_cycles),
            notional=self._notional(),
            paused_until=self.paused_until,
            unexplained=self.unexplained,
            pair_busy=any(_pair_of(one.opportunity) == pair for one in self.open.values()),
            pair_reserved_at=self._reserved_at.get(pair, 0),
        )

    def _notional(self) -> dict[str, Decimal]:
        """`notional_keys` → notional of the open arbitrages."""
        sums: dict[str, Decimal] = {}
        for arbitrage in self.open.values():
            for key in notional_keys(arbitrage.opportunity):
                sums[key] = sums.get(key, ZERO) + arbitrage.notional
        for trade in self.open_cycles.values():
            for key in cycle_notional_keys(trade.cycle):
                sums[key] = sums.get(key, ZERO) + trade.notional
        return sums

    def cycle_rows(self, cycle: Cycle, now: int) -> CycleRows:
        """Return what the store would most likely decide on at wall time `now`; leases, used liquidity and the day's
        result are known to the store alone."""
        is_open = any(trade.cycle == cycle for trade in self.open_cycles.values())
        return CycleRows(
            now=now + self.server_ahead,
            by=UNFENCED,  # nothing follows from these rows but what the store is asked
            settings=self.settings,
            balances=self._rows,
            on_cycle=PairRow("open" if is_open else None, self._cycle_reserved_at.get(cycle.cycle_id, 0)),
            reservations_open=not self.is_stopping,
            open_arbitrages=len(self.open) + len(self.open_cycles),
            notional=self._notional(),
            paused_until=self.paused_until,
            unexplained=self.unexplained,
        )

    def update_transfers(self, transfers: Iterable[MoneyTransfer]) -> None:
        """Set what is on its way between exchanges: it is still ours, and nothing can be ordered with it. Ended ones
        count if they began or ended in another session's books."""
        known = tuple(transfers)
        self.transfers = tuple(one for one in known if one.is_wanted)
        on_its_way = still_ours(known, self.session_id)
        if on_its_way != self.on_its_way:
            self.on_its_way = on_its_way
            self._update_drift(self._rows.values())

    def _update_drift(self, rows: Iterable[BalanceRow]) -> None:
        """`rows`: all rows of each currency that changed."""
        exposures = exposures_of(rows, self._opening, {}, on_its_way=self.on_its_way)
        changed = {exposure.currency: exposure.change for exposure in exposures}
        if changed:
            # a new dict, since earlier decisions may hold the last one
            self.drift = {**self.drift, **changed}


def _place_of(row: BalanceRow) -> tuple[str, str]:
    return row.exchange, row.currency


def _pair_of(opportunity: Opportunity) -> tuple[str, str, str]:
    return opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange
