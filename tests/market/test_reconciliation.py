"""Our books against the exchange's word: each kind of difference, and what must not be taken for one."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.compared_books import BookedLeg, BookState, ExchangeState, OrderSearch
from market.accounting.differences import HANDLING, DifferenceKind, Resumption, RowCorrection
from market.accounting.reconciliation import balance_marks, differences
from market.instruments.orders import AccountFill, Fill, OpenOrder, OrderReport, Side
from market.money import Amount, Price
from market.trade.arbitrages import Leg, LegState
from market.trade.order_results import OrderResult, result_of
from market.trade.report_checks import IMPLAUSIBLE, ReportRules
from market.trade.reservation_state import BalanceRow
from tests.market.samples import MARKETS, USD_MARKET, fill_of, order_leg

ONE, PRICE = Decimal(1), Decimal(100)
FILL = fill_of(USD_MARKET, "buy", ONE, PRICE)
OTHER_FILL = fill_of(USD_MARKET, "buy", ONE, PRICE, fill_id="2")
ASKED_AT = 1_000
USD = BalanceRow("alpha", "USD", Decimal(900), Decimal(0))

YEN = BalanceRow("alpha", "JPY", Decimal(500_000), Decimal(0))
DOLLARS = BalanceRow("alpha", "USD", Decimal(5_000), Decimal(0))
RULES = ReportRules({(market.exchange, market.symbol): market for market in MARKETS})


def leg(state: LegState = "done", order_id: str | None = "order-1", *fills: Fill, role: Side = "buy") -> Leg:
    times = {"reserved": 100, "granted": 110} | ({} if state in ("reserved", "granted") else {"done": 120})
    # more than any of its fills
    ordered = order_leg(USD_MARKET, role, 3 * ONE, PRICE, fills)
    return replace(ordered, state=state, exchange_order_id=order_id, times=times)


def ours(*legs: Leg, rows: tuple[BalanceRow, ...] | None = (USD,), has_client_ids: bool = True) -> BookState:
    owned = tuple(BookedLeg(f"arbitrage-{number}", one) for number, one in enumerate(legs, start=1))
    return BookState("alpha", owned, rows, has_client_ids=has_client_ids)


def theirs(
    *fills: AccountFill,
    orders: tuple[OpenOrder, ...] = (),
    usd: str = "900",
    searches: tuple[OrderSearch, ...] = (),
    fills_since: int = 50,
) -> ExchangeState:
    return ExchangeState(orders, fills, fills_since, ASKED_AT, {"USD": Decimal(usd)}, searches)


def listed(fill: Fill = FILL, order_id: str = "order-1", client_id: str | None = None) -> AccountFill:
    return AccountFill(fill, order_id, client_id)


def resting(order_id: str = "order-1", client_id: str | None = None, side: Side = "buy") -> OpenOrder:
    return OpenOrder("alpha", "BTC/USD", order_id, client_id, side, Amount(ONE), Price(PRICE), 0)


def kinds(ours: BookState, theirs: ExchangeState) -> list[DifferenceKind]:
    return [one.kind for one in differences(ours, theirs)]


def search(report: OrderReport | None, found_for: Leg | None = None, is_ambiguous: bool = False) -> OrderSearch:
    return OrderSearch("arbitrage-1", found_for or leg("not_sent", None), report, is_ambiguous)


FOUND = OrderReport("order-9", True, Amount(ONE), (FILL,))
LISTED = listed(), listed(OTHER_FILL)
TRADING = replace(ours(), rules=RULES)
IN_BNB = replace(FILL, fee_currency="BNB")
PAYING, PAID = replace(ours(leg("done", "order-1", IN_BNB)), rules=RULES), (listed(IN_BNB),)


@pytest.mark.parametrize(
    ("mine", "his", "expected"),
    [
        (ours(leg("done", "order-1", FILL)), theirs(listed()), []),
        # orders
        (ours(leg("done", "order-1")), theirs(orders=(resting(),)), ["order_still_open"]),
        (ours(leg("not_sent", None)), theirs(orders=(resting("x", leg().client_order_id),)), ["order_still_open"]),
        (ours(leg("granted", "order-1")), theirs(orders=(resting(),)), []),
        (ours(), theirs(orders=(resting(),)), ["order_foreign"]),
        (ours(leg("granted", None)), theirs(orders=(resting(),)), []),
        (ours(leg("granted", None)), theirs(orders=(resting(side="sell"),)), ["order_foreign"]),
        (ours(leg("granted", "order-2")), theirs(orders=(resting(),)), ["order_foreign"]),
        # fills that only the exchange has
        (ours(leg("done", "order-1", FILL)), theirs(listed(), listed(OTHER_FILL)), ["fill_late"]),
        (ours(leg("not_sent", None)), theirs(listed(FILL, "x", leg().client_order_id)), ["fill_late"]),
        (ours(leg("granted", "order-1")), theirs(listed()), []),
        (ours(leg("granted", None)), theirs(listed()), []),
        (ours(), theirs(listed()), ["fill_foreign"]),
        (ours(leg("granted", None, role="sell")), theirs(listed()), ["fill_foreign"]),
        (ours(leg("not_sent", None)), theirs(listed()), ["fill_foreign"]),
        # fills that only the ledger has
        (ours(leg("done", "order-1", FILL)), theirs(), ["fill_not_listed"]),
        (ours(leg("granted", "order-1", FILL)), theirs(), []),
        (ours(leg("done", "order-1", FILL)), theirs(fills_since=111), []),
        (ours(replace(leg("done", "order-1", FILL), times={"granted": 110, "done": ASKED_AT})), theirs(), []),
        # fills that both have
        (ours(leg("done", "order-1", FILL)), theirs(listed(replace(FILL, fee=ONE))), ["fill_differs"]),
        (ours(leg("done", "order-1", FILL)), theirs(listed(replace(FILL, filled_at=99))), []),
        # balances
        (ours(), theirs(usd="900.01"), ["balance_differs"]),
        (ours(), theirs(usd="899.99"), ["balance_differs"]),
        (ours(), theirs(usd="900.02"), ["balance_unexplained"]),
        # a cent for each fill
        (ours(leg("done", "order-1", FILL, OTHER_FILL)), theirs(*LISTED, usd="899.98"), ["balance_differs"]),
        (ours(leg("done", "order-1", FILL, OTHER_FILL)), theirs(*LISTED, usd="899.97"), ["balance_unexplained"]),
        (ours(rows=(YEN,)), replace(theirs(), balances={"JPY": Decimal(499_999)}), ["balance_differs"]),
        (ours(rows=(YEN,)), replace(theirs(), balances={"JPY": Decimal(499_998)}), ["balance_unexplained"]),
        (ours(rows=(DOLLARS,)), theirs(usd="4999.99"), ["balance_differs"]),
        # rewards, and tokens that nobody asked for
        (TRADING, replace(theirs(), balances={"USD": USD.free, "USD.F": Decimal("0.001")}), ["balance_differs"]),
        (TRADING, replace(theirs(), balances={"USD": USD.free, "AIRDROP": Decimal(5000)}), ["balance_differs"]),
        (TRADING, replace(theirs(), balances={"USD": USD.free, "BTC": ONE}), ["balance_unexplained"]),
        (PAYING, replace(theirs(*PAID), balances={"USD": USD.free, "BNB": ONE}), ["balance_unexplained"]),
        (ours(), theirs(usd="0"), ["balance_unexplained"]),
        (ours(rows=()), theirs(), ["balance_unexplained"]),
        (ours(rows=(USD, BalanceRow("alpha", "BTC", ONE, Decimal(0)))), theirs(), ["balance_unexplained"]),
        (ours(rows=(USD, BalanceRow("alpha", "BTC", Decimal("1E-8"), Decimal(0)))), theirs(), ["balance_differs"]),
        (ours(rows=(USD.holding(ONE),)), theirs(), ["hold_left"]),
        (ours(rows=None), theirs(usd="1"), []),
        (ours(), replace(theirs(), balances=None), []),
        # what was sought again
        (ours(leg("not_sent", None)), theirs(searches=(search(FOUND),)), ["order_found"]),
        (ours(leg("not_sent", None)), theirs(listed(FILL, "order-9"), searches=(search(FOUND),)), ["order_found"]),
        (ours(leg("not_sent", None)), theirs(searches=(search(replace(FOUND, is_final=False)),)), []),
        (ours(leg("not_sent", None)), theirs(searches=(search(None),)), []),
        (ours(leg("not_sent", None)), theirs(searches=(search(None, is_ambiguous=True),)), ["order_ambiguous"]),
        # what a halt left
        (replace(ours(), resumable=(Resumption("arbitrage-1"),)), theirs(), ["resumable_after_halt"]),
    ],
)
def test_kinds(mine: BookState, his: ExchangeState, expected: list[DifferenceKind]) -> None:
    assert kinds(mine, his) == expected


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (None, ["order_found"]),
        (leg("done", "order-9", FILL), []),
        (leg("done", "order-8", FILL), ["order_found"]),
        (leg("granted", None), []),
        (leg("granted", None, role="sell"), ["order_found"]),
    ],
    ids=["nobody's", "known to be its", "another order", "may be its", "cannot be its"],
)
def test_an_order_found_without_a_client_id_may_be_another_legs(other: Leg | None, expected: list[str]) -> None:
    sought = leg("not_sent", None)
    others = () if other is None else (replace(other, client_order_id="another"),)
    mine = ours(sought, *others, has_client_ids=False)
    fills = tuple(listed(fill, str(one.exchange_order_id)) for one in others for fill in one.fills)
    assert kinds(mine, theirs(*fills, searches=(search(FOUND, sought),))) == expected


def test_a_late_fill_is_booked_by_its_leg_with_those_known_before() -> None:
    own = leg("done", "order-1", FILL)
    [late] = differences(ours(own), theirs(listed(), listed(OTHER_FILL)))
    report = OrderReport("order-1", True, Amount(ONE * 2), (FILL, OTHER_FILL))
    assert late.remedy == result_of("arbitrage-1", own, report)


def test_late_fills_of_one_order_are_one_difference() -> None:
    both = differences(ours(leg("done", "order-1")), theirs(listed(), listed(OTHER_FILL)))
    assert [one.kind for one in both] == ["fill_late"]


def test_an_order_that_was_found_is_booked_by_the_leg_it_was_sought_for() -> None:
    sought = search(FOUND)
    [found] = differences(ours(leg("not_sent", None)), theirs(searches=(sought,)))
    assert found.remedy == result_of("arbitrage-1", sought.leg, FOUND)


def test_the_exchanges_word_replaces_the_row_as_it_was_compared() -> None:
    row, there = USD.holding(Decimal(5)), Decimal("899.9999")
    [differs] = differences(ours(rows=(row,)), theirs(usd=str(there)))
    assert differs.remedy == RowCorrection(row, BalanceRow("alpha", "USD", there, Decimal(0)))
    assert (differs.ours, differs.theirs) == ("900", "899.9999")


@pytest.mark.parametrize(
    ("unexplained", "usd", "marked"),
    [
        ("0", "900", None),
        ("0", "899.9999", None),
        ("0", "100", "-800"),
        ("0", "1000", "100"),
        ("-800", "100", None),
        ("-800", "50", "-850"),
        ("-800", "900", "0"),
    ],
)
def test_a_row_says_what_is_unexplained_in_it(unexplained: str, usd: str, marked: str | None) -> None:
    """From the first comparison on: what is usable is the smaller of both."""
    row = replace(USD, unexplained=Decimal(unexplained))
    marks = balance_marks(ours(rows=(row,)), theirs(usd=usd))
    assert [str(one.corrected.unexplained) for one in marks] == ([] if marked is None else [marked])
    assert all(one.expected == row and one.corrected.usable == min(USD.free, Decimal(usd)) for one in marks)


def test_nothing_is_marked_while_fills_are_about_to_be_booked() -> None:
    assert balance_marks(ours(leg("done", "order-1")), theirs(listed(), usd="800")) == []
    assert balance_marks(ours(leg("not_sent", None)), theirs(usd="800", searches=(search(FOUND),))) == []
    assert balance_marks(ours(rows=None), theirs(usd="800")) == []


def test_balances_wait_for_what_is_about_to_be_booked() -> None:
    assert kinds(ours(leg("done", "order-1")), theirs(listed(), usd="800")) == ["fill_late"]
    assert kinds(ours(leg("not_sent", None)), theirs(usd="800", searches=(search(FOUND),))) == ["order_found"]


def test_what_an_order_of_nobodys_may_have_moved_is_reported_and_left_as_it_is() -> None:
    """Healed, more orders at the exchange than in the books would look as if all were well."""
    reported = differences(ours(), theirs(listed(), usd="800"))
    assert [one.kind for one in reported] == ["fill_foreign", "balance_unexplained"]
    assert [one.remedy for one in reported] == [None, None]
    # also once the fill is too old to be listed, or only suspected
    assert kinds(ours(), theirs(usd="800")) == ["balance_unexplained"]
    unsure = replace(ours(), unconfirmed=(BookedLeg("arbitrage-1", leg("not_sent", None)),))
    assert kinds(unsure, theirs(usd="800")) == ["order_unconfirmed", "balance_unexplained"]
    assert kinds(unsure, theirs()) == ["order_unconfirmed"]


@pytest.mark.parametrize(
    "undecided",
    [
        search(replace(FOUND, is_final=False)),
        search(None, is_ambiguous=True),
        replace(search(None), is_unanswered=True),
        search(None, leg("not_sent", "order-1")),
    ],
    ids=["not final yet", "may be two", "not answered", "acknowledged, then denied"],
)
def test_balances_wait_for_an_order_whose_fills_are_not_known_yet(undecided: OrderSearch) -> None:
    moved = theirs(usd="800", searches=(undecided,))
    assert "balance_unexplained" not in kinds(ours(leg("not_sent", None)), moved)
    denied = replace(moved, searches=(search(None),))
    assert kinds(ours(leg("not_sent", None)), denied) == ["balance_unexplained"]


@pytest.mark.parametrize(
    ("own", "theirs_usd", "unexplained", "expected"),
    [
        ("1000", "900", "0", ["order_found"]),
        ("1000", "899.99", "0", ["order_found"]),
        ("1000", "880.01", "-20", ["order_found"]),
        ("1000", "890", "0", ["report_implausible"]),
        ("1000", "1000", "0", ["report_implausible"]),
        # what is rounding of a large balance is not rounding of the order
        ("1000000000", "1000000000", "0", ["report_implausible"]),
        ("1000000000", "999999899.5", "0", ["order_found"]),
    ],
)
def test_a_report_in_doubt_is_believed_if_balances_say_so_but_for_rounding(
    own: str, theirs_usd: str, unexplained: str, expected: list[str]
) -> None:
    doubted = replace(leg("not_sent", "order-9"), unresolved=IMPLAUSIBLE)
    usd = BalanceRow("alpha", "USD", Decimal(own), Decimal(0), Decimal(unexplained))
    free = replace(FILL, fee=Decimal(0))
    his = theirs(searches=(search(replace(FOUND, fills=(free,)), doubted),))
    his = replace(his, balances={"USD": Decimal(theirs_usd), "BTC": ONE})
    assert kinds(ours(doubted, rows=(usd,)), his) == expected


def test_what_a_halt_left_goes_on() -> None:
    [outlived] = differences(replace(ours(), resumable=(Resumption("arbitrage-1"),)), theirs())
    assert outlived.remedy == Resumption("arbitrage-1")


legs = st.builds(
    lambda state, order_id, has_fill, role: leg(state, order_id, *((FILL,) if has_fill else ()), role=role),
    st.sampled_from(["reserved", "granted", "done", "not_sent"]),
    st.sampled_from([None, "order-1", "order-2"]),
    st.booleans(),
    st.sampled_from(["buy", "sell"]),
)
fills = st.builds(listed, st.sampled_from([FILL, OTHER_FILL]), st.sampled_from(["order-1", "order-2", "order-3"]))
orders = st.builds(resting, st.sampled_from(["order-1", "order-3"]), st.none(), st.sampled_from(["buy", "sell"]))


@given(st.lists(legs, max_size=3), st.lists(fills, max_size=3), st.lists(orders, max_size=2), st.booleans())
def test_only_what_is_healed_has_a_remedy_and_nothing_open_is_touched(
    legs: list[Leg], fills: list[AccountFill], orders: list[OpenOrder], has_client_ids: bool
) -> None:
    mine = ours(*legs, has_client_ids=has_client_ids)
    found = differences(mine, theirs(*fills, orders=tuple(orders), usd="901"))
    final = {own.arbitrage_id for own in mine.legs if own.leg.is_final}
    for one in found:
        assert (one.remedy is not None) == (HANDLING[one.kind].handled == "healed")
        if isinstance(one.remedy, OrderResult):
            assert one.remedy.arbitrage_id in final
    assert sorted(found, key=lambda one: list(HANDLING).index(one.kind)) == found


@given(st.lists(st.sampled_from(["buy", "sell"]), max_size=4))
def test_books_that_agree_show_nothing(sides: list[Side]) -> None:
    mine, his = [], []
    for number, side in enumerate(sides):
        fill = fill_of(USD_MARKET, side, ONE, PRICE, fill_id=str(number))
        one = replace(leg("done", f"order-{number}", fill, role=side), client_order_id=str(number))
        mine.append(one)
        his.append(listed(fill, f"order-{number}"))
    assert kinds(ours(*mine), theirs(*his)) == []
