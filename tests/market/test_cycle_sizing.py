"""Sizes of cycles against every lot there is, and its answers in plain cases."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest

from market.decide.cycle_sizing import CycleBounds, CycleRejection, SizedCycle, size_cycle
from market.decide.sizing import SizingSide
from market.instruments.markets import FeeSide, Market
from market.instruments.order_rules import rule_broken
from market.instruments.orders import LimitOrder, Side
from market.prices.quotes import Level
from tests.market.cycle_solver import (
    best_by_first_leg,
    best_of_all,
    best_without_lots,
    random_cycles,
    worth,
)
from tests.market.samples import levels
from tests.market.test_order_graph import BOOKS, FILES, levels_of

NO_BOUNDS = CycleBounds()


def side_of(
    side: Side,
    symbol: str,
    book: tuple[Level, ...],
    *,
    lot: str = "0.0001",
    fee: str = "0",
    fee_side: FeeSide = "quote",
    free: str | None = None,
    exchange: str = "alpha",
    minimum: str = "0",
) -> SizingSide:
    base, quote = symbol.split("/")
    sizes = (Decimal("0.00001"), Decimal(lot), Decimal(0), Decimal(minimum))
    market = Market(exchange, "us", symbol, base, quote, *sizes, fee_side)
    return SizingSide(side, market, book, Decimal(fee), None, None if free is None else Decimal(free))


def triangle(lot: str = "0.0001", fee: str = "0", free: str | None = None) -> list[SizingSide]:
    """USD → BTC → ETH → USD; ETH/BTC at 0.05, so that 2,000 × 20 of USD come back as 2,010 × 20."""
    return [
        side_of("buy", "BTC/USD", levels(("40000", "0.5"), ("40100", "1")), lot=lot, fee=fee, free=free),
        side_of("buy", "ETH/BTC", levels(("0.05", "8"), ("0.0501", "20")), lot=lot, fee=fee),
        side_of("sell", "ETH/USD", levels(("2010", "6"), ("2005", "30")), lot=lot, fee=fee),
    ]


def sized(sides: list[SizingSide], bounds: CycleBounds = NO_BOUNDS) -> SizedCycle:
    found = size_cycle(sides, bounds)
    assert isinstance(found, SizedCycle), found
    return found


def test_it_goes_as_deep_as_lots_pay() -> None:
    # 0.4 BTC buy 8 ETH at 0.05; behind that 40,000 × 0.0501 is 2,004, which 2,005 still pays, and 40,100 × 0.0501 not
    found = sized(triangle())
    # 0.1 BTC more at 0.0501 buy 1.9960 ETH on lots, and leave 0.00000040 BTC
    assert [leg.amount for leg in found.legs] == [Decimal("0.5"), Decimal("9.9960"), Decimal("9.9960")]
    assert [leg.worst_price for leg in found.legs] == [Decimal(40000), Decimal("0.0501"), Decimal(2005)]
    assert found.legs[0].dust == Decimal("0.00000040")
    assert (found.given, found.received) == (Decimal(20_000), Decimal("20071.98"))
    assert (found.profit, found.gap) == (Decimal("71.98"), Decimal(0))


def test_fees_in_base_in_quote_and_in_what_is_received() -> None:
    """Each fee shrinks what the next leg may give."""
    books = triangle(lot="0.01")
    sides = [
        replace(books[0], fee_rate=Decimal("0.001"), market=replace(books[0].market, fee_side="received")),
        replace(books[1], fee_rate=Decimal("0.001")),
        replace(books[2], fee_rate=Decimal("0.001"), market=replace(books[2].market, fee_side="base")),
    ]
    found = sized(sides)
    for before, after in zip(found.legs, found.legs[1:], strict=False):
        assert before.brings - before.dust == after.gives
        assert before.dust >= 0
    assert found.legs[0].brings == found.legs[0].amount * Decimal("0.999")
    paid = 8 * Decimal("0.05") + (found.legs[1].amount - 8) * Decimal("0.0501")
    assert found.legs[1].gives == paid * Decimal("1.001")
    assert found.legs[2].gives == found.legs[2].amount * Decimal("1.001")
    assert worth(found, NO_BOUNDS) == best_by_first_leg(sides, NO_BOUNDS)


@pytest.mark.parametrize(
    ("change", "bounds", "expected"),
    [
        ({"fee": "0.002"}, NO_BOUNDS, "below_threshold"),
        ({}, CycleBounds(least_bps=Decimal(51)), "below_threshold"),
        ({"lot": "20"}, NO_BOUNDS, "too_small"),
        ({"free": "3.9999"}, NO_BOUNDS, "insufficient_balance"),
        ({"free": "-5"}, NO_BOUNDS, "insufficient_balance"),
        ({}, CycleBounds(most_given=Decimal("3.9")), "limit_reached"),
        ({"free": "1"}, CycleBounds(most_given=Decimal("3.9")), "limit_reached"),
    ],
)
def test_it_says_why_nothing_can_be_traded(
    change: dict[str, str], bounds: CycleBounds, expected: CycleRejection
) -> None:
    assert size_cycle(triangle(**change), bounds) == expected


def test_an_empty_book_is_too_small() -> None:
    """An FX rate whose amounts nobody said."""
    sides = triangle()
    assert size_cycle([*sides[:2], replace(sides[2], levels=levels(("2010", "0")))], NO_BOUNDS) == "too_small"


def test_a_gain_smaller_than_what_lots_leave_is_a_loss() -> None:
    """50 bps at the best prices, and a third of the BTC is left on no lot of ETH/BTC: others' 10 % that are a loss."""
    sides = [
        side_of("buy", "BTC/USD", levels(("40000", "0.3")), lot="0.1"),
        side_of("buy", "ETH/BTC", levels(("0.05", "100")), lot="4"),
        side_of("sell", "ETH/USD", levels(("2010", "100")), lot="1"),
    ]
    # 0.2 BTC buy 4 ETH with nothing left; 0.3 BTC buy 4 as well, and would leave 4,000 USD of BTC behind
    found = sized(sides)
    assert [leg.amount for leg in found.legs] == [Decimal("0.2"), Decimal(4), Decimal(4)]
    assert found.profit == 40
    alone = [replace(sides[0], market=replace(sides[0].market, lot_step=Decimal("0.3"))), *sides[1:]]
    assert size_cycle(alone, NO_BOUNDS) == "below_threshold"


def test_the_limit_holds_money_at_the_limit_price() -> None:
    free = Decimal("4010")
    sides = [replace(triangle()[0], free=free), *triangle()[1:]]
    bounds = CycleBounds(slack_bps=25.0)
    leg = sized(sides, bounds).legs[0]
    assert (leg.limit_price, leg.hold_currency) == (Decimal("40100"), "USD")
    assert leg.hold == leg.amount * leg.limit_price == free


def check(seed: int, sides: list[SizingSide], bounds: CycleBounds, best: Fraction | None) -> bool:
    """Whether it was sized; the best worth of all, and orders that exchanges take."""
    found = size_cycle(sides, bounds)
    if not isinstance(found, SizedCycle):
        assert best is None or best <= 0, (seed, found, best)
        return False
    assert worth(found, bounds) == best, seed
    assert found.gap == 0, seed
    for side, leg in zip(sides, found.legs, strict=True):
        order = LimitOrder("", side.market.exchange, "", side.side, leg.amount, leg.limit_price, 0)
        assert rule_broken(order, side.market) is None, seed
        assert side.free is None or leg.hold <= side.free, seed
    for before, after in zip(found.legs, found.legs[1:], strict=False):
        assert before.brings == after.gives + before.dust, seed
        assert before.dust >= 0, seed
    return True


def test_every_combination_of_lots_of_tiny_books() -> None:
    """The solver of the next test takes each leg's most lots, and this one takes nothing for granted."""
    counts = [
        check(seed, sides, bounds, best_of_all(sides, bounds)) for seed, sides, bounds in random_cycles(0, 100, 8)
    ]
    assert sum(counts) >= 1
    for _, sides, bounds in random_cycles(0, 100, 8):
        assert best_of_all(sides, bounds) == best_by_first_leg(sides, bounds)


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.soak)])
def test_random_cycles_over_random_books(count: int) -> None:
    counts = [
        check(seed, sides, bounds, best_by_first_leg(sides, bounds))
        for seed, sides, bounds in random_cycles(1_000, count, 60)
    ]
    assert sum(counts) >= count / 20


def test_a_search_that_is_cut_off_says_what_it_leaves_open() -> None:
    cut = 0
    for seed, sides, bounds in random_cycles(1_000, 80, 60):
        found = size_cycle(sides, replace(bounds, most_tried=0))
        if isinstance(found, SizedCycle):
            best = best_by_first_leg(sides, bounds)
            assert best is not None
            assert worth(found, bounds) <= best <= worth(found, bounds) + Fraction(found.gap), seed
            cut += found.gap > 0
    assert cut > 0


def recorded(file: str) -> dict[tuple[str, str], dict[Side, tuple[Level, ...]]]:
    """(exchange, symbol) → what an order on each side meets."""
    books = json.loads((BOOKS / FILES[file]).read_text())
    return {
        (book["venue"], f"{book['base']}/{book['quote']}"): {
            "buy": levels_of(book["asks"]),
            "sell": levels_of(book["bids"]),
        }
        for book in books
    }


@pytest.mark.skipif(not (BOOKS / FILES["run1-1"]).exists(), reason=f"the recorded books are not in {BOOKS}")
@pytest.mark.parametrize(
    "path", ["coinbase bitfinex binance", "bitstamp bitfinex binance", "bitfinex coinbase binance"]
)
@pytest.mark.parametrize("fee", ["0", "0.0005"])
def test_recorded_books_give_what_every_lot_gives(path: str, fee: str) -> None:
    """USD → BTC → ETH → USD and back, over the best levels of three exchanges, in lots of 0.05."""
    books = recorded("run1-1")
    bitcoin, ether, cross = path.split()
    for sides in (
        (("buy", bitcoin, "BTC/USD"), ("buy", cross, "ETH/BTC"), ("sell", ether, "ETH/USD")),
        (("buy", ether, "ETH/USD"), ("sell", cross, "ETH/BTC"), ("sell", bitcoin, "BTC/USD")),
    ):
        legs = [
            side_of(
                "buy" if side == "buy" else "sell",
                symbol,
                books[exchange, symbol]["buy" if side == "buy" else "sell"][:8],
                lot="0.05",
                fee=fee,
                exchange=exchange,
            )
            for side, exchange, symbol in sides
        ]
        legs[0] = replace(legs[0], free=Decimal(40_000))
        best = best_by_first_leg(legs, NO_BOUNDS)
        found = size_cycle(legs, NO_BOUNDS)
        if isinstance(found, SizedCycle):
            assert worth(found, NO_BOUNDS) == best
            assert found.gap == 0
        else:
            assert best is None or best <= 0
        fine = size_cycle(
            [replace(leg, free=None, market=replace(leg.market, lot_step=Decimal("0.00000001"))) for leg in legs],
            NO_BOUNDS,
        )
        most = best_without_lots(legs, NO_BOUNDS)
        if isinstance(fine, SizedCycle):
            # what lots leave: one of each leg, none of which is worth a thousandth of a dollar
            assert 0 <= most - worth(fine, NO_BOUNDS) <= Fraction(3, 1_000)
        else:
            assert most <= Fraction(3, 1_000)
