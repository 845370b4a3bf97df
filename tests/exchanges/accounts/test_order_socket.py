"""Orders over the WebSockets of simulated exchanges: the contract of accounts, and each end that a message can come to.
What was sent once is looked up by REST, as an order of REST is."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import ccxt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.accounts.wire_check import THEIR_ID, WireBench
from exchanges.catalogue import orders_of
from exchanges.ccxt.client import ExchangeConfig, make_exchange, simulated_config
from exchanges.ccxt.order_documents import socket_document
from exchanges.ccxt.sent_orders import SentRequest, order_fault
from exchanges.credentials import Credentials, load_credentials
from exchanges.errors import (
    AccountRejectedError,
    ExchangeUnavailableError,
    NotPostedError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.ports.order_calls import PrivateCall
from exchanges.ports.permits import Permit
from market.instruments.markets import Market
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from session.exchange_entries import ExchangeEntry, OrderTransport
from simulators.faults.fault_kinds import Fault, FaultKind
from tests.exchanges.account_contract import SIDES, AccountContract
from tests.exchanges.served import TRADED, Served, order_on, served

MARKETS = {market.exchange: market for market in TRADED}
SOCKETS = {"binance": "/ws-api/v3", "bybit": "/v5/trade"}
"""Where orders are sent, below the exchange's own address."""
ORDERS = {"binance": "/api/v3/order", "bybit": "/v5/order/create"}
SHORT = 150
"""Milliseconds that a test waits for an answer which does not come."""


def account_by(
    transport: OrderTransport | None, outside: Served, exchange: str = "binance", *, is_limited: bool = False
) -> ExchangeAccount:
    entry = ExchangeEntry(exchange, order_transport="socket")
    config = simulated_config(exchange, outside.url, outside.home, is_limited=is_limited, entry=entry)
    return open_account(
        replace(config, listed_as=ExchangeEntry(exchange, order_transport=transport)), [MARKETS[exchange]]
    )


@dataclass(frozen=True)
class Bench:
    outside: Served
    account: ExchangeAccount
    market: Market

    @property
    def exchange(self) -> str:
        return self.market.exchange

    @property
    def keeps_client_ids(self) -> bool:
        return self.exchange == "bybit"

    def best(self, side: Side) -> tuple[Price, Amount]:
        return self.outside.best(self.market, side)

    def order(self) -> LimitOrder:
        price, amount = self.best("sell")
        return order_on(self.market, "buy", amount, price)

    def strike(self, kind: FaultKind, **options: Any) -> None:
        self.outside.faults.switch_on(Fault(self.exchange, kind, **({"count": 1} | options)))

    def wait_for(self, milliseconds: int) -> None:
        self.account._reads.client.timeout = milliseconds

    def cut_off_rest(self) -> None:
        """No order can be posted by REST from now on."""
        self.account._orders.client.urls["api"]["private"] = "http://127.0.0.1:1"

    @property
    def orders(self) -> int:
        return len(self.outside.world.gateways[self.exchange].exchange.customer.orders)

    @asynccontextmanager
    async def reopened(self) -> AsyncIterator[ExchangeAccount]:
        account = account_by("socket", self.outside, self.exchange)
        try:
            await account.rehearse()
            yield account
        finally:
            await account.close()


@asynccontextmanager
async def opened(outside: Served) -> AsyncIterator[ExchangeAccount]:
    account = account_by("socket", outside)
    try:
        await account.rehearse()
        yield account
    finally:
        await account.close()


def socket_calls(account: ExchangeAccount) -> Any:
    assert account._socket is not None
    return account._socket.ask


@pytest.fixture(params=["binance", pytest.param("bybit", marks=pytest.mark.slow)])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Bench]:
    async with served(tmp_path, only=(request.param,)) as outside:
        account = account_by("socket", outside, request.param)
        try:
            await account.rehearse()
            yield Bench(outside, account, MARKETS[request.param])
        finally:
            await account.close()


class TestAccountByItsSocket(AccountContract):
    @pytest.fixture
    async def bench(self, bench: Bench) -> AsyncIterator[Bench]:
        bench.cut_off_rest()
        yield bench
        assert bench.account.is_by_socket


@pytest.mark.parametrize("manner", ["dropped", "timeout"])
async def test_an_order_whose_answer_is_lost_is_looked_up_and_never_sent_again(bench: Bench, manner: str) -> None:
    bench.wait_for(SHORT)
    bench.strike("lost_acknowledgement", manner=manner)
    order = bench.order()
    with pytest.raises(OutcomeUnknownError, match="may or may not have the order"):
        await bench.account.place(order)
    assert not bench.account.is_by_socket
    found = await bench.account.look_up(order)
    assert found is not None
    assert found.filled == order.amount
    assert bench.orders == 1


@pytest.mark.parametrize("is_taken", [True, False])
async def test_a_line_that_breaks_while_the_order_is_on_its_way_says_nothing(bench: Bench, is_taken: bool) -> None:
    bench.strike("disconnect_during_order", taken=is_taken)
    order = bench.order()
    with pytest.raises(OutcomeUnknownError):
        await bench.account.place(order)
    assert (await bench.account.look_up(order) is not None) == is_taken
    assert bench.orders == is_taken


async def test_an_answer_that_comes_too_late_is_not_the_next_orders(bench: Bench) -> None:
    bench.wait_for(SHORT)
    bench.strike("latency", milliseconds=2 * SHORT)
    with pytest.raises(OutcomeUnknownError):
        await bench.account.place(bench.order())
    bench.wait_for(5_000)
    await bench.account.rehearse()
    later = order_on(bench.market, "sell", Decimal("0.01"), bench.best("buy")[0])
    assert (await bench.account.place(later)).filled == later.amount
    assert bench.account.is_by_socket


async def test_without_a_socket_orders_go_by_rest_until_it_is_back(bench: Bench) -> None:
    bench.strike("maintenance", count=None, seconds=3_600, channel=SOCKETS[bench.exchange])
    bench.outside.world.gateways[bench.exchange].subscribers.cut()
    while bench.account.is_by_socket:
        await SystemClock().sleep(0)
    order = bench.order()
    assert (await bench.account.place(order)).filled == order.amount
    assert not bench.account.is_by_socket
    bench.outside.faults.clear()
    await bench.account.rehearse()
    assert bench.account.is_by_socket


async def test_an_order_without_a_permit_is_not_sent(bench: Bench) -> None:
    def refuse() -> None:
        raise NotPostedError("halted")

    with pytest.raises(NotPostedError, match="halted"):
        await bench.account.place(bench.order(), Permit(refuse))
    with pytest.raises(NotPostedError, match="no permit"):
        await bench.account._orders.api.post(bench.order(), bench.market)
    assert bench.orders == 0
    assert bench.account.is_by_socket


@pytest.mark.parametrize("kind", ["http_429", "http_418", "ban", "maintenance", "http_5xx", "rejected_order"])
async def test_errors_mean_what_they_mean_by_rest(bench: Bench, kind: FaultKind) -> None:
    by_rest, raised = account_by("rest", bench.outside, bench.exchange), []
    place = {} if kind == "rejected_order" else {"channel": ORDERS[bench.exchange]}
    for account in (bench.account, by_rest):
        bench.strike(kind, **place)
        with pytest.raises((OrderRejectedError, OutcomeUnknownError)) as error:
            await account.place(bench.order())
        raised.append(error.type)
        assert bench.orders == 0
    await by_rest.close()
    assert raised[0] is raised[1]
    assert bench.account.is_by_socket


class WindowsClock:
    """The machine's, moved so that it begins with a window of the limit on orders: none ends while a test counts."""

    def __init__(self) -> None:
        self._ahead = -wall_now() % (10 * MICROSECONDS)

    def now(self) -> int:
        return wall_now() + self._ahead

    async def sleep(self, seconds: float) -> None:
        await SystemClock().sleep(seconds)


async def test_the_exchanges_own_count_is_kept(tmp_path: Path) -> None:
    """Somebody else has used the account: what is left there is left here, and a pause is as long as it says."""
    async with served(tmp_path, clock=WindowsClock(), only=("binance",), is_limited=True) as outside:
        account = account_by("socket", outside, is_limited=True)
        try:
            await account.rehearse()
            bench = Bench(outside, account, MARKETS["binance"])
            gateway: Any = outside.world.gateways["binance"]
            for _ in range(90):
                gateway._limits.take_order(outside.world.clock.now())
            await account.place(bench.order())
            budget = account._reads.client.budget
            assert budget.trades["orders"].left(budget.clock()) <= 9
            bench.strike("ban", seconds=77)
            with pytest.raises(OrderRejectedError):
                await account.place(bench.order())
            assert 70 < budget.paused_for() <= 78
        finally:
            await account.close()


async def test_a_key_of_another_kind_has_no_session(tmp_path: Path) -> None:
    """By default its orders go by REST; whoever wants the socket is told what it takes."""
    async with served(tmp_path, only=("binance",)) as outside:
        account = open_account(outside.config("binance"), [MARKETS["binance"]])
        assert account._socket is None
        await account.close()
        wanted = replace(outside.config("binance"), listed_as=ExchangeEntry("binance", order_transport="socket"))
        with pytest.raises(AccountRejectedError, match=r'order_transport = "socket" needs an Ed25519 key'):
            open_account(wanted, [MARKETS["binance"]])


@pytest.mark.parametrize(("transport", "is_there"), [(None, True), ("socket", True), ("rest", False)])
async def test_the_configuration_says_how_orders_go(
    tmp_path: Path, transport: OrderTransport | None, is_there: bool
) -> None:
    async with served(tmp_path, only=("binance",)) as outside:
        account = account_by(transport, outside)
        assert (account._socket is not None) == is_there
        await account.close()


async def test_a_key_that_the_exchange_does_not_know_opens_nothing_and_is_told_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with served(tmp_path, only=("binance",)) as outside:
        keys = load_credentials(tmp_path, "binance.ed25519")
        config = replace(outside.config("binance"), credentials=replace(keys, api_key="0" * 64))
        account = open_account(config, [MARKETS["binance"]])
        with pytest.raises(AccountRejectedError) as rejected:
            await account.place(
                order_on(MARKETS["binance"], "buy", Decimal("0.01"), outside.best(MARKETS["binance"], "sell")[0])
            )
        await account.close()
    secret = keys.secret.splitlines()[1]
    assert secret not in caplog.text
    assert secret not in str(rejected.value)
    assert keys.hidden_in(f"it was {secret}") == "it was ***"


async def test_a_private_key_with_the_line_breaks_of_windows_is_the_same_key(tmp_path: Path) -> None:
    """With them an Ed25519 key is as long as ccxt has RSA keys begin."""
    async with served(tmp_path, only=("binance",)) as outside:
        keys = load_credentials(tmp_path, "binance.ed25519")
        longer = replace(keys, secret=keys.secret.replace("\n", "\r\n") + "\r\n")
        account = open_account(replace(outside.config("binance"), credentials=longer), [MARKETS["binance"]])
        assert await account.balances()
        await account.close()


async def test_a_private_key_with_a_password_is_rejected_in_a_sentence(tmp_path: Path) -> None:
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    config = ExchangeConfig("binance", "simulated", "http://127.0.0.1:1", Credentials("key", pem.decode()))
    client = make_exchange(config)
    with pytest.raises(ccxt.AuthenticationError, match="nothing can be signed by this secret"):
        client.sign("order", ["private"], "POST", {"symbol": "BTCUSDT"})
    await client.close()


async def test_a_bybit_key_of_another_kind_has_no_session(tmp_path: Path) -> None:
    """Its orders go by REST, which ccxt signs by RSA as well."""
    rsa = Credentials("key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----")
    config = ExchangeConfig("bybit", "simulated", "http://127.0.0.1:1", rsa)
    account = open_account(config, [MARKETS["bybit"]])
    assert account._socket is None
    await account.close()
    with pytest.raises(AccountRejectedError, match=r'order_transport = "socket" needs an HMAC key'):
        open_account(replace(config, listed_as=ExchangeEntry("bybit", order_transport="socket")), [MARKETS["bybit"]])


@pytest.mark.parametrize("side", SIDES)
async def test_the_message_is_what_the_documents_want(bench: Bench, side: Side) -> None:
    document, orders = socket_document(bench.exchange), orders_of(bench.exchange)
    assert document is not None
    assert orders is not None
    assert orders.socket is not None
    wire = orders.socket.wire(bench.account._reads.client)
    assert wire is not None
    wired, sent = WireBench(ExchangeEntry(bench.exchange)), []
    order = wired.order(side)

    async def note(call: PrivateCall) -> object:
        sent.append(wire.message("1", call))
        return {"orderId": 1, "retCode": 0, "result": {"orderId": 1}}

    api = orders.socket.api(wired.client, note)
    await api.post(order, wired.market)
    await api.cancel(order, wired.market, THEIR_ID)
    request, cancelling = (SentRequest("POST", wire.url, message) for message in sent)
    assert order_fault(document, request, order, "BTCUSD") is None
    dearer = replace(order, price=Price(order.price + 1))
    assert (
        order_fault(document, request, dearer, "BTCUSD") == f"sends {document.price}={order.price} for {dearer.price}"
    )
    assert order_fault(document, cancelling, order, "BTCUSD") is not None


async def test_binances_fills_come_twice_over_the_socket_as_by_rest(tmp_path: Path) -> None:
    async with served(tmp_path, only=("binance",)) as outside, opened(outside) as account:
        bench, ask = Bench(outside, account, MARKETS["binance"]), socket_calls(account)
        report = await account.place(bench.order())
        call = PrivateCall("GET", "myTrades", {"symbol": "BTCUSDT", "orderId": report.exchange_order_id})
        once = await ask(call)
        bench.strike("duplicate_fill_report")
        assert await ask(call) == [once[0], *once]
        assert await ask(call) == once


@pytest.mark.parametrize("status", [500, 503])
async def test_a_wanted_status_is_that_of_the_sockets_answer(tmp_path: Path, status: int) -> None:
    async with served(tmp_path, only=("binance",)) as outside, opened(outside) as account:
        bench = Bench(outside, account, MARKETS["binance"])
        bench.strike("http_5xx", channel="/api/v3/myTrades", status=status)
        with pytest.raises(ccxt.BaseError) as error:
            await socket_calls(account)(PrivateCall("GET", "myTrades", {"symbol": "BTCUSDT"}))
        assert getattr(error.value, "http_code", None) == status


async def test_a_read_over_the_socket_fails_as_one_by_rest(bench: Bench) -> None:
    report = await bench.account.place(bench.order())
    with pytest.raises(ExchangeUnavailableError, match="did not answer"):
        await bench.account.cancel(bench.order(), report.exchange_order_id)
    assert bench.account.is_by_socket
