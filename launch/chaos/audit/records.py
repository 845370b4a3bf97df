"""The evidence of an audit, and the violations it finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from market.instruments.markets import Market
from simulators.matching.order_records import RejectedOrder, SimulatedFill, SimulatedOrder
from simulators.matching.transfer_records import SimulatedDeposit, SimulatedWithdrawal
from store.queries.store_snapshot import StoreSnapshot

ViolationKind = Literal[
    "posted_twice",
    "posted_late",
    "unknown_order",
    "order_unbooked",
    "replaced_while_filled",
    "order_differs",
    "fill_missing",
    "fill_unknown",
    "fill_twice",
    "fill_differs",
    "fill_misfiled",
    "left_open",
    "single_leg_undecided",
    "reservation_left",
    "liquidity_differs",
    "illegal_history",
    "step_after_takeover",
    "day_net_differs",
    "balance_missing",
    "balance_differs",
    "withdrawal_twice",
    "withdrawal_unknown",
    "transfer_differs",
    "transfer_left_open",
    "not_recovered",
]
"""Rules; the supervisor checks the last one, which the records do not show."""

RegionViolationKind = Literal[
    "traded_twice",
    "liquidity_overdrawn",
    "not_granted",
    "order_while_cut",
    "books_differ",
    "tick_missing",
    "tick_unknown",
    "tick_disordered",
]
"""Rules only for sessions with regions, beside all others."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule."""

    kind: ViolationKind | RegionViolationKind
    detail: str
    arbitrage_id: str | None = None


@dataclass(frozen=True, slots=True)
class AuditedAccount:
    """One exchange's record of the test account: opening balances, orders in their last state, fills, rejections."""

    exchange: str
    opening: Mapping[str, Decimal]
    orders: Sequence[SimulatedOrder]
    fills: Sequence[SimulatedFill]
    rejected: Sequence[RejectedOrder] = ()
    came_at: Mapping[str, int] = field(default_factory=dict)
    """Order → when the journal first recorded it, microseconds of the machine's clock, because the exchange's may be
    off."""
    filled_since: Mapping[str, int] = field(default_factory=dict)
    """Order → time of its first fill, by the same clock."""
    withdrawals: Sequence[SimulatedWithdrawal] = ()
    """In their last state."""
    deposits: Sequence[SimulatedDeposit] = ()


@dataclass(frozen=True, slots=True)
class Stopped:
    """A pause (SIGSTOP) of a bot of `exchange`, by the machine's clock, microseconds; `until` None: it still lasts."""

    exchange: str
    since: int
    until: int | None = None

    def is_within(self, first: int, last: int) -> bool:
        """Return whether it stood still at any time from `first` to `last`."""
        return self.since <= last and (self.until is None or self.until >= first)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Both sides: the exchanges' accounts by name, and the store."""

    accounts: Mapping[str, AuditedAccount]
    snapshot: StoreSnapshot
    markets: Mapping[tuple[str, str], Market]
    """(exchange, symbol) → market."""
    stops: Sequence[Stopped] = ()
    """Pauses of bots, injected by the run itself."""

    @property
    def traded(self) -> frozenset[str]:
        """Return exchanges with traded markets."""
        return frozenset(exchange for (exchange, _), market in self.markets.items() if not market.is_fx)
