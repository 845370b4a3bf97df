"""Which differences explained themselves: an exchange's machine lagged, or an order was found late. Pure."""

from collections.abc import Iterable, Mapping

from market.accounting.compared_books import BookState, ExchangeState, Owners, booked_fills, booked_terms
from market.accounting.differences import Difference, StoredDifference, leg_subject
from market.accounting.reconciliation import compared_balances, is_explained
from market.instruments.orders import Fill
from market.trade.reservation_state import fill_key


def no_longer_found(
    known: Iterable[StoredDifference], found: Iterable[Difference], ours: BookState, theirs: ExchangeState
) -> list[StoredDifference]:
    """Those of the `known` open differences of one exchange that this round looked for and did not find.

    What is only hidden for now, as behind an order in flight, or too old to be listed, is not explained.
    """
    still = {(one.kind, one.subject) for one in found}
    return [one for one in known if (one.kind, one.subject) not in still and _is_gone(one, ours, theirs)]


def _is_gone(known: StoredDifference, ours: BookState, theirs: ExchangeState) -> bool:
    owners, booked = Owners(ours), booked_fills(ours)
    match known.kind:
        case "balance_unexplained":
            # it is still there while what explains it is about to be booked
            return any(
                row.currency == known.subject and is_explained(row, there, ours)
                for row, there in compared_balances(ours, theirs)
            )
        case "order_still_open" | "order_foreign":
            # one that rests and is nobody's may be hidden behind a leg in flight
            is_looked_at = known.kind == "order_still_open"
            resting = {order.exchange_order_id for order in theirs.orders if is_looked_at or not owners.has(order)}
            return known.subject not in resting
        case "report_implausible" | "order_ambiguous":
            return any(
                own.leg.is_booked for own in ours.legs if known.subject == leg_subject(own.arbitrage_id, own.leg)
            )
        case "fill_foreign":
            return any(_is_of(known, fill) for fill in booked.values()) or any(
                _is_of(known, one.fill) for one in theirs.fills if owners.has(one)
            )
        case "fill_not_listed" | "fill_differs":
            same = [one.fill for one in theirs.fills if _is_booked(one.fill, booked)]
            return any(_is_of(known, fill) for fill in same) or _is_taken_out(known, ours, booked)
    return False


def _is_booked(fill: Fill, booked: Mapping[str, Fill]) -> bool:
    """Whether the books have it as it is."""
    ours = booked.get(fill_key(fill))
    return ours is not None and booked_terms(ours) == booked_terms(fill)


def _is_taken_out(known: StoredDifference, ours: BookState, booked: Mapping[str, Fill]) -> bool:
    """Whether the books no longer have a fill that was not listed; they were looked at if they have its arbitrage."""
    is_there = any(known.ours.endswith(f" of {own.arbitrage_id}") for own in ours.legs)
    return is_there and not any(_is_of(known, fill) for fill in booked.values())


def _is_of(known: StoredDifference, fill: Fill) -> bool:
    """Tell if it is of this fill: some exchanges number the fills of each market apart, so the id alone does not
    tell."""
    return known.subject == fill.fill_id and f" {fill.symbol} at " in f"{known.ours} {known.theirs}"
