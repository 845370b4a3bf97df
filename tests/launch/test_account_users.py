"""A second session on an account is recognised by its orders, on the simulated exchanges over HTTP; orders that a
person left resting are listed."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from uuid import NAMESPACE_DNS, uuid4, uuid5

import pytest

from exchanges.accounts.exchange_account import open_account
from exchanges.accounts.recent_orders import recent_session_orders
from exchanges.errors import AccountRejectedError, ExchangeError, ExchangeUnavailableError
from launch.errors import CannotStartError
from launch.setup.account_users import (
    LOOK_BACK,
    MOST_TRIES,
    answer_with_retries,
    check_accounts_alone,
    check_orders_ours,
    resting_line,
)
from market.instruments.orders import OpenOrder
from market.money import Amount, Price
from market.trade.leases import UNFENCED
from market.trade.unwinding import client_order_id, is_session_order
from runtime.clock import SystemClock, wall_now
from simulators.matching.order_records import OrderRequest
from store.memory.store import MemoryTradeStore
from store.mongo.store import open_store
from tests.bots.test_bot_on_exchanges import session_at
from tests.databases import lent_database
from tests.exchanges.served import TRADED, Served, order_on, served
from tests.market.samples import settings_of
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, granted, open_books, reserved

WITH_LISTS = ("binance", "bybit", "coinbase", "coinbaseexchange", "kraken", "okx")


def test_an_id_of_ours_is_told_from_others() -> None:
    assert all(is_session_order(client_order_id("arbitrage", "buy", before)) for before in range(3))
    assert is_session_order(str(uuid5(NAMESPACE_DNS, "as earlier versions of this program made them")))
    assert not is_session_order(str(uuid4()))
    assert not any(is_session_order(other) for other in (None, "", "JRF20261129-141516-000001", "web_" + "0" * 32))


@pytest.mark.parametrize("exchange", WITH_LISTS)
async def test_the_orders_of_a_session_are_found_and_a_persons_are_not(exchange: str, tmp_path: Path) -> None:
    async with served(tmp_path, only=(exchange,)) as world:
        ours = await bought(world, exchange, client_order_id("elsewhere", "buy"))
        await bought(world, exchange, str(uuid4()))
        markets = [market for market in TRADED if market.exchange == exchange]
        found = await recent_session_orders(world.config(exchange), markets, wall_now() - LOOK_BACK)
    assert found == {ours}


async def bought(world: Served, exchange: str, name: str) -> str:
    """Buy at a price that is sure to fill."""
    market = next(market for market in TRADED if market.exchange == exchange)
    account = open_account(world.config(exchange), TRADED)
    try:
        own = world.world.gateways[exchange].exchange
        best = own.books[market.symbol].best("sell")
        assert best is not None
        price = Price(own.listings[market.symbol].price(best))
        amount = max(market.minimum_amount, Decimal("0.01"))
        order = replace(order_on(market, "buy", amount, price), client_order_id=name)
        assert (await account.place(order)).filled > 0
    finally:
        await account.close()
    return name


@pytest.fixture
async def store() -> MemoryTradeStore:
    one = MemoryTradeStore(SystemClock())
    await open_books(one)
    return one


async def test_orders_in_our_books_are_our_own(store: MemoryTradeStore) -> None:
    arbitrage = await reserved(store)
    buy = await granted(store, arbitrage.arbitrage_id, "buy")
    await check_orders_ours(store, "alpha", {buy.client_order_id})
    for role in ("buy", "sell"):
        await finish_leg(store, arbitrage.arbitrage_id, role, None, close, UNFENCED)
    await check_orders_ours(store, "alpha", {buy.client_order_id})
    await check_orders_ours(store, "alpha", frozenset())


async def test_one_that_is_in_no_leg_ends_the_start_with_one_sentence(store: MemoryTradeStore) -> None:
    strange = client_order_id("elsewhere", "sell")
    with pytest.raises(CannotStartError, match=f"another session .* at alpha: its order {strange}") as refused:
        await check_orders_ours(store, "alpha", {strange})
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("fault", "times", "tries"),
    [
        (ExchangeUnavailableError("kraken: EAPI:Invalid nonce"), MOST_TRIES - 1, None),
        (ExchangeUnavailableError("kraken: in maintenance"), MOST_TRIES, MOST_TRIES),
        (AccountRejectedError("kraken: invalid key"), 1, 1),
    ],
)
async def test_a_hiccup_does_not_end_the_start(fault: ExchangeError, times: int, tries: int | None) -> None:
    asked, slept = 0, 0.0

    async def ask() -> str:
        nonlocal asked
        asked += 1
        if asked <= times:
            raise fault
        return "nobody"

    async def sleep(seconds: float) -> None:
        nonlocal slept
        slept += seconds

    if tries is None:
        assert await answer_with_retries(ask, sleep) == "nobody"
    else:
        with pytest.raises(CannotStartError, match=str(fault)):
            await answer_with_retries(ask, sleep)
        assert asked == tries
    assert slept < 66


def test_what_rests_is_listed() -> None:
    order = OpenOrder(
        "kraken", "BTC/USD", "O-1", None, "sell", Amount(Decimal("1.5")), Price(Decimal(70_000)), 1_700_000_000_000_000
    )
    assert resting_line(order) == (
        "kraken: an order of somebody else rests: sell 1.5 BTC/USD at 70000, O-1, placed 2023-11-14 22:13:20 UTC"
    )
    assert "at the market" in resting_line(replace(order, price=None))


async def test_the_whole_check_at_the_start(tmp_path: Path, mongodb_uri: str) -> None:
    """A session in paper mode stands in for a live one, because the same calls go to simulated exchanges."""
    said: list[str] = []
    async with served(tmp_path, only=("kraken",)) as world, lent_database(mongodb_uri) as database:
        session = session_at(world, "127.0.0.1:1", mongodb_uri)
        session = replace(
            session,
            services=replace(session.services, database=database),
            markets=tuple(one for one in session.markets if one.exchange == "kraken"),
        )
        async with await open_store(session) as store:
            await store.prepare()
            await store.settings.create(settings_of(trading_state="running"))
        await check_accounts_alone(session, {}, said.append)
        assert said == ["trading_state is running, as this database was left: orders are sent as soon as all is ready"]
        said.clear()
        market = next(one for one in session.traded)
        own = world.world.gateways["kraken"].exchange
        own.place(
            OrderRequest(market.symbol, "sell", Decimal(1), own.listings[market.symbol].price(10**7), immediate=False)
        )
        await check_accounts_alone(session, {}, said.append)
        assert "kraken: an order of somebody else rests: sell 1 BTC/USD" in said[1]
        assert "the dead man's switch" in said[1]
        strange = await bought(world, "kraken", client_order_id("elsewhere", "buy"))
        with pytest.raises(CannotStartError, match=f"another session .* at kraken: its order {strange}"):
            await check_accounts_alone(session, {}, said.append)
