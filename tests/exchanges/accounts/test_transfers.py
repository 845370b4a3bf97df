"""Withdrawals and deposits over the wire: our own API, and ccxt's unified methods, against the simulated exchanges."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ccxt
import pytest

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.catalogue import EXCHANGES, can_transfer, known_transfers, transfers_of
from exchanges.ccxt.client import make_exchange
from exchanges.errors import AccountRejectedError, NotPostedError, OrderRejectedError, OutcomeUnknownError
from exchanges.ports.permits import Permit
from exchanges.ports.withdrawals import WithdrawalAddress, WithdrawalOrder
from exchanges.simulated_addresses import simulated_address
from market.accounting.transfer_terms import terms_of
from market.money import ZERO
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from simulators.faults.fault_kinds import Fault
from simulators.matching.transfer_records import TransferConditions
from tests.exchanges.served import TRADED, Served, served

TERMS = terms_of(known_transfers())
CONDITIONS = TransferConditions(TERMS)
PAIR = ("kraken", "binance")
AMOUNT = Decimal("0.01")


class MovedClock:
    """The wall's, moved on by tests."""

    def __init__(self) -> None:
        self.ahead = 0

    def now(self) -> int:
        return wall_now() + self.ahead

    async def sleep(self, seconds: float) -> None:
        self.ahead += int(seconds * MICROSECONDS)


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
async def outside(tmp_path: Path, clock: MovedClock) -> AsyncIterator[Served]:
    async with served(tmp_path, clock=clock, only=PAIR, transfers=CONDITIONS) as there:
        yield there


@pytest.fixture
async def accounts(outside: Served) -> AsyncIterator[dict[str, ExchangeAccount]]:
    found = {name: open_account(outside.config(name), TRADED) for name in PAIR}
    yield found
    for account in found.values():
        await account.close()


def order(destination: str, amount: Decimal = AMOUNT, client_id: str = "a" * 32) -> WithdrawalOrder:
    return WithdrawalOrder(client_id, "BTC", amount, WithdrawalAddress(simulated_address(destination)))


def carry(outside: Served) -> None:
    for name in PAIR:
        outside.world.network.step(name)


@pytest.mark.parametrize("source", PAIR)
async def test_a_withdrawal_leaves_at_once_and_arrives_without_its_fee(
    source: str, outside: Served, accounts: dict[str, ExchangeAccount], clock: MovedClock
) -> None:
    [destination] = set(PAIR) - {source}
    fee, before = TERMS[source, "BTC"].fee, {name: await one.balances() for name, one in accounts.items()}
    # since before it: the exchange's clock, which the test moves, is taken for wrong and measured again
    began = wall_now() - 3 * 3_600 * MICROSECONDS
    name = await accounts[source].withdraw(order(destination))
    [made] = await accounts[source].withdrawals("BTC", began)
    assert (made.withdrawal_id, made.left, made.state, made.network_id) == (name, AMOUNT, "pending", None)
    assert made.client_id == ("a" * 32 if source == "binance" else None)
    assert (await accounts[source].balances())["BTC"] == before[source]["BTC"] - AMOUNT
    await clock.sleep(2 * 3_600)
    carry(outside)
    [done] = await accounts[source].withdrawals("BTC", began)
    assert done.state == "done"
    carry(outside)
    listed = await accounts[destination].deposits("BTC", began)
    [arrived] = [one for one in listed if one.network_id == done.network_id]
    assert (arrived.amount, arrived.state, arrived.currency) == (AMOUNT - fee, "credited", "BTC")
    assert (await accounts[destination].balances())["BTC"] == before[destination]["BTC"] + AMOUNT - fee
    # nothing is delivered twice
    carry(outside)
    assert (await accounts[destination].balances())["BTC"] == before[destination]["BTC"] + AMOUNT - fee


@pytest.mark.parametrize("source", PAIR)
@pytest.mark.parametrize(
    "wanted",
    [order("binance", Decimal("0.0001")), order("nowhere"), order("binance", Decimal(10**6))],
    ids=["less than the minimum", "no such address", "more than there is"],
)
async def test_what_the_exchange_rejects_in_words_left_nothing(
    source: str, wanted: WithdrawalOrder, accounts: dict[str, ExchangeAccount]
) -> None:
    before = await accounts[source].balances()
    with pytest.raises(OrderRejectedError, match=source):
        await accounts[source].withdraw(wanted)
    assert await accounts[source].balances() == before
    assert await accounts[source].withdrawals("BTC", wall_now()) == []


@pytest.mark.parametrize("source", PAIR)
async def test_a_key_without_the_right_withdraws_nothing(
    source: str, outside: Served, accounts: dict[str, ExchangeAccount]
) -> None:
    outside.world.gateways[source].exchange.funding.may_withdraw = False
    with pytest.raises(AccountRejectedError):
        await accounts[source].withdraw(order("kraken"))
    assert await accounts[source].withdrawals("BTC", wall_now()) == []


async def test_binance_lists_by_state_and_page(outside: Served, accounts: dict[str, ExchangeAccount]) -> None:
    for place in range(3):
        await accounts["binance"].withdraw(order("kraken", client_id=str(place) * 32))
    client = make_exchange(outside.config("binance"))

    async def listed(ask: Any, **fields: str) -> list[str]:
        return [row["id"] for row in await ask({"coin": "BTC", **fields})]

    try:
        history, deposits = client.sapiGetCapitalWithdrawHistory, client.sapiGetCapitalDepositHisrec
        newest, second, oldest = await listed(history)
        assert await listed(history, limit="1") == [newest]
        assert await listed(history, offset="1") == [second, oldest]
        assert await listed(history, status="6") == []
        assert await listed(history, status="4", offset="2") == [oldest]
        [opening] = await deposits({"coin": "BTC"})
        assert await listed(deposits, txId=opening["txId"]) == [opening["id"]]
        assert await listed(deposits, txId="another") == []
    finally:
        await client.close()


async def test_binance_takes_one_id_once(accounts: dict[str, ExchangeAccount]) -> None:
    await accounts["binance"].withdraw(order("kraken"))
    with pytest.raises(OutcomeUnknownError, match=r"binance already knows the id of this withdrawal: .*-4000"):
        await accounts["binance"].withdraw(order("kraken"))
    assert len(await accounts["binance"].withdrawals("BTC", wall_now())) == 1


@pytest.mark.parametrize("source", PAIR)
async def test_a_lost_answer_is_unknown_and_the_list_has_the_withdrawal(
    source: str, outside: Served, accounts: dict[str, ExchangeAccount]
) -> None:
    await accounts[source].balances()
    outside.faults.switch_on(Fault(source, "lost_acknowledgement", count=1, manner="dropped"))
    with pytest.raises(OutcomeUnknownError, match="may or may not have the withdrawal"):
        await accounts[source].withdraw(order("kraken" if source == "binance" else "binance"))
    assert len(await accounts[source].withdrawals("BTC", wall_now())) == 1


@pytest.mark.parametrize("skew", [-300.0, 300.0])
async def test_a_withdrawal_is_dated_by_our_clock_wherever_krakens_is(
    skew: float, outside: Served, accounts: dict[str, ExchangeAccount]
) -> None:
    """It keeps no id of ours: by its time alone is a withdrawal known to be that of a lost answer."""
    await accounts["kraken"].balances()
    # after the clock was measured for the first time
    outside.faults.switch_on(Fault("kraken", "clock_skew", seconds=3_600, skew_seconds=skew))
    outside.faults.switch_on(Fault("kraken", "lost_acknowledgement", count=1, manner="dropped"))
    asked = wall_now()
    with pytest.raises(OutcomeUnknownError):
        await accounts["kraken"].withdraw(order("binance"))
    [listed] = await accounts["kraken"].withdrawals("BTC", asked)
    assert abs(listed.asked_at - asked) < 5 * MICROSECONDS


@pytest.mark.parametrize("source", PAIR)
async def test_without_a_permit_nothing_leaves(source: str, accounts: dict[str, ExchangeAccount]) -> None:
    def too_late() -> None:
        raise NotPostedError("too late")

    with pytest.raises(NotPostedError):
        await accounts[source].withdraw(order("binance"), Permit(too_late))
    assert await accounts[source].withdrawals("BTC", wall_now()) == []


@pytest.mark.parametrize("name", PAIR)
async def test_ccxts_own_methods_read_and_make_them(name: str, outside: Served, clock: MovedClock) -> None:
    client = make_exchange(outside.config(name))
    to = simulated_address(name)
    try:
        made = await client.withdraw("BTC", "0.01", to, {"key": to} if name == "kraken" else {})
        await clock.sleep(2 * 3_600)
        carry(outside)
        carry(outside)
        # ccxt measures no clock by itself
        clock.ahead = 0
        [listed] = await client.fetch_withdrawals("BTC")
        assert (listed["id"], listed["status"]) == (made["id"], "ok")
        assert Decimal(str(listed["amount"])) + Decimal(str(listed["fee"]["cost"])) == AMOUNT
        arrived = [one for one in await client.fetch_deposits("BTC") if one["txid"] == listed["txid"]]
        assert [one["status"] for one in arrived] == ["ok"]
        with pytest.raises(ccxt.ExchangeError):
            await client.withdraw("BTC", "0.01", "simulated.nowhere", {"key": "nowhere"} if name == "kraken" else {})
    finally:
        await client.close()


async def test_elsewhere_there_are_no_withdrawals_here(tmp_path: Path) -> None:
    assert [name for name in EXCHANGES if can_transfer(name)] == ["kraken", "binance"]
    assert transfers_of("bitstamp") is None
    async with served(tmp_path, only=("bitstamp",)) as there:
        account = open_account(there.config("bitstamp"), TRADED)
        try:
            with pytest.raises(OrderRejectedError, match="no withdrawals from bitstamp here"):
                await account.withdraw(order("kraken"))
            with pytest.raises(KeyError):
                await account.withdrawals("BTC", wall_now())
            with pytest.raises(KeyError):
                await account.deposits("BTC", wall_now())
        finally:
            await account.close()


async def test_by_default_nothing_can_be_withdrawn(tmp_path: Path) -> None:
    async with served(tmp_path, only=("kraken",)) as there:
        account = open_account(there.config("kraken"), TRADED)
        try:
            with pytest.raises(AccountRejectedError, match="Permission denied"):
                await account.withdraw(order("kraken"))
            assert (await account.balances())["BTC"] > ZERO
        finally:
            await account.close()
