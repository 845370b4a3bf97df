"""A first order is gone through up to the moment at which it would be sent; then connections are open."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from exchanges.accounts.exchange_account import CONNECTIONS, ExchangeAccount, open_account
from exchanges.accounts.order_rehearsal import rehearsed_order
from exchanges.errors import ExchangeUnavailableError
from market.instruments.markets import Market
from market.instruments.order_rules import rule_broken
from runtime.clock import wall_now
from tests.exchanges.served import TRADED, Served, order_on, served

ACCOUNTS = [
    pytest.param(market, is_generic, id=f"{market.exchange}{'-generic' if is_generic else ''}")
    for is_generic in (False, True)
    for market in TRADED
]


@dataclass(frozen=True)
class Bench:
    account: ExchangeAccount
    market: Market
    outside: Served

    def connections(self) -> int:
        """Return how many this process has open to the exchange."""
        port = urlsplit(self.outside.url).port
        open_ones = (one for one in psutil.Process().net_connections("tcp") if one.status == psutil.CONN_ESTABLISHED)
        return sum(bool(one.raddr) and one.raddr.port == port for one in open_ones)


@pytest.fixture(params=[one.values for one in ACCOUNTS], ids=[str(one.id) for one in ACCOUNTS])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    market, is_generic = request.param
    async with served(tmp_path, only=(market.exchange,)) as outside:
        account = open_account(outside.config(market.exchange, is_generic=is_generic), [market])
        try:
            yield Bench(account, market, outside)
        finally:
            await account.close()


async def test_no_order_is_sent_and_the_first_one_finds_its_connections_open(bench: Bench) -> None:
    began = wall_now()
    await bench.account.rehearse()
    assert await bench.account.fills_since(began) == []
    assert await bench.account.look_up(rehearsed_order(bench.market)) is None, "the exchange has no such order"
    opened = bench.connections()
    assert opened >= 2 * CONNECTIONS
    price, _ = bench.outside.best(bench.market, "sell")
    amount = max(bench.market.minimum_amount, bench.market.lot_step)
    while rule_broken(order := order_on(bench.market, "buy", amount, price), bench.market):
        amount *= 10
    assert (await bench.account.place(order)).filled > 0
    assert bench.connections() == opened, "none had to be opened"


async def test_a_second_time_opens_no_more(bench: Bench) -> None:
    await bench.account.rehearse()
    opened = bench.connections()
    await bench.account.rehearse()
    assert bench.connections() == opened


async def test_an_exchange_that_is_away_is_told_from_a_rejection(tmp_path: Path) -> None:
    market = TRADED[0]
    async with served(tmp_path, only=(market.exchange,)) as outside:
        config = outside.config(market.exchange)
    account = open_account(config, [market])
    try:
        with pytest.raises(ExchangeUnavailableError):
            await account.rehearse()
    finally:
        await account.close()


@pytest.mark.parametrize("market", TRADED, ids=lambda market: str(market.exchange))
def test_its_order_could_fill_nothing_and_keeps_the_markets_rules(market: Market) -> None:
    order = rehearsed_order(market)
    assert rule_broken(order, market) is None
    assert (order.side, order.price) == ("buy", market.tick_size)
