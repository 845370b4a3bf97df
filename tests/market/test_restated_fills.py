"""A fill that was booked as it was reported, and that the exchange's own list and its balances say otherwise."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.compared_books import BookState, ExchangeState
from market.accounting.reconciliation import differences
from market.accounting.restated_fills import LISTED_WITHIN
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
    return ExchangeState((), fills, 50, ASKED_AT, {"USD": Decimal(usd), "BTC": Decimal(btc)})


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
