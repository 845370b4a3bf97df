"""Enumeration of cycles against every order of every choice of markets, and what it says of those not there."""

from dataclasses import replace
from decimal import Decimal
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.instruments.contracts import Contract
from market.instruments.cycles import MOST_CYCLES, Cycle, CycleLeg, CycleTerms, watched_cycles
from market.instruments.markets import Market

EXCHANGES = ("alpha", "beta")
CODES = ("BTC", "ETH", "EUR", "USD", "SOL")


def market(exchange: str, symbol: str) -> Market:
    base, quote = symbol.split("/")
    return Market(exchange, "us", symbol, base, quote, *(Decimal("0.01"),) * 4, "quote")


def terms(max_legs: int = 3, within: tuple[str, ...] = (), across: tuple[str, ...] = ()) -> CycleTerms:
    return CycleTerms(max_legs, frozenset(within), frozenset(across))


TRIANGLE = [market("alpha", symbol) for symbol in ("BTC/USD", "ETH/USD", "ETH/BTC")]
THREE_PLACES = [
    market("kraken", "BTC/USD"),
    market("bitstamp", "BTC/EUR"),
    replace(market("kraken", "EUR/USD"), is_fx=True),
]


def ids(markets: list[Market], wanted: CycleTerms, **known: object) -> list[str]:
    fees = known.get("fees", {one.exchange for one in markets})
    held = known.get("held")
    found = watched_cycles(markets, wanted, "USD", fees, held)  # type: ignore[arg-type] # given by the tests below
    return [cycle.cycle_id for cycle in found.cycles]


def test_a_triangle_within_one_exchange_both_ways() -> None:
    assert ids(TRIANGLE, terms(within=("alpha",))) == [
        "alpha:BTC/USD:buy>alpha:ETH/BTC:buy>alpha:ETH/USD:sell",
        "alpha:ETH/USD:buy>alpha:ETH/BTC:sell>alpha:BTC/USD:sell",
    ]


def test_over_two_exchanges_and_an_fx_market() -> None:
    found = watched_cycles(THREE_PLACES, terms(across=("kraken", "bitstamp")), "USD", {"kraken", "bitstamp"})
    assert [cycle.cycle_id for cycle in found.cycles] == [
        "kraken:BTC/USD:buy>bitstamp:BTC/EUR:sell>kraken:EUR/USD:sell",
        "kraken:EUR/USD:buy>bitstamp:BTC/EUR:buy>kraken:BTC/USD:sell",
    ]
    first = found.cycles[0]
    assert first.currency == "USD"
    assert first.needs == (("kraken", "USD"), ("bitstamp", "BTC"), ("kraken", "EUR"))
    assert first.words == "buy BTC/USD at kraken, sell BTC/EUR at bitstamp, sell EUR/USD at kraken"
    assert found.reasons == ()


def test_within_an_exchange_only_the_first_currency_has_to_be_held() -> None:
    cycle = watched_cycles(TRIANGLE, terms(within=("alpha",)), "USD", {"alpha"}).cycles[0]
    assert cycle.needs == (("alpha", "USD"),)


@pytest.mark.parametrize(
    ("markets", "wanted", "known", "said"),
    [
        (
            TRIANGLE[:2],
            terms(within=("alpha",)),
            {},
            "no cycle of at most 3 legs within alpha: it has BTC/USD, ETH/USD",
        ),
        (TRIANGLE, terms(within=("alpha", "beta")), {}, "within beta: it has no market alone"),
        (TRIANGLE, terms(across=("alpha", "beta")), {}, "over several of alpha, beta: a cross market is missing"),
        (TRIANGLE, terms(within=("alpha",)), {"fees": {"beta"}}, "alpha BTC/USD is in no cycle: the taker fee"),
        (
            [*TRIANGLE, replace(market("alpha", "ETH/USD:USD"), contract=Contract("linear", Decimal(1)))],
            terms(within=("alpha",)),
            {},
            "alpha ETH/USD:USD is in no cycle: it trades contracts",
        ),
        (
            THREE_PLACES,
            terms(across=("kraken", "bitstamp")),
            {"held": {"kraken": {"USD", "BTC", "EUR"}, "bitstamp": {"BTC"}}},
            "1 cycle needs EUR at bitstamp, where none is held",
        ),
    ],
)
def test_it_says_why_there_is_none(
    markets: list[Market], wanted: CycleTerms, known: dict[str, object], said: str
) -> None:
    fees = known.get("fees", {one.exchange for one in markets})
    found = watched_cycles(markets, wanted, "USD", fees, known.get("held"))  # type: ignore[arg-type]
    assert any(said in reason for reason in found.reasons), found.reasons


def test_there_are_at_most_so_many_and_those_of_fewest_legs_come_first() -> None:
    coins = [f"C{number}" for number in range(60)]
    many = [market("alpha", f"{coin}/{quote}") for coin in coins for quote in ("USD", "EUR", "BTC", "USDT")]
    found = watched_cycles(many, terms(5, within=("alpha",)), "USD", {"alpha"})
    assert len(found.cycles) == MOST_CYCLES
    assert found.cycles[0].legs[0].gives == "BTC" or len(found.cycles[0].legs) == 4
    assert "only the first 2000 cycles are watched" in found.reasons[0]


def plainly(markets: list[Market], wanted: CycleTerms) -> set[frozenset[tuple[str, str, str]]]:
    """Return the legs of each cycle, by trying each order of each choice of legs."""
    legs = [CycleLeg(one, "buy" if side else "sell") for one in markets for side in (True, False)]
    found: set[frozenset[tuple[str, str, str]]] = set()
    for length in range(3, wanted.max_legs + 1):
        for path in permutations(legs, length):
            gives = [leg.gives for leg in path]
            joined = all(path[number - 1].brings == leg.gives for number, leg in enumerate(path))
            exchanges = {leg.market.exchange for leg in path}
            allowed = wanted.within if len(exchanges) == 1 else wanted.across
            if joined and len(set(gives)) == length and exchanges <= allowed:
                found.add(frozenset((leg.market.exchange, leg.market.symbol, leg.side) for leg in path))
    return found


def named(cycle: Cycle) -> frozenset[tuple[str, str, str]]:
    return frozenset((leg.market.exchange, leg.market.symbol, leg.side) for leg in cycle.legs)


PAIRS = [market(exchange, f"{a}/{b}") for exchange, (a, b) in product(EXCHANGES, combinations(CODES, 2))]


@given(
    st.lists(st.sampled_from(PAIRS), max_size=4, unique=True),
    st.integers(3, 5),
    st.sets(st.sampled_from(EXCHANGES)),
    st.sets(st.sampled_from(EXCHANGES)),
)
def test_it_finds_each_cycle_once(markets: list[Market], max_legs: int, within: set[str], across: set[str]) -> None:
    wanted = terms(max_legs, tuple(within), tuple(across))
    found = watched_cycles(markets, wanted, "USD", EXCHANGES).cycles
    assert {named(cycle) for cycle in found} == plainly(markets, wanted)
    assert len({cycle.cycle_id for cycle in found}) == len(found)
    for cycle in found:
        codes = [leg.gives for leg in cycle.legs]
        assert "USD" not in codes[1:]
        assert len({(leg.market.exchange, leg.market.symbol) for leg in cycle.legs}) == len(cycle.legs)


def test_the_order_in_which_markets_are_given_changes_nothing() -> None:
    wanted = terms(5, EXCHANGES, EXCHANGES)
    assert ids(PAIRS, wanted) == ids(PAIRS[::-1], wanted)
