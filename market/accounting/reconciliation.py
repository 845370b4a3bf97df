"""Compares our books with an exchange: returns every difference except those of orders that may be in flight. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from market.accounting.differences import (
    HANDLING,
    Difference,
    Resumption,
    RowCorrection,
    TakenBack,
    implausible,
    leg_subject,
)
from market.instruments.orders import AccountFill, Fill, OpenOrder, OrderReport, Side, changes_of
from market.money import ZERO, Amount, text_of, total
from market.trade.arbitrages import Leg
from market.trade.balance_rounding import rounding_of
from market.trade.order_results import result_of
from market.trade.report_checks import IMPLAUSIBLE, ReportRules
from market.trade.reservation_state import BalanceRow, fill_key

ROUNDING_SHARE = Decimal("0.000001")
"""A millionth of a balance: what exchanges round of fees, but no deposit that a person would make."""
ORDER_SHARE = Decimal("0.01")
"""Share of an order: nearer to what its report says the balances must be, however much else the account has."""


@dataclass(frozen=True, slots=True)
class BookedLeg:
    """A leg on the exchange that is compared."""

    arbitrage_id: str
    leg: Leg


@dataclass(frozen=True, slots=True)
class OrderSearch:
    """The exchange's answer to a repeated look-up of an order that was unknown to it."""

    arbitrage_id: str
    leg: Leg
    report: OrderReport | None
    is_ambiguous: bool = False
    is_unanswered: bool = False

    @property
    def may_move_money(self) -> bool:
        """Whether the order may have moved balances that the books do not know of yet.

        So may one that the exchange acknowledged and then denies: a replica that lags lists balances before orders.
        """
        was_acknowledged = self.leg.exchange_order_id is not None
        return self.report is not None or self.is_ambiguous or self.is_unanswered or was_acknowledged


@dataclass(frozen=True, slots=True)
class BookState:
    """The store's state of one exchange, read after the exchange's own state."""

    exchange: str
    legs: tuple[BookedLeg, ...]
    """All that may have been sent in the time that `ExchangeState.fills` cover, and some time before."""
    rows: tuple[BalanceRow, ...] | None = None
    """None if anything was open at the exchange, or moved, while it was asked: then there is nothing to compare."""
    resumable: tuple[str, ...] = ()
    """Arbitrages stopped by a halt, while trading is running again."""
    unconfirmed: tuple[BookedLeg, ...] = ()
    """Legs of residual arbitrages whose orders the exchange does not know although its balances suggest them."""
    has_client_ids: bool = True
    rules: ReportRules = field(default_factory=ReportRules)

    @property
    def traded(self) -> frozenset[str] | None:
        """Currencies that our orders and their fees move here; None if the markets are not known.

        Whatever else the account has, as rewards and tokens that nobody asked for, is no business of ours."""
        markets = [market for market in self.rules.markets.values() if market.exchange == self.exchange]
        if not markets:
            return None
        of_markets = {name for market in markets for name in (market.base, market.quote_currency)}
        of_legs = {name for own in self.legs for name in (own.leg.base, own.leg.quote_currency)}
        return frozenset(of_markets | of_legs | {fill.fee_currency for own in self.legs for fill in own.leg.fills})


@dataclass(frozen=True, slots=True)
class ExchangeState:
    """The exchange's own state."""

    orders: tuple[OpenOrder, ...]
    fills: tuple[AccountFill, ...]
    fills_since: int
    """The store's time: fills of legs sent from then on are all among `fills`."""
    asked_at: int
    """The store's time, before anything was asked: what was booked by then should be listed."""
    balances: Mapping[str, Decimal] | None = None
    searches: tuple[OrderSearch, ...] = ()


def differences(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    """All differences in the order of `HANDLING`, except those of orders that may be in flight."""
    found = _search_differences(ours, theirs)
    late = _late_fills(ours, theirs)
    compared = [
        *found,
        *_unconfirmed(ours),
        *_resting(ours, theirs),
        *late,
        *_foreign_fills(ours, theirs),
        *_unlisted_fills(ours, theirs),
        *_changed_fills(ours, theirs),
        *_resumable(ours),
    ]
    compared += _balances(ours, theirs)
    order = list(HANDLING)
    return sorted(compared, key=lambda one: order.index(one.kind))


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
    units = rounding_of(row.currency, (*_fills(ours), *fills))
    ordered = {leg.base: leg.amount, leg.quote_currency: leg.amount * leg.limit_price}
    share = _rounding(row, there, ours)
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


def _late_fills(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    """One for each order whose leg has ended without some of its fills; those of an open leg are on their way."""
    owners, booked, sought = Owners(ours), booked_fills(ours), _searched_ids(theirs)
    missing: dict[str, list[AccountFill]] = {}
    for one in theirs.fills:
        owner = owners.of(one.exchange_order_id, one.client_order_id)
        is_new = fill_key(one.fill) not in booked and one.exchange_order_id not in sought
        if owner is not None and owner.leg.is_final and is_new:
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
    there = "; ".join(_fill_text(fill) for fill in missing)
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
            f"{_fill_text(one.fill)} of {one.exchange_order_id}",
        )
        for one in theirs.fills
        if fill_key(one.fill) not in booked
        and one.exchange_order_id not in sought
        and owners.of(one.exchange_order_id, one.client_order_id) is None
        and not _may_be_in_flight(legs, one.fill.symbol, one.fill.side)
    ]


def _unlisted_fills(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    listed = {fill_key(one.fill) for one in theirs.fills}
    return [
        Difference(
            "fill_not_listed",
            ours.exchange,
            fill.fill_id,
            f"{_fill_text(fill)} of {own.arbitrage_id}",
            "does not list it",
        )
        for own in ours.legs
        if own.leg.is_final
        and own.leg.times.get("granted", 0) >= theirs.fills_since
        and own.leg.times.get("done", theirs.asked_at) < theirs.asked_at
        for fill in own.leg.fills
        if fill_key(fill) not in listed
    ]


def _changed_fills(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    booked, found = booked_fills(ours), []
    for one in theirs.fills:
        fill = booked.get(fill_key(one.fill))
        if fill is not None and _flows(fill) != _flows(one.fill):
            found.append(
                Difference("fill_differs", ours.exchange, fill.fill_id, _fill_text(fill), _fill_text(one.fill))
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
    if _is_explained(row, there, ours):
        return replace(row, unexplained=ZERO, doubted=ZERO)
    return replace(row, unexplained=there - row.free - row.held)


def _is_settled_twice(row: BalanceRow, there: Decimal, ours: BookState) -> bool:
    """Whether the settlement had the late fills in it that were booked since: both are apart by exactly those, and it
    was of as much. Fills that never reached the account are apart by as much, too."""
    apart, margin = there - row.free - row.held, rounding_of(row.currency, _fills(ours))
    had = (row.doubted > 0) == (row.settled > 0) and abs(row.doubted) <= abs(row.settled) + margin
    return row.doubted != 0 and had and abs(apart + row.doubted) <= margin


def compared_balances(ours: BookState, theirs: ExchangeState) -> list[tuple[BalanceRow, Decimal]]:
    """Our row and their total, by currency; none if anything is open, or what is being booked explains them."""
    if ours.rows is None or theirs.balances is None:
        return []
    if any(search.may_move_money for search in theirs.searches) or any(one.remedy for one in _late_fills(ours, theirs)):
        return []
    rows = {row.currency: row for row in ours.rows}
    return [
        (rows.get(name) or BalanceRow(ours.exchange, name, ZERO, ZERO), theirs.balances.get(name, ZERO))
        for name in sorted(rows.keys() | theirs.balances.keys())
    ]


def _is_explained(row: BalanceRow, there: Decimal, ours: BookState) -> bool:
    """Whether exchanges' rounding explains how far both are apart, or nobody trades the currency here."""
    traded = ours.traded
    is_ours = traded is None or row.currency in traded
    return not is_ours or abs(there - row.free - row.held) <= _rounding(row, there, ours)


def _rounding(row: BalanceRow, there: Decimal, ours: BookState) -> Decimal:
    """Return what rounding may come to since the last comparison: by fills, which `ours.legs` have from some time
    before."""
    share = max(row.free + row.held, there) * ROUNDING_SHARE
    return max(share, rounding_of(row.currency, _fills(ours)))


def _balances(ours: BookState, theirs: ExchangeState) -> list[Difference]:
    """Where nothing is open: totals must be equal and nothing be held. More than rounding of what we trade is reported
    and left as it is: our orders do not explain it."""
    found = []
    for row, there in compared_balances(ours, theirs):
        currency = row.currency
        remedy = RowCorrection(row, replace(row, free=there, held=ZERO, unexplained=ZERO, doubted=ZERO))
        here = text_of(row.free + row.held)
        if not _is_explained(row, there, ours) and _is_settled_twice(row, there, ours):
            settlement = f"a settlement of {text_of(row.settled)} at {row.settled_at}"
            twice = f"{text_of(row.doubted)} by late fills, after {settlement}"
            back = TakenBack(_marked(row, there, ours))
            found.append(Difference("settled_twice", ours.exchange, currency, twice, "in the settlement already", back))
        elif not _is_explained(row, there, ours):
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
            identity,
            "residual: halted",
            "trading is running",
            Resumption(identity),
        )
        for identity in ours.resumable
    ]


def _legs(ours: BookState) -> list[Leg]:
    return [own.leg for own in ours.legs]


def _searched_ids(theirs: ExchangeState) -> set[str]:
    """Orders just found for a leg: what they filled is about to be booked."""
    return {search.report.exchange_order_id for search in theirs.searches if search.report is not None}


def _fills(ours: BookState) -> list[Fill]:
    return [fill for leg in _legs(ours) for fill in leg.fills]


def booked_fills(ours: BookState) -> dict[str, Fill]:
    return {fill_key(fill): fill for fill in _fills(ours)}


class Owners:
    """Whose an order is, by either of its ids."""

    def __init__(self, ours: BookState) -> None:
        self._by_client_id = {own.leg.client_order_id: own for own in ours.legs}
        self._by_id = {own.leg.exchange_order_id: own for own in ours.legs if own.leg.exchange_order_id is not None}

    def of(self, exchange_order_id: str, client_order_id: str | None) -> BookedLeg | None:
        return self._by_id.get(exchange_order_id) or self._by_client_id.get(client_order_id or "")

    def has(self, one: OpenOrder | AccountFill) -> bool:
        return self.of(one.exchange_order_id, one.client_order_id) is not None


def _may_be_in_flight(legs: list[Leg], symbol: str, side: Side) -> bool:
    """Whether an unknown order may belong to a leg whose acknowledgement is not recorded yet."""
    return any(
        leg.state == "granted" and leg.exchange_order_id is None and (leg.symbol, leg.side) == (symbol, side)
        for leg in legs
    )


def _flows(fill: Fill) -> tuple[object, ...]:
    return fill.symbol, fill.side, fill.price, fill.amount, fill.cost, fill.fee, fill.fee_currency


def _fill_text(fill: Fill) -> str:
    amount, price = text_of(fill.amount), text_of(fill.price)
    fee = f"fee {text_of(fill.fee)} {fill.fee_currency}"
    return f"{fill.side} {amount} {fill.symbol} at {price} for {text_of(fill.cost)}, {fee}"
