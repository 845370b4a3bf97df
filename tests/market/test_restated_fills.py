"""A fill that was booked as it was reported, and that the exchange's own list and its balances say otherwise."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.compared_books import BookState, ExchangeState
from market.accounting.reconciliation import differences, to_look_up
from market.accounting.restated_fills import LISTED_WITHIN, MOST_RESTATED
from market.instruments.orders import AccountFill, Fill, OrderReport
from market.money import Amount
from market.trade.arbitrages import Leg
from market.trade.order_results import result_of
from market.trade.reservation_state import BalanceRow
from tests.market.samples import USD_MARKET, fill_of
from tests.market.test_reconciliation import ASKED_AT, FILL, ONE, PRICE, leg, listed, ours

DOUBLE = fill_of(USD_MARKET, "buy", 2 * ONE, PRICE)
CHEAPER = fill_of(USD_MARKET, "buy", ONE, PRICE / 2)
INVENTED = replace(FILL, fill_id="invented")
ZERO = Decimal(0)
GRANTED = 110


def row(currency: str, free: str) -> BalanceRow:
    return BalanceRow("alpha", currency, Decimal(free), ZERO)


def books(*legs: Leg, usd: str, btc: str) -> BookState:
    return ours(*legs, rows=(row("USD", usd), row("BTC", btc)))


def account(*fills: AccountFill, usd: str, btc: str) -> ExchangeState:
    """Return what an exchange says that says the same of each order as in its list."""
    balances = {"USD": Decimal(usd), "BTC": Decimal(btc)}
    return ExchangeState((), fills, 50, ASKED_AT, balances, looked_up=said(*fills))


def said(*fills: AccountFill) -> dict[str, OrderReport]:
    """Return the reports of both orders, by our id."""
    ids = {"order-1": leg().client_order_id, "order-2": "another"}
    return {
        ours: report_of(order_id, *(one.fill for one in fills if one.exchange_order_id == order_id))
        for order_id, ours in ids.items()
    }


def report_of(order_id: str, *fills: Fill, is_final: bool = True) -> OrderReport:
    return OrderReport(order_id, is_final, Amount(sum((fill.amount for fill in fills), ZERO)), fills)


def seen(mine: BookState, his: ExchangeState) -> list[str]:
    return [one.kind for one in differences(mine, his)]


@pytest.mark.parametrize(
    ("booked", "true", "usd", "btc", "expected"),
    [
        # twice as much as it filled: 200 of 1,000 dollars were booked, and 100 were paid
        (DOUBLE, FILL, "900", "1", ["fill_restated"]),
        (DOUBLE, FILL, "899.99", "1", ["fill_restated"]),
        (DOUBLE, FILL, "900", "1.00000001", ["fill_restated"]),
        # half of it
        (FILL, DOUBLE, "800", "2", ["fill_restated"]),
        # at a better price, with its cost
        (CHEAPER, FILL, "900", "1", ["fill_restated"]),
        (FILL, replace(FILL, fee=ONE), "899", "1", ["fill_restated"]),
        (FILL, replace(FILL, fee=Decimal("0.001"), fee_currency="BTC"), "900", "0.999", ["fill_restated"]),
        # what no balance shows: the list was seen twice, and nothing is moved
        (FILL, replace(FILL, fee=Decimal("0.001")), "900", "1", ["fill_restated"]),
        # the balances say what is booked
        (DOUBLE, FILL, "800", "2", ["fill_differs"]),
        # one of them does
        (DOUBLE, FILL, "900", "2", ["fill_differs", "balance_unexplained"]),
        # they say something else
        (DOUBLE, FILL, "901.01", "1", ["fill_differs", "balance_unexplained", "balance_unexplained"]),
        (DOUBLE, FILL, "900", "1.5", ["fill_differs", "balance_unexplained", "balance_unexplained"]),
        # what the books have no place for
        (DOUBLE, replace(FILL, side="sell"), "1000", "0", ["fill_differs", *["balance_unexplained"] * 2]),
        (DOUBLE, replace(FILL, cost=ONE), "999", "1", ["fill_differs", *["balance_unexplained"] * 2]),
    ],
)
def test_a_fill_is_restated_if_the_balances_say_exactly_that(
    booked: Fill, true: Fill, usd: str, btc: str, expected: list[str]
) -> None:
    paid = 1_000 - booked.cost - booked.fee
    mine = books(leg("done", "order-1", booked), usd=str(paid), btc=str(booked.amount))
    assert seen(mine, account(listed(true), usd=usd, btc=btc)) == expected


def test_nothing_is_restated_while_the_balances_cannot_be_compared() -> None:
    mine = replace(books(leg("done", "order-1", DOUBLE), usd="800", btc="2"), rows=None)
    assert seen(mine, account(listed(FILL), usd="900", btc="1")) == ["fill_differs"]


def test_the_remedy_applies_to_the_fills_that_were_compared() -> None:
    own = leg("done", "order-1", DOUBLE)
    [one] = differences(books(own, usd="800", btc="2"), account(listed(FILL), usd="900", btc="1"))
    report = OrderReport("order-1", True, Amount(ONE), (FILL,))
    assert one.remedy == replace(result_of("arbitrage-1", own, report), instead_of=(DOUBLE,))
    assert one.subject == "order-1"


@pytest.mark.parametrize(
    ("fills", "true", "usd", "btc", "before", "after"),
    [
        # under another id
        ((INVENTED,), (FILL,), "900", "1", ["fill_not_listed"], ["fill_restated"]),
        # beside a true one
        ((FILL, INVENTED), (FILL,), "900", "1", ["fill_not_listed", *["balance_unexplained"] * 2], ["fill_restated"]),
        # and nothing was filled
        ((INVENTED,), (), "1000", "0", ["fill_not_listed", *["balance_unexplained"] * 2], ["fill_restated"]),
        # the list lacks it, and the balances have it
        ((INVENTED,), (), "900", "1", ["fill_not_listed"], ["fill_not_listed"]),
        # it has both
        (
            (INVENTED,),
            (FILL,),
            "800",
            "2",
            ["fill_not_listed", *["balance_unexplained"] * 2],
            ["fill_late", "fill_not_listed", *["balance_unexplained"] * 2],
        ),
    ],
)
def test_a_fill_that_never_was_is_taken_out_once_no_machine_can_lag(
    fills: tuple[Fill, ...], true: tuple[Fill, ...], usd: str, btc: str, before: list[str], after: list[str]
) -> None:
    own = leg("done", "order-1", *fills)
    paid, got = sum((fill.cost for fill in fills), ZERO), sum((fill.amount for fill in fills), ZERO)
    mine = books(own, usd=str(1_000 - paid), btc=str(got))
    his = account(*map(listed, true), usd=usd, btc=btc)
    assert seen(mine, his) == before
    assert seen(mine, replace(his, asked_at=own.times["done"] + LISTED_WITHIN)) == after


TRUE = report_of("order-1", FILL)


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (TRUE, ["fill_restated"]),
        # each fill twice, or without the moment
        (replace(TRUE, fills=(FILL, FILL)), ["fill_restated"]),
        (report_of("order-1", replace(FILL, filled_at=7)), ["fill_restated"]),
        # not asked, not answered, or it does not know the order
        (None, "fill_differs"),
        # what was booked, and nothing
        (report_of("order-1", DOUBLE), "fill_differs"),
        (report_of("order-1"), "fill_differs"),
        # it may fill yet
        (replace(TRUE, is_final=False), "fill_differs"),
        # its fills do not add up, or are another's
        (replace(TRUE, filled=Amount(2 * ONE)), "fill_differs"),
        (report_of("order-1", INVENTED), "fill_differs"),
        (report_of("order-1", replace(FILL, fee=ONE)), "fill_differs"),
        (report_of("order-9", FILL), "fill_differs"),
    ],
)
def test_the_order_itself_has_to_say_the_same(report: OrderReport | None, expected: list[str] | str) -> None:
    mine = books(leg("done", "order-1", DOUBLE), usd="800", btc="2")
    his = account(listed(FILL), usd="900", btc="1")
    looked_up = {} if report is None else {leg().client_order_id: report}
    reported = [expected, *["balance_unexplained"] * 2] if isinstance(expected, str) else expected
    assert seen(mine, replace(his, looked_up=looked_up)) == reported


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        # it lags: it knows no such order, or not its end, or its end
        (None, ["fill_not_listed", *["balance_unexplained"] * 2]),
        (report_of("order-1", is_final=False), ["fill_not_listed", *["balance_unexplained"] * 2]),
        (report_of("order-1", FILL), ["fill_not_listed", *["balance_unexplained"] * 2]),
        # it ended without a fill
        (report_of("order-1"), ["fill_restated"]),
    ],
)
def test_a_lagging_machine_is_one_witness(report: OrderReport | None, expected: list[str]) -> None:
    """Its list and its balances are of before the order, for as long as it stands still."""
    mine = books(leg("done", "order-1", FILL), usd="900", btc="1")
    his = replace(account(usd="1000", btc="0"), asked_at=120 + 100 * LISTED_WITHIN)
    looked_up = {} if report is None else {leg().client_order_id: report}
    assert seen(mine, replace(his, looked_up=looked_up)) == expected


@pytest.mark.parametrize(("count", "expected"), [(MOST_RESTATED, MOST_RESTATED), (MOST_RESTATED + 1, 0)])
def test_of_many_orders_at_once_none_is_asked_for(count: int, expected: int) -> None:
    legs = [
        replace(
            leg("done", f"order-{number}", fill_of(USD_MARKET, "buy", 2 * ONE, PRICE, fill_id=str(number))),
            client_order_id=str(number),
        )
        for number in range(count)
    ]
    mine = books(*legs, usd=str(10_000 - 200 * count), btc=str(2 * count))
    true = [listed(replace(one.fills[0], amount=Amount(ONE), cost=PRICE), one.exchange_order_id or "") for one in legs]
    his = replace(account(*true, usd=str(10_000 - 100 * count), btc=str(count)), looked_up={})
    assert len(to_look_up(mine, his)) == expected


def test_a_late_fill_waits_until_the_order_itself_was_asked() -> None:
    """It is in place of what is booked, as far as the balances tell."""
    own = leg("done", "order-1", INVENTED)
    his = replace(account(listed(FILL), usd="900", btc="1"), asked_at=120 + LISTED_WITHIN, looked_up={})
    half = replace(FILL, amount=Amount(ONE / 2), cost=PRICE / 2)
    assert seen(books(own, usd="900", btc="1"), his) == ["fill_not_listed"]
    assert seen(
        books(own, usd="900", btc="1"),
        replace(his, fills=(listed(half),), balances={"USD": Decimal(950), "BTC": Decimal("0.5")}),
    ) == ["fill_not_listed", *["balance_unexplained"] * 2]


def test_a_late_fill_waits_while_it_may_replace_what_is_booked() -> None:
    mine = replace(books(leg("done", "order-1", INVENTED), usd="900", btc="1"), rows=None)
    assert seen(mine, account(listed(FILL), usd="900", btc="1")) == ["fill_not_listed"]


def other(fill: Fill) -> tuple[Leg, AccountFill]:
    """Return another order that was reported with twice the amount, and what is listed of it."""
    told = replace(fill, amount=Amount(2 * fill.amount), cost=2 * fill.cost)
    return replace(leg("done", "order-2", told), client_order_id="another"), listed(fill, "order-2")


@pytest.mark.parametrize(
    ("amount", "usd", "btc", "expected"),
    [
        # both lied
        ("0.5", "850", "1.5", ["fill_restated", "fill_restated"]),
        # the balances confirm one of them
        ("0.5", "800", "2", ["fill_restated", "fill_differs"]),
        ("0.5", "750", "2.5", ["fill_restated", "fill_differs"]),
        # one of two that are alike: nobody can say which
        ("1", "700", "3", ["fill_differs", "fill_differs", *["balance_unexplained"] * 2]),
        ("1", "800", "2", ["fill_restated", "fill_restated"]),
    ],
)
def test_several_orders_are_judged_together_then_alone(amount: str, usd: str, btc: str, expected: list[str]) -> None:
    second, there = other(fill_of(USD_MARKET, "buy", Decimal(amount), PRICE, fill_id="2"))
    paid = DOUBLE.cost + second.cost
    mine = books(leg("done", "order-1", DOUBLE), second, usd=str(1_000 - paid), btc=str(DOUBLE.amount + second.filled))
    assert seen(mine, account(listed(FILL), there, usd=usd, btc=btc)) == expected


def test_a_fill_that_is_listed_for_another_order_is_left_to_a_person() -> None:
    second = replace(leg("done", "order-2"), client_order_id="another")
    mine = books(leg("done", "order-1", DOUBLE), second, usd="800", btc="2")
    assert "fill_restated" not in seen(mine, account(listed(FILL, "order-2"), usd="900", btc="1"))


@pytest.mark.parametrize(
    ("opened_at", "expected"),
    [(GRANTED, ["fill_restated"]), (GRANTED + 1, ["fill_differs", *["balance_unexplained"] * 2])],
)
def test_opening_balances_say_nothing_of_an_order_before_them(opened_at: int, expected: list[str]) -> None:
    rows = tuple(replace(one, opened_at=opened_at) for one in (row("USD", "800"), row("BTC", "2")))
    mine = ours(leg("done", "order-1", DOUBLE), rows=rows)
    assert seen(mine, account(listed(FILL), usd="900", btc="1")) == expected


@pytest.mark.parametrize(
    ("settled", "settled_at", "expected"),
    [
        ("100", GRANTED + 1, ["fill_restated"]),
        # before the order, or of something else
        ("100", GRANTED, ["fill_differs"]),
        ("90", GRANTED + 1, ["fill_differs"]),
        ("0", 0, ["fill_differs"]),
    ],
)
def test_what_a_person_settled_exactly_is_a_witness_too(settled: str, settled_at: int, expected: list[str]) -> None:
    """The rows agree with the exchange since; of the bitcoin as well."""
    usd = replace(row("USD", "900"), settled=Decimal(settled), settled_at=settled_at)
    btc = replace(row("BTC", "1"), settled=Decimal(-1), settled_at=settled_at)
    mine = ours(leg("done", "order-1", DOUBLE), rows=(usd, btc))
    assert seen(mine, account(listed(FILL), usd="900", btc="1")) == expected
