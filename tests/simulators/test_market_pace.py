"""Which markets move in which turn of their exchange."""

from collections import Counter

from simulators.market.pace import MarketPace
from simulators.matching.listings import listings_of

TURNS = 256
KRAKEN = listings_of("kraken")


def moves(pace: MarketPace, first: int) -> Counter[str]:
    return Counter(row.market.symbol for turn in range(first, first + TURNS) for row, _ in pace.due(turn))


def test_every_market_has_its_book_after_the_first_turn() -> None:
    assert [row for row, _ in MarketPace(KRAKEN, ("BTC",)).due(0)] == list(KRAKEN)


def test_markets_that_nobody_looks_at_move_once_while_the_others_always_do() -> None:
    pace = MarketPace(KRAKEN, ("BTC",))
    pace.watch({"SOL/USD"})
    counted = moves(pace, 1)
    assert counted.keys() == {row.market.symbol for row in KRAKEN}
    assert counted.pop("BTC/USD") == counted.pop("SOL/USD") == TURNS
    assert {counted.pop(row.market.symbol) for row in KRAKEN if row.market.is_fx} <= {25, 26}
    assert set(counted.values()) == {1}
    pace.watch(())
    assert moves(pace, 1)["SOL/USD"] == 1


def test_resting_markets_do_not_move_all_at_once() -> None:
    pace = MarketPace(KRAKEN, ())
    busiest = max(len(pace.due(turn)) for turn in range(1, TURNS + 1))
    assert busiest < 8


def test_a_market_of_other_peoples_clients_rests() -> None:
    pace = MarketPace(listings_of("bitstamp"), ("BTC",))
    assert (moves(pace, 1)["BTC/EUR"], moves(pace, 1)["BTC/USD"]) == (TURNS, 1)
    pace.watch({"BTC/USD"})
    assert moves(pace, 1)["BTC/USD"] == TURNS


def test_a_market_says_for_how_many_turns_it_rested() -> None:
    pace = MarketPace(KRAKEN, ("BTC",))
    turns = {row.market.symbol: count for turn in range(1, TURNS + 1) for row, count in pace.due(turn)}
    assert turns["BTC/USD"] == 1
    assert turns["ETH/USD"] == TURNS
