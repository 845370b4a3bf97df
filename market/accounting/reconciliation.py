"""Compares our books with an exchange: returns every difference except those of orders that may be in flight. Pure."""

from collections.abc import Container
from dataclasses import replace
from decimal import Decimal

from market.accounting.compared_books import (
    ORDER_SHARE,
    BookedLeg,
    BookState,
    ExchangeState,
    OrderSearch,
    Owners,
    booked_fills,
    booked_terms,
    fills_of,
    is_covered,
    rounding_between,
    text_of_fill,
)
from market.accounting.differences import (
    HANDLING,
    Difference,
    RowCorrection,
    TakenBack,
    implausible,
    leg_subject,
)
from market.accounting.restated_fills import (
    MOST_RESTATED,
    Contradiction,
    agreeing,
    contradictions,
    restated,
    restatement,
    waiting,
)
from market.instruments.orders import AccountFill, Fill, OrderReport, Side, changes_of
from market.money import ZERO, Amount, text_of, total
from market.trade.arbitrages import Leg
from market.trade.balance_rounding import rounding_of
from market.trade.order_results import result_of
from market.trade.report_checks import IMPLAUSIBLE
from market.trade.reservation_state import BalanceRow, fill_key


def differences(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    """All differences in the order of `HANDLING`, except those of orders that may be in flight."""
    contradicted, balances = contradictions(ours, theirs), compared_balances(ours, theirs)
    believed = restated(agreeing(contradicted, theirs), balances, ours)
    fills = {fill_key(fill) for one in believed for fill in one.own.leg.fills}
    currencies = {currency for one in believed for currency in one.changes}
    compared = [
        *_search_differences(ours, theirs),
        *_unconfirmed(ours),
        *_resting(ours, theirs),
        *_late_fills(ours, theirs, waiting(contradicted, restated(contradicted, balances, ours), balances)),
        *(restatement(one) for one in believed),
        *_foreign_fills(ours, theirs),
        *_unlisted_fills(ours, theirs, fills),
        *_changed_fills(ours, theirs, fills),
        *_balances([one for one in balances if one[0].currency not in currencies], ours),
        *_resumable(ours),
    ]
    order = list(HANDLING)
    return sorted(compared, key=lambda one: order.index(one.kind))


def to_look_up(ours: BookState, theirs: ExchangeState) -> list[Contradiction]:
    """Return the orders that list and balances contradict alike: the books adopt that if the orders themselves say so
    (`ExchangeState.looked_up`). None if there are too many."""
    found = restated(contradictions(ours, theirs), compared_balances(ours, theirs), ours)
    return found if len(found) <= MOST_RESTATED else []


def _search_differences(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    found = []
    for search in theirs.searches:
        leg, report = search.leg, search.report
        subject, denied = leg_subject(search.arbitrage_id, leg), "not sent: the exchange did not know the order"
        if search.is_ambiguous:
            there = "more than one order matches"
            found.append(Difference("order_ambiguous", ours.exchange, subject, denied, there))
        elif report is not None and report.is_final and not _is_anothers(report.exchange_order_id, leg, ours):
            there = f"order {report.exchange_order_id}, filled {text_of(report.filled)}"
            booking = result_of(search.arbitrage_id, leg, report)
            doubt = _doubt_about_search(search, ours, theirs)
            if doubt is None:
                found.append(Difference("order_found", ours.exchange, subject, denied, there, booking))
            elif doubt:
                found.append(implausible(search.arbitrage_id, leg, doubt))
    return found


def _doubt_about_search(search: OrderSearch, ours: BookState, theirs: ExchangeState) -> str | None:
    """Why the report of a search is not booked; None if it is. Empty while the balances cannot be compared.

    A report that contradicts its order, and any of a leg that had such a one before, is believed only if the exchange's
    balances moved by exactly what it says.
    """
    leg, report = search.leg, search.report
    if report is None or (leg.unresolved != IMPLAUSIBLE and ours.rules.doubt(leg, report) is None):
        return None
    doubt = ours.rules.doubt_beside_balances(leg, report)
    if doubt is not None:
        return doubt.text
    if ours.rows is None or theirs.balances is None:
        return ""
    moved = _moved(ours, theirs)
    rows = {row.currency: row for row in ours.rows}
    for currency in sorted({leg.base, leg.quote_currency, *(fill.fee_currency for fill in report.fills)}):
        row = rows.get(currency) or BalanceRow(ours.exchange, currency, ZERO, ZERO)
        here, there = row.free + row.held + moved.get(currency, ZERO), theirs.balances.get(currency, ZERO)
        margin = _search_margin(search, row, there, ours)
        # what was unexplained before is so still, unless it was this
        if min(abs(there - here), abs(there - here - row.unexplained)) > margin:
            amounts = f"{text_of(here)} {currency} by it, {text_of(there)} at the exchange"
            return f"order {report.exchange_order_id}, filled {text_of(report.filled)}: {amounts}"
    return None


def _search_margin(search: OrderSearch, row: BalanceRow, there: Decimal, ours: BookState) -> Decimal:
    """Return the margin for rounding: a share of a large balance must not hide a small order."""
    leg, fills = search.leg, () if search.report is None else search.report.fills
    units = rounding_of(row.currency, (*fills_of(ours), *fills))
    ordered = {leg.base: leg.amount, leg.quote_currency: leg.amount * leg.limit_price}
    share = rounding_between(row, there, ours)
    return max(units, min(share, ordered.get(row.currency, share) * ORDER_SHARE))


def _moved(ours: BookState, theirs: ExchangeState) -> dict[str, Decimal]:
    """Currency → what the orders that were searched for and found moved, as far as it is not booked."""
    booked, moved = booked_fills(ours), dict[str, Decimal]()
    for search in theirs.searches:
        for fill in () if search.report is None else search.report.fills:
            if fill_key(fill) not in booked:
                for currency, change in changes_of(fill, search.leg.base, search.leg.quote_currency):
                    moved[currency] = moved.get(currency, ZERO) + change
    return moved


def _unconfirmed(ours: BookState) -> list[Difference]:
    return [
        Difference(
            "order_unconfirmed",
            ours.exchange,
            leg_subject(own.arbitrage_id, own.leg),
            "residual: the order may have been sent",
            "does not find the order, but its balances do not match that",
        )
        for own in ours.unconfirmed
    ]


def _is_anothers(exchange_order_id: str, leg: Leg, ours: BookState) -> bool:
    """Whether an order that was found for `leg` is, or may be, another leg's, if no client id tells."""
    if ours.has_client_ids:
        return False
    others = [one.leg for one in ours.legs if one.leg.client_order_id != leg.client_order_id]
    is_known = any(one.exchange_order_id == exchange_order_id for one in others)
    return is_known or _may_be_in_flight(others, leg.symbol, leg.side)


def _resting(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    owners, found = Owners(ours), []
    for order in theirs.orders:
        owner = owners.of(order.exchange_order_id, order.client_order_id)
        there = f"{order.side} {text_of(order.amount)} {order.symbol} rests"
        if owner is None and not _may_be_in_flight(_legs(ours), order.symbol, order.side):
            found.append(Difference("order_foreign", ours.exchange, order.exchange_order_id, "unknown", there))
        elif owner is not None and owner.leg.is_final:
            here = f"{owner.arbitrage_id}:{owner.leg.role} is {owner.leg.state}"
            found.append(Difference("order_still_open", ours.exchange, order.exchange_order_id, here, there))
    return found


def _late_fills(ours: BookState, theirs: ExchangeState, left_out: Container[str]) -> list[Difference]:
    """One for each order whose leg has ended without some of its fills; those of an open leg are on their way.

    `left_out`: our ids of orders of which nobody knows yet whether they replace what is booked."""
    owners, booked, sought = Owners(ours), booked_fills(ours), _searched_ids(theirs)
    missing: dict[str, list[AccountFill]] = {}
    for one in theirs.fills:
        owner = owners.of(one.exchange_order_id, one.client_order_id)
        is_new = fill_key(one.fill) not in booked and one.exchange_order_id not in sought
        is_due = owner is not None and owner.leg.is_final and owner.leg.client_order_id not in left_out
        if is_due and is_new:
            missing.setdefault(one.exchange_order_id, []).append(one)
    searched, found = {search.leg.client_order_id for search in theirs.searches}, []
    for order_id, late in missing.items():
        owner = owners.of(order_id, late[0].client_order_id)
        if owner is not None and not (owner.leg.unresolved == IMPLAUSIBLE and owner.leg.client_order_id in searched):
            found.append(_late(ours, order_id, owner, [one.fill for one in late]))
    return found


def _late(ours: BookState, order_id: str, owner: BookedLeg, missing: list[Fill]) -> Difference:
    """Not booked if they contradict their order, or if an earlier report did."""
    leg = owner.leg
    # with those that are booked: of them nothing is booked again
    fills = (*leg.fills, *missing)
    report = OrderReport(order_id, True, Amount(total(fill.amount for fill in fills)), fills)
    here = f"{owner.arbitrage_id}:{leg.role} is {leg.state} with {text_of(leg.filled)} filled"
    there = "; ".join(text_of_fill(fill) for fill in missing)
    doubt = ours.rules.doubt(leg, report)
    if doubt is not None or leg.unresolved == IMPLAUSIBLE:
        why = "an earlier report contradicts its order" if doubt is None else doubt.text
        lie = implausible(owner.arbitrage_id, leg, f"{there} ({why})")
        # the mark of a leg goes once that is booked; of one that is booked already, a person alone says what is true
        return replace(lie, subject=order_id) if leg.is_booked else lie
    return Difference("fill_late", ours.exchange, order_id, here, there, result_of(owner.arbitrage_id, leg, report))


def _foreign_fills(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    owners, booked, legs, sought = Owners(ours), booked_fills(ours), _legs(ours), _searched_ids(theirs)
    return [
        Difference(
            "fill_foreign",
            ours.exchange,
            one.fill.fill_id,
            "unknown",
            f"{text_of_fill(one.fill)} of {one.exchange_order_id}",
        )
        for one in theirs.fills
        if fill_key(one.fill) not in booked
        and one.exchange_order_id not in sought
        and owners.of(one.exchange_order_id, one.client_order_id) is None
        and not _may_be_in_flight(legs, one.fill.symbol, one.fill.side)
    ]


def _unlisted_fills(ours: BookState, theirs: ExchangeState, restated_keys: Container[str]) -> list[Difference]:
    listed = {fill_key(one.fill) for one in theirs.fills}
    return [
        Difference(
            "fill_not_listed",
            ours.exchange,
            fill.fill_id,
            f"{text_of_fill(fill)} of {own.arbitrage_id}",
            "does not list it",
        )
        for own in ours.legs
        if is_covered(own.leg, theirs)
        for fill in own.leg.fills
        if fill_key(fill) not in listed and fill_key(fill) not in restated_keys
    ]


def _changed_fills(ours: BookState, theirs: ExchangeState, restated_keys: Container[str]) -> list[Difference]:
    booked, found = booked_fills(ours), []
    for one in theirs.fills:
        fill = None if fill_key(one.fill) in restated_keys else booked.get(fill_key(one.fill))
        if fill is not None and booked_terms(fill) != booked_terms(one.fill):
            found.append(
                Difference("fill_differs", ours.exchange, fill.fill_id, text_of_fill(fill), text_of_fill(one.fill))
            )
    return found


def balance_marks(ours: BookState, theirs: ExchangeState) -> list[RowCorrection]:
    """Return what each row has to say of what is unexplained in it, one for each row that says something else: from the
    first comparison on, orders are sized by the smaller of both."""
    marks = []
    for row, there in compared_balances(ours, theirs):
        marked = _marked(row, there, ours)
        if marked != row:
            marks.append(RowCorrection(row, marked))
    return marks


def _marked(row: BalanceRow, there: Decimal, ours: BookState) -> BalanceRow:
    """Return the row with what is unexplained in it; if nothing is, no late fill is in it twice."""
    if is_explained(row, there, ours):
        return replace(row, unexplained=ZERO, doubted=ZERO)
    return replace(row, unexplained=there - row.free - row.held)


def _is_settled_twice(row: BalanceRow, there: Decimal, ours: BookState) -> bool:
    """Whether the settlement had the late fills in it that were booked since: both are apart by exactly those, and it
    was of as much. Fills that never reached the account are apart by as much, too."""
    apart, margin = there - row.free - row.held, rounding_of(row.currency, fills_of(ours))
    had = (row.doubted > 0) == (row.settled > 0) and abs(row.doubted) <= abs(row.settled) + margin
    return row.doubted != 0 and had and abs(apart + row.doubted) <= margin


def compared_balances(ours: BookState, theirs: ExchangeState) -> list[tuple[BalanceRow, Decimal]]:
    """Our row and their total, by currency; none if anything is open, or what is being booked explains them."""
    if ours.rows is None or theirs.balances is None:
        return []
    late = _late_fills(ours, theirs, {one.client_order_id for one in contradictions(ours, theirs)})
    if any(search.may_move_money for search in theirs.searches) or any(one.remedy for one in late):
        return []
    rows = {row.currency: row for row in ours.rows}
    return [
        (rows.get(name) or BalanceRow(ours.exchange, name, ZERO, ZERO), theirs.balances.get(name, ZERO))
        for name in sorted(rows.keys() | theirs.balances.keys())
    ]


def is_explained(row: BalanceRow, there: Decimal, ours: BookState) -> bool:
    """Whether exchanges' rounding explains how far both are apart, or nobody trades the currency here."""
    traded = ours.traded
    is_ours = traded is None or row.currency in traded
    return not is_ours or abs(there - row.free - row.held) <= rounding_between(row, there, ours)


def _balances(balances: list[tuple[BalanceRow, Decimal]], ours: BookState) -> list[Difference]:
    """Where nothing is open: totals must be equal and nothing be held. More than rounding of what we trade is reported
    and left as it is: our orders do not explain it."""
    found = []
    for row, there in balances:
        currency = row.currency
        remedy = RowCorrection(row, replace(row, free=there, held=ZERO, unexplained=ZERO, doubted=ZERO))
        here = text_of(row.free + row.held)
        if not is_explained(row, there, ours) and _is_settled_twice(row, there, ours):
            settlement = f"a settlement of {text_of(row.settled)} at {row.settled_at}"
            twice = f"{text_of(row.doubted)} by late fills, after {settlement}"
            back = TakenBack(_marked(row, there, ours))
            found.append(Difference("settled_twice", ours.exchange, currency, twice, "in the settlement already", back))
        elif not is_explained(row, there, ours):
            found.append(Difference("balance_unexplained", ours.exchange, currency, here, text_of(there)))
        elif row.free + row.held != there:
            found.append(Difference("balance_differs", ours.exchange, currency, here, text_of(there), remedy))
        elif row.held:
            here = f"{text_of(row.held)} held"
            found.append(Difference("hold_left", ours.exchange, currency, here, "nothing is open", remedy))
    return found


def _resumable(ours: BookState) -> list[Difference]:
    return [
        Difference(
            "resumable_after_halt",
            ours.exchange,
            resumption.arbitrage_id,
            "residual: halted",
            "trading is running",
            resumption,
        )
        for resumption in ours.resumable
    ]


def _legs(ours: BookState) -> list[Leg]:
    return [own.leg for own in ours.legs]


def _searched_ids(theirs: ExchangeState) -> set[str]:
    """Orders just found for a leg: what they filled is about to be booked."""
    return {search.report.exchange_order_id for search in theirs.searches if search.report is not None}


def _may_be_in_flight(legs: list[Leg], symbol: str, side: Side) -> bool:
    """Whether an unknown order may belong to a leg whose acknowledgement is not recorded yet."""
    return any(
        leg.state == "granted" and leg.exchange_order_id is None and (leg.symbol, leg.side) == (symbol, side)
        for leg in legs
    )
