"""Two orders of one account do not trade: the newer one decides which of them ends, in each exchange's words."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from tests.simulators.contract.bench import Bench, opened

OLDER, NEWER = Decimal("0.02"), Decimal("0.03")
RESTS = {
    # what is left of the older and of the newer
    "smaller": [NEWER - OLDER],
    "maker": [NEWER],
    "taker": [OLDER],
    "both": [],
}
WORDS = {
    "coinbaseexchange": ("stp", {"": "smaller", "dc": "smaller", "co": "maker", "cn": "taker", "cb": "both"}),
    "kraken": (
        "stptype",
        {"": "taker", "cancel-newest": "taker", "cancel-oldest": "maker", "cancel-both": "both"},
    ),
}


@pytest.mark.parametrize(
    ("exchange", "word", "ends"),
    [(exchange, word, ends) for exchange, (_, words) in WORDS.items() for word, ends in words.items()],
)
async def test_an_account_does_not_trade_with_itself(exchange: str, word: str, ends: str, tmp_path: Path) -> None:
    async with opened(exchange, tmp_path) as bench:
        balances = dict(bench.exchange.balances)
        price = bench.best("buy")[0] + bench.market.tick_size
        older = await bench.post("buy", OLDER, price)
        newer = await bench.post("sell", NEWER, price, {WORDS[exchange][0]: word} if word else {})
        assert [order.remaining for order in bench.exchange.customer.open_orders()] == RESTS[ends]
        assert [(await bench.order(name))["filled"] for name in (older, newer)] == [0, 0]
        assert (bench.fills(), dict(bench.exchange.balances)) == ([], balances)
        assert sum(bench.exchange.customer.held().values()) == sum(map(held(bench), RESTS[ends]))


def held(bench: Bench) -> Callable[[Decimal], Decimal]:
    """Return the amount that an open order of that amount holds."""

    def of(_amount: Decimal) -> Decimal:
        [order] = bench.exchange.customer.open_orders()
        return bench.exchange.customer.hold_of(order)[1]

    return of


@pytest.mark.parametrize("word", ["", "dc", "co", "cn", "cb"])
async def test_an_order_says_how_it_was_asked_to_meet_its_own_account(word: str, tmp_path: Path) -> None:
    async with opened("coinbaseexchange", tmp_path) as bench:
        placed = await bench.post("buy", OLDER, bench.best("buy")[0], {"stp": word} if word else {})
        assert (await bench.order(placed))["info"]["stp"] == (word or "dc")


async def test_an_order_that_became_smaller_fills_whole(tmp_path: Path) -> None:
    async with opened("coinbaseexchange", tmp_path) as bench:
        price = bench.best("buy")[0] + bench.market.tick_size
        await bench.post("buy", OLDER, price)
        newer = await bench.post("sell", NEWER, price)
        assert (await bench.order(newer))["amount"] == float(NEWER - OLDER)
        await bench.client.cancel_order(newer)
        row = await bench.order(newer)
        assert (row["status"], row["filled"]) == ("canceled", 0)
