"""ccxt accounts on simulated exchanges, by our own order APIs and by the generic one: the account contract, and what
each exchange does in its own way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.ccxt.client import ExchangeConfig
from exchanges.credentials import Credentials
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from exchanges.ports.orders import SEARCH_MARGIN
from exchanges.simulated_markets import cross_markets, paper_markets
from market.instruments.markets import Market
from market.instruments.orders import Fill, Side
from market.money import Amount, Price, floor_to_step
from runtime.clock import wall_now
from session.exchange_entries import ExchangeEntry
from simulators.faults.fault_kinds import Fault
from tests.exchanges.account_contract import SIDES, AccountContract
from tests.exchanges.balancing import balances_after
from tests.exchanges.served import TRADED, Served, order_on, served

ACCOUNTS = [
    pytest.param(market, is_generic, id=f"{market.exchange}{'-generic' if is_generic else ''}")
    for is_generic in (False, True)
    for market in TRADED
]
PAGE = 100
"""Fills that an exchange shows at once, or fewer; Binance shows 500."""
BY_EXCHANGE = {market.exchange: market for market in TRADED}


@dataclass(frozen=True)
class SimulatedBench:
    account: ExchangeAccount
    market: Market
    outside: Served
    is_generic: bool

    def best(self, side: Side) -> tuple[Price, Amount]:
        return self.outside.best(self.market, side)

    @property
    def keeps_client_ids(self) -> bool:
        return self.market.exchange in ("coinbaseexchange", "bitstamp")

    @asynccontextmanager
    async def reopened(self) -> AsyncIterator[ExchangeAccount]:
        config = self.outside.config(self.market.exchange, is_generic=self.is_generic)
        account = open_account(config, [self.market])
        try:
            yield account
        finally:
            await account.close()


@pytest.fixture(params=[one.values for one in ACCOUNTS], ids=[str(one.id) for one in ACCOUNTS])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SimulatedBench]:
    market, is_generic = request.param
    async with served(tmp_path, only=(market.exchange,)) as outside:
        account = open_account(outside.config(market.exchange, is_generic=is_generic), [market])
        try:
            yield SimulatedBench(account, market, outside, is_generic)
        finally:
            await account.close()


class TestCcxtAccount(AccountContract):
    @pytest.fixture
    def bench(self, bench: SimulatedBench) -> SimulatedBench:
        return bench


async def test_more_fills_than_a_page_has_are_all_listed(bench: SimulatedBench) -> None:
    began, placed, market = wall_now(), set(), bench.market
    for _ in range(PAGE // 2 + 3):
        for side in SIDES:
            price, _ = bench.best("sell" if side == "buy" else "buy")
            least = max(market.minimum_amount, market.minimum_notional / price * 2)
            order = order_on(market, side, floor_to_step(least, market.lot_step), price)
            placed |= {fill.fill_id for fill in (await bench.account.place(order)).fills}
            bench.outside.round()
    assert len(placed) > PAGE
    assert {one.fill.fill_id for one in await bench.account.fills_since(began)} == placed


@pytest.mark.parametrize("is_generic", [False, True])
@pytest.mark.parametrize("market", cross_markets(("BTC", "ETH")), ids=lambda one: f"{one.exchange}-{one.symbol}")
async def test_a_trade_of_a_cross_is_reported_and_listed_whole(
    tmp_path: Path, market: Market, is_generic: bool
) -> None:
    """What costs a fraction of a coin has more digits than what costs dollars."""
    async with served(tmp_path, only=(market.exchange,), has_crosses=True) as outside:
        account = open_account(outside.config(market.exchange, is_generic=is_generic), [market])
        try:
            began, before = wall_now(), await account.balances()
            placed: list[Fill] = []
            for side in SIDES:
                price, amount = outside.best(market, "sell" if side == "buy" else "buy")
                order = order_on(market, side, amount - market.lot_step, price)
                report = await account.place(order)
                assert report.filled == order.amount
                assert await account.look_up(order) == report
                placed += report.fills
            assert {one.fill for one in await account.fills_since(began)} == set(placed)
            assert await account.balances() == balances_after(before, placed)
        finally:
            await account.close()


async def test_an_account_opens_again_without_the_crosses_that_it_traded(tmp_path: Path) -> None:
    market = next(one for one in cross_markets(("BTC", "ETH")) if one.exchange == "kraken")
    async with served(tmp_path, only=("kraken",), has_crosses=True) as before:
        account = open_account(before.config("kraken"), [market])
        price, amount = before.best(market, "sell")
        traded = order_on(market, "buy", amount - market.lot_step, price)
        try:
            report = await account.place(traded)
            assert report.filled == traded.amount
            balances = await account.balances()
        finally:
            await account.close()
    async with served(tmp_path, only=("kraken",)) as after:
        account = open_account(after.config("kraken"), [market])
        try:
            assert await account.balances() == balances
            assert await account.look_up(traded) == report
        finally:
            await account.close()


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as running:
        yield running


@pytest.mark.parametrize("is_generic", [False, True])
async def test_two_like_orders_on_bitflyer_are_for_a_person_to_report_apart(outside: Served, is_generic: bool) -> None:
    market = BY_EXCHANGE["bitflyer"]
    account = open_account(outside.config("bitflyer", is_generic=is_generic), [market])
    try:
        price, _ = outside.best(market, "buy")
        order = order_on(market, "buy", market.minimum_amount, price)
        reports = [await account.place(order), await account.place(order)]
        with pytest.raises(OutcomeUnknownError) as both:
            await account.look_up(order)
        assert all(report.exchange_order_id in str(both.value) for report in reports)
        later = replace(order, intended_at=order.intended_at + SEARCH_MARGIN + 60_000_000)
        assert await account.look_up(later) is None
    finally:
        await account.close()


def another_private_key() -> str:
    private = generate_private_key(SECP256R1())
    return private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()


@pytest.mark.parametrize(("market", "is_generic"), ACCOUNTS)
async def test_a_wrong_secret_is_rejected(outside: Served, market: Market, is_generic: bool) -> None:
    config = outside.config(market.exchange, is_generic=is_generic)
    assert config.credentials is not None
    secret = config.credentials.secret
    # a private key has another one beside it
    other = another_private_key() if secret.startswith("-----BEGIN") else "d3Jvbmc=" + secret
    wrong = replace(config.credentials, secret=other)
    price, amount = outside.best(market, "sell")
    account = open_account(replace(config, credentials=wrong), [market])
    try:
        with pytest.raises(AccountRejectedError):
            await account.place(order_on(market, "buy", amount, price))
        with pytest.raises(AccountRejectedError):
            await account.balances()
        assert not outside.world.gateways[market.exchange].exchange.customer.orders
    finally:
        await account.close()


@pytest.mark.parametrize(("market", "is_generic"), ACCOUNTS)
async def test_a_secret_that_cannot_sign_is_rejected(outside: Served, market: Market, is_generic: bool) -> None:
    """Neither base64 nor a private key."""
    config = outside.config(market.exchange, is_generic=is_generic)
    assert config.credentials is not None
    account = open_account(replace(config, credentials=replace(config.credentials, secret="wrong")), [market])
    try:
        with pytest.raises(AccountRejectedError) as rejected:
            await account.balances()
        assert "wrong" not in str(rejected.value)
    finally:
        await account.close()


@pytest.mark.parametrize(("market", "is_generic"), ACCOUNTS)
async def test_an_unknown_key_is_rejected(outside: Served, market: Market, is_generic: bool) -> None:
    config = outside.config(market.exchange, is_generic=is_generic)
    config = replace(config, credentials=Credentials("nobody", "bm9ib2R5", "nobody"))
    account = open_account(config, [market])
    try:
        with pytest.raises(AccountRejectedError):
            await account.balances()
    finally:
        await account.close()


@pytest.mark.parametrize(("market", "is_generic"), ACCOUNTS)
async def test_nobody_there(market: Market, is_generic: bool) -> None:
    """A rejected connection was never sent, so there is no order; a read may be tried again."""
    keys = Credentials("key", "c2VjcmV0", "password")
    config = ExchangeConfig(market.exchange, "simulated", "http://127.0.0.1:9", keys)
    entry = ExchangeEntry(market.exchange, "generic") if is_generic else None
    account = open_account(replace(config, listed_as=entry), [market])
    try:
        order = order_on(market, "buy", market.minimum_amount * 100_000, market.tick_size * 100_000)
        with pytest.raises(OrderRejectedError):
            await account.place(order)
        with pytest.raises(ExchangeUnavailableError):
            await account.look_up(order)
    finally:
        await account.close()


async def test_an_order_of_a_market_that_is_not_traded_here(outside: Served) -> None:
    """It cannot be sent, and whether it ever was is unknown."""
    market = BY_EXCHANGE["kraken"]
    account = open_account(outside.config("kraken"), [market])
    try:
        order = replace(order_on(market, "buy", market.minimum_amount, market.tick_size), symbol="ETH/USD")
        with pytest.raises(OrderRejectedError, match="ETH/USD"):
            await account.place(order)
        with pytest.raises(ExchangeUnavailableError, match="ETH/USD"):
            await account.look_up(order)
    finally:
        await account.close()


async def test_fills_in_an_fx_market_are_listed_if_orders_are_sent_there(outside: Served) -> None:
    """Cycles trade some; elsewhere they give rates alone, and each market that is asked for may cost a request."""
    fx = next(one for one in paper_markets() if one.symbol == "EUR/USD")
    account = open_account(outside.config("kraken"), [BY_EXCHANGE["kraken"], fx])
    try:
        price, _ = outside.best(fx, "sell")
        before = wall_now()
        report = await account.place(order_on(fx, "buy", Amount(Decimal(10)), price))
        assert report.filled > 0
        assert await account.fills_since(before) == []
        account.fx_ordered = frozenset({"EUR/USD"})
        assert {one.fill.fill_id for one in await account.fills_since(before)} == {one.fill_id for one in report.fills}
    finally:
        await account.close()


@pytest.mark.parametrize("is_generic", [False, True])
async def test_orders_placed_at_once_all_come_back(outside: Served, is_generic: bool) -> None:
    """Kraken's nonces must not overtake one another."""
    market = BY_EXCHANGE["kraken"]
    account = open_account(outside.config("kraken", is_generic=is_generic), [market])
    try:
        price, _ = outside.best(market, "sell")
        orders = [order_on(market, "buy", market.minimum_amount, price) for _ in range(8)]
        reports = await asyncio.gather(*(account.place(order) for order in orders))
        assert all(report.is_final for report in reports)
        assert len({report.exchange_order_id for report in reports}) == 8
    finally:
        await account.close()


@pytest.mark.parametrize("market", TRADED, ids=lambda market: market.exchange)
@pytest.mark.parametrize("skew_seconds", [-7_200, 7_200])
async def test_a_clock_that_is_off_does_not_stop_trading(outside: Served, market: Market, skew_seconds: float) -> None:
    """Off from the start, orders go through; if it jumps later, one is rejected and the next goes through."""
    trusted, account = (open_account(outside.config(market.exchange), [market]) for _ in range(2))
    price, amount = outside.best(market, "buy")
    order = order_on(market, "buy", max(amount, market.minimum_amount), price)
    try:
        before = await trusted.balances()
        fault = Fault(market.exchange, "clock_skew", seconds=600, skew_seconds=skew_seconds)
        outside.faults.switch_on(fault)
        assert (await account.place(order)).is_final
        # Kraken says that the deadline elapsed, which may also be said of an order that it had for too long
        is_past_deadline = market.exchange == "kraken" and skew_seconds > 0
        with pytest.raises(OutcomeUnknownError if is_past_deadline else OrderRejectedError):
            await trusted.place(replace(order, client_order_id=str(uuid4())))
        assert (await trusted.place(replace(order, client_order_id=str(uuid4())))).is_final
        outside.faults.clear()
        assert await account.balances() == before
    finally:
        await trusted.close()
        await account.close()
