"""Verified, generic or unfit: by a table, and by what ccxt says of real exchanges."""

import ccxt.pro
import pytest

from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.facts import ccxt_facts
from exchanges.ccxt.fitness import Fitness, fitness_of

ALL = {
    "spot": True,
    "fetchMarkets": True,
    "watchOrderBook": True,
    "fetchOrderBook": True,
    "createOrder": True,
    "fetchBalance": True,
    "fetchOrder": "emulated",
    "fetchMyTrades": True,
    "fetchOrderTrades": True,
    "fetchOpenOrders": True,
    "fetchClosedOrders": True,
}

CASES: dict[str, tuple[dict[str, object], Fitness]] = {
    "everything": ({}, Fitness("generic")),
    "no stream": ({"watchOrderBook": None}, Fitness("generic")),
    "no spot": ({"spot": False}, Fitness("unfit", "ccxt knows no spot market there")),
    "no list of markets": ({"fetchMarkets": None}, Fitness("unfit", "ccxt cannot list its markets")),
    "no books": (
        {"watchOrderBook": False, "fetchOrderBook": None},
        Fitness("unfit", "ccxt cannot read its order books"),
    ),
    "nothing to check a stream by": (
        {"fetchOrderBook": False},
        Fitness("unfit", "ccxt reads its order books by their stream alone, so that none could be checked by REST"),
    ),
    "no orders": ({"createOrder": False}, Fitness("generic", None, "ccxt cannot place orders there")),
    "no balances": ({"fetchBalance": None}, Fitness("generic", None, "ccxt cannot read balances there")),
    "no order": ({"fetchOrder": False}, Fitness("generic", None, "ccxt cannot read an order there")),
    "no fills": (
        {"fetchMyTrades": None, "fetchOrderTrades": None},
        Fitness("generic", None, "ccxt cannot read fills there"),
    ),
    "fills of one order only": (
        {"fetchMyTrades": None},
        Fitness(
            "generic", None, "ccxt cannot list the account's fills there, so that the ledger could not be compared"
        ),
    ),
    "no ended orders": (
        {"fetchClosedOrders": None},
        Fitness(
            "generic",
            None,
            "ccxt cannot list ended orders there, so that one without an answer could not be found again",
        ),
    ),
    "no open orders": ({"fetchOpenOrders": False}, Fitness("generic", None, "ccxt cannot list open orders there")),
}


@pytest.mark.parametrize(("changes", "expected"), CASES.values(), ids=CASES)
def test_what_an_exchange_is_fit_for(changes: dict[str, object], expected: Fitness) -> None:
    assert fitness_of("somewhere", ALL | changes) == expected


def test_nothing_known_of_it_is_unfit() -> None:
    assert fitness_of("somewhere", {}).kind == "unfit"


@pytest.mark.parametrize("name", EXCHANGES)
def test_our_own_are_verified_whatever_ccxt_says(name: str) -> None:
    assert fitness_of(name, {}) == Fitness("verified")


@pytest.mark.parametrize("name", ["bitget", "bitfinex", "kucoin", "gate"])
def test_well_known_exchanges_can_be_traded_on(name: str) -> None:
    assert fitness_of(name, getattr(ccxt.pro, name)().has) == Fitness("generic")


@pytest.mark.parametrize(("name", "units"), [("kraken", 9), ("bitflyer", 3), ("okx", 4), ("htx", 2.4)])
def test_what_a_leg_costs_by_the_requests_in_ccxts_code(name: str, units: float) -> None:
    assert ccxt_facts(name).leg_units == pytest.approx(units)
    # what ccxt lists is read from the class, on which the first client of it replaces the requests
    assert ccxt_facts(name).leg_units == pytest.approx(units)


def test_an_exchange_of_futures_alone_is_unfit() -> None:
    assert fitness_of("binanceusdm", ccxt.pro.binanceusdm().has).kind == "unfit"
