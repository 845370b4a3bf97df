"""What a bot has to do about what is granted at its exchange."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.execute.due_actions import Executing, due_actions, has_leg_at
from bots.execute.posted_orders import PostedOrders
from market.trade.arbitrages import Leg
from market.trade.grants import Grant
from market.trade.unwinding import markets_by_symbol
from tests.market.samples import EUR_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg

ONE = Decimal(1)
TOKEN = 7
"""Token of the lease of the asking process."""
SYMBOLS = markets_by_symbol((USD_MARKET, EUR_MARKET))
OPPORTUNITY = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))


def leg(token: int = TOKEN) -> Leg:
    """Return a leg of alpha's."""
    return replace(order_leg(USD_MARKET, "buy", ONE, ONE), state="granted", held=ONE, token=token)


def due(own: Executing, *legs: Leg) -> list[str]:
    found = due_actions([Grant("trade-1", one) for one in legs], own)
    assert [one.leg for one in found] == [one for one in legs if one.exchange == own.exchange][: len(found)]
    return [one.what for one in found]


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (TOKEN, "execute"),
        # the process before it may have posted it, or is about to
        (TOKEN - 1, "resolve"),
        # so may one that has taken over since
        (TOKEN + 1, "resolve"),
    ],
)
def test_only_what_was_granted_to_this_process_is_posted(token: int, expected: str) -> None:
    assert due(Executing("alpha", TOKEN, SYMBOLS), leg(token)) == [expected]


def test_what_it_has_begun_to_post_is_looked_up_and_what_it_has_reported_is_left() -> None:
    posted = PostedOrders(lambda: 0)
    own = Executing("alpha", TOKEN, SYMBOLS, posted)
    posted.begin(leg().client_order_id)
    assert due(own, leg()) == ["resolve"]
    posted.end(leg().client_order_id)
    assert due(own, leg()) == []


def test_of_other_exchanges_and_of_markets_that_are_gone_nothing_is_due() -> None:
    assert due(Executing("beta", TOKEN, SYMBOLS), leg()) == []
    assert due_actions([Grant("trade-1", leg())], Executing("alpha", TOKEN, markets_by_symbol((EUR_MARKET,)))) == []


def test_whether_a_leg_is_at_an_exchange() -> None:
    one = arbitrage_of(OPPORTUNITY, leg(), order_leg(EUR_MARKET, "sell", ONE, ONE))
    assert [has_leg_at([one], name) for name in ("alpha", "beta", "gamma")] == [True, True, False]
    assert not has_leg_at([], "alpha")
