"""Orders whose booked fills the exchange's own list contradicts, and which of them its balances, and its answer to the
question for the order, contradict as well: there the books adopt the exchange's version. Pure.

A report may be false in a way that its order allows, and is booked then.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from market.accounting.compared_books import (
    ORDER_SHARE,
    BookedLeg,
    BookState,
    ExchangeState,
    Owners,
    booked_fills,
    booked_terms,
    is_covered,
    rounding_between,
    text_of_fill,
)
from market.accounting.differences import Difference
from market.instruments.orders import Fill, OrderReport, changes_between
from market.money import ZERO, Amount, total
from market.time_units import MICROSECONDS
from market.trade.balance_rounding import rounding_of
from market.trade.order_results import result_of
from market.trade.reservation_state import BalanceRow, fill_key

LISTED_WITHIN = 60 * MICROSECONDS
"""A fill that is missing from the list for longer than that after its leg ended is not on its way: the list, and the
balances, may be those of a machine that lags."""
MOST_RESTATED = 10
"""Orders that are asked for in a round. An exchange that contradicts more of them at once does not lie about an order:
its lists, or our books, are wrong as a whole."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """An order with a fill that the exchange lists otherwise, or no longer; `fills`: all of it as the exchange says."""

    own: BookedLeg
    fills: tuple[Fill, ...]
    is_sure: bool
    """Whether a fill that is not listed had its time to be."""

    @property
    def client_order_id(self) -> str:
        return self.own.leg.client_order_id

    @property
    def changes(self) -> dict[str, Decimal]:
        """Return what each currency's row has more once the books have the exchange's version."""
        leg = self.own.leg
        return changes_between(leg.fills, self.fills, leg.base, leg.quote_currency)


def contradictions(ours: BookState, theirs: ExchangeState) -> list[Contradiction]:
    """None of an order that has a fill in the list or in our books that is another order's there."""
    owners, booked = Owners(ours), booked_fills(ours)
    listed: dict[str, dict[str, Fill]] = {}
    strange: set[str] = set()
    for one in theirs.fills:
        owner, key = owners.of(one.exchange_order_id, one.client_order_id), fill_key(one.fill)
        if owner is not None:
            listed.setdefault(owner.leg.client_order_id, {})[key] = one.fill
        if key in booked and (owner is None or all(fill_key(fill) != key for fill in owner.leg.fills)):
            strange.add(key)
    found = []
    for own in ours.legs:
        there = listed.get(own.leg.client_order_id, {})
        if own.leg.is_booked and strange.isdisjoint({*there, *map(fill_key, own.leg.fills)}):
            version = _version_of(own.leg.fills, there, is_whole=is_covered(own.leg, theirs))
            if any(fill not in version for fill in own.leg.fills):
                waited = theirs.asked_at - own.leg.times.get("done", theirs.asked_at)
                is_dropped = any(fill_key(fill) not in there for fill in own.leg.fills if fill not in version)
                found.append(Contradiction(own, version, not is_dropped or waited >= LISTED_WITHIN))
    return found


def _version_of(booked: Iterable[Fill], listed: Mapping[str, Fill], *, is_whole: bool) -> tuple[Fill, ...]:
    """Return an order's fills as the exchange has them, in our order; `is_whole`: it should list all of them."""
    version: list[Fill] = []
    known = set()
    for fill in booked:
        key = fill_key(fill)
        known.add(key)
        there = listed.get(key, None if is_whole else fill)
        if there is not None:
            version.append(fill if booked_terms(there) == booked_terms(fill) else there)
    return (*version, *(fill for key, fill in listed.items() if key not in known))


def restated(
    contradicted: Sequence[Contradiction], balances: Sequence[tuple[BalanceRow, Decimal]], ours: BookState
) -> list[Contradiction]:
    """Return those that the balances confirm: all together, or the only one that they confirm by itself.

    `balances`: our rows and the exchange's totals, if they can be compared.
    """
    possible = [one for one in contradicted if one.is_sure and _is_possible(one, ours)]
    if not balances or not possible:
        return []
    if _is_confirmed(possible, balances, ours):
        return possible
    alone = [one for one in possible if _is_confirmed([one], balances, ours)]
    return alone if len(alone) == 1 else []


def agreeing(contradicted: Iterable[Contradiction], theirs: ExchangeState) -> list[Contradiction]:
    """Return those of which the exchange, asked for the order itself, says the same as its list.

    List and balances may come from one machine that stands still; such a one does not know the order, or not its end.
    """
    return [one for one in contradicted if _agrees(one, theirs.looked_up.get(one.client_order_id))]


def _agrees(one: Contradiction, report: OrderReport | None) -> bool:
    if report is None or not report.is_final or report.exchange_order_id != one.own.leg.exchange_order_id:
        return False
    said = {fill_key(fill): booked_terms(fill) for fill in report.fills}
    is_same = said == {fill_key(fill): booked_terms(fill) for fill in one.fills}
    return is_same and report.filled == _report(one).filled


def waiting(
    contradicted: Iterable[Contradiction], confirmed: Collection[Contradiction], balances: Collection[object]
) -> frozenset[str]:
    """Return our ids of orders whose late fills are not booked by themselves: they may replace what is booked, which
    the balances will tell, or do (`confirmed`)."""
    return frozenset(one.client_order_id for one in contradicted if not balances or not one.is_sure or one in confirmed)


def restatement(one: Contradiction) -> Difference:
    """Return the difference of a confirmed one: its remedy applies only to the fills that were compared."""
    leg, identity = one.own.leg, one.own.arbitrage_id
    ours = f"{'; '.join(map(text_of_fill, leg.fills))} of {identity}"
    there = "; ".join(map(text_of_fill, one.fills)) or "lists no fill of it"
    result = replace(result_of(identity, leg, _report(one)), instead_of=leg.fills)
    subject = leg.exchange_order_id or leg.client_order_id
    return Difference("fill_restated", leg.exchange, subject, ours, f"{there}, as its balances", result)


def _report(one: Contradiction) -> OrderReport:
    filled = Amount(total(fill.amount for fill in one.fills))
    return OrderReport(one.own.leg.exchange_order_id or "", True, filled, one.fills)


def _is_possible(one: Contradiction, ours: BookState) -> bool:
    """Whether the books have a place for it, but for what the balances settle; it may be less than was reported."""
    return ours.rules.doubt_beside_balances(replace(one.own.leg, fills=()), _report(one)) is None


def _is_confirmed(
    group: Sequence[Contradiction], balances: Iterable[tuple[BalanceRow, Decimal]], ours: BookState
) -> bool:
    """Whether each balance that these orders moved is apart by exactly what their versions are."""
    compared = {row.currency: (row, there) for row, there in balances}
    granted = [one.own.leg.times.get("granted", 0) for one in group]
    fills = [fill for one in group for fill in (*one.own.leg.fills, *one.fills)]
    changes: dict[str, Decimal] = {}
    for one in group:
        for currency, change in one.changes.items():
            changes[currency] = changes.get(currency, ZERO) + change
    for currency, change in changes.items():
        row, there = compared.get(currency, (BalanceRow(ours.exchange, currency, ZERO, ZERO), ZERO))
        share = min(rounding_between(row, there, ours), abs(change) * ORDER_SHARE)
        margin = max(rounding_of(currency, fills), share)
        # what a session's opening balances had says nothing of an earlier order
        is_of_session = min(granted) >= row.opened_at
        apart = there - row.free - row.held
        is_settled = max(granted) < row.settled_at and abs(row.settled - change) <= margin
        if not is_of_session or abs(apart - (ZERO if is_settled else change)) > margin:
            return False
    return True
