"""What ended a while ago is in a file, and found as if it were in memory."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from simulators.matching.account_history import KEPT_ENDED, AccountHistory
from simulators.matching.exchange_journal import Entry, Journal
from simulators.matching.order_records import SimulatedFill, SimulatedOrder
from tests.simulators.test_simulated_exchange import exchange_of

PRICE, AMOUNT = Decimal("60000.10"), Decimal("0.10000000")
SYMBOLS = ("BTC/USD", "ETH/USD")


def order(number: int, symbol: str = "BTC/USD", client: str | None = None) -> SimulatedOrder:
    return SimulatedOrder(f"o{number}", number, client, symbol, "buy", AMOUNT, PRICE, True, number)


def ended(placed: SimulatedOrder, at: int) -> SimulatedOrder:
    return replace(placed, state="done", filled=AMOUNT, ended_at=at)


def fill(number: int, of: SimulatedOrder) -> SimulatedFill:
    cost, fee = Decimal("6000.0100"), Decimal("6.0000")
    return SimulatedFill(
        f"f{number}", number, of.order_id, of.symbol, "buy", PRICE, AMOUNT, cost, fee, "USD", "taker", number
    )


def traded(history: AccountHistory, first: int, orders: int) -> None:
    """Trade so many orders, each in two fills."""
    for number in range(first, first + 4 * orders, 4):
        placed = order(number, client=f"c{number}")
        history.store(placed)
        for part in (1, 2):
            history.add_fill(fill(number + part, placed))
        history.store(ended(placed, number + 3))


def test_memory_stays_as_it_is_however_much_is_traded() -> None:
    history = AccountHistory()
    resting = order(1)
    history.store(resting)
    traded(history, 4, 2 * KEPT_ENDED)
    filled = history.in_memory
    for round_number in range(1, 6):
        traded(history, 4 + 8 * KEPT_ENDED * round_number, 2 * KEPT_ENDED)
        assert history.in_memory <= filled + KEPT_ENDED
    assert len(history) == 1 + 12 * KEPT_ENDED
    assert sum(1 for _ in history.oldest_fills()) == 24 * KEPT_ENDED
    assert history["o1"] == resting


def test_the_oldest_are_found_by_every_name() -> None:
    history = AccountHistory()
    traded(history, 4, 3 * KEPT_ENDED)
    first = ended(order(4, client="c4"), 7)
    assert history["o4"] == history.get("o4") == first
    assert history.by_client_id("c4") == [first]
    assert history.fills_of("o4") == [fill(5, first), fill(6, first)]
    assert history.fill("f5") == fill(5, first)
    assert history.fill("f7") is None
    assert "o5" not in history
    assert next(iter(history)) == "o4"


STEPS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(("place", "fill", "end")), st.sampled_from(SYMBOLS)))


def played(history: AccountHistory, steps: list[tuple[int, str, str]]) -> list[SimulatedOrder]:
    """Do the steps. Returns the orders as they were placed, as they stand now."""
    placed: list[SimulatedOrder] = []
    for now, (which, step, symbol) in enumerate(steps, 1):
        standing = [place for place, one in enumerate(placed) if one.state == "open"]
        if step == "place" or not standing:
            placed.append(order(now, symbol, f"c{which}"))
            history.store(placed[-1])
            continue
        place = standing[which % len(standing)]
        if step == "fill":
            history.add_fill(fill(now, placed[place]))
        else:
            placed[place] = ended(placed[place], now)
            history.store(placed[place])
    return placed


@given(STEPS, st.integers(0, 60))
def test_all_lists_are_those_of_an_account_that_keeps_everything(steps: list[tuple[int, str, str]], since: int) -> None:
    small, whole = AccountHistory(kept=2), AccountHistory(kept=1_000)
    placed = played(small, steps)
    assert played(whole, steps) == placed
    assert small == whole
    assert list(small.oldest_fills()) == list(whole.oldest_fills())
    assert list(small.newest_orders()) == list(whole.newest_orders()) == placed[::-1]
    for symbol in (None, *SYMBOLS):
        assert list(small.newest_orders(symbol, since)) == list(whole.newest_orders(symbol, since))
        assert list(small.newest_fills(since, symbol)) == list(whole.newest_fills(since, symbol))
    assert [small.by_client_id(f"c{number}") for number in range(6)] == [
        whole.by_client_id(f"c{number}") for number in range(6)
    ]
    assert [small.fills_of(one.order_id) for one in placed] == [whole.fills_of(one.order_id) for one in placed]


def test_a_start_on_a_long_journal_keeps_no_more_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "kraken.jsonl"
    journal = Journal(path)
    for number in range(10, 10 + 12 * KEPT_ENDED, 3):
        placed = ended(order(number), number + 2)
        journal.write(Entry(orders=(placed,), fills=(fill(number + 1, placed),)))
    journal.close()
    again = Journal(path)
    exchange = exchange_of("kraken", again)
    again.close()
    orders = exchange.customer.orders
    assert (len(orders), len(exchange.customer.fills)) == (4 * KEPT_ENDED, 4 * KEPT_ENDED)
    assert orders.in_memory <= 2 * (KEPT_ENDED * 6 // 5)
