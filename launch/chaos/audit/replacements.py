"""Finds orders that replaced one that had filled: the same amount was traded twice. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from launch.chaos.audit.records import AuditedAccount, Violation
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.cycle_trades import CycleTrade

SEARCH_TIME = 5 * MICROSECONDS
"""A bot searches this long for an order before the leg counts as never sent, so an order that filled within that time
must have been found. One that travels longer cannot be ruled out (docs/adr/0011); it is flattened once found."""


@dataclass(frozen=True, slots=True)
class RecordedLeg:
    """A leg of an arbitrage; equal if it is the same leg of the same arbitrage."""

    arbitrage_id: str
    leg: Leg = field(compare=False)
    role: str

    @property
    def name(self) -> str:
        return f"{self.role} leg on {self.leg.exchange}"


def replacements(
    account: AuditedAccount, orders: Mapping[str | None, RecordedLeg | None], trades: Sequence[Arbitrage | CycleTrade]
) -> Iterator[Violation]:
    """Return legs that ended as never sent or rejected and were replaced, although their orders had filled; `orders`:
    order id → its leg."""
    by_id = {trade.arbitrage_id: trade for trade in trades}
    for order_id, filled_at in account.filled_since.items():
        filed = orders.get(order_id)
        if filed is None or not filed.leg.is_final:
            continue
        if filled_at - filed.leg.times.get("granted", 0) > SEARCH_TIME:
            continue
        for other in _replacements_of(filed, by_id[filed.arbitrage_id]):
            detail = f"{filed.name}: order {order_id} had filled when the {other.role} leg was granted"
            yield Violation("replaced_while_filled", detail, filed.arbitrage_id)


def _failed_at(leg: Leg) -> int:
    return leg.times.get("unconfirmed", leg.times.get("done", 0))


def _replacements_of(filed: RecordedLeg, trade: Arbitrage | CycleTrade) -> list[Leg]:
    """Return legs that were granted after this one had failed and before any fill of it was booked; of a cycle's those
    that unwind, since each other leg is one of its own."""
    failed = _failed_at(filed.leg)
    booked = [step.at for step in trade.history if step.what == f"{filed.role} filled" and step.at >= failed]
    return [
        leg
        for leg in trade.legs
        if leg.role != filed.role
        and not leg.role.startswith("leg")
        and leg.times.get("granted", 0) >= failed
        and all(leg.times["granted"] < at for at in booked)
    ]
