"""What becomes of a withdrawal between simulated exchanges: by the seed alone, once, whatever ends the process."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exchanges.catalogue import known_transfers
from exchanges.simulated_addresses import simulated_address
from market.accounting.transfer_terms import terms_of
from market.time_units import MICROSECONDS
from simulators.faults.fault_kinds import Fault
from simulators.kraken.funding import KrakenFunding
from simulators.kraken.rows import ledger_row
from simulators.market.chosen_market import STORM
from simulators.matching.account_ledger import ledger_of
from simulators.matching.funding import WithdrawalRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.transfer_network import fate_of
from simulators.matching.transfer_records import SimulatedWithdrawal, TransferConditions
from simulators.server import ExchangesOptions, SimulatedExchanges

TERMS = terms_of(known_transfers())
CONDITIONS = TransferConditions(TERMS, speed=60.0)
KRAKEN = TERMS["kraken", "BTC"]
HOUR = 3_600


class SteppedClock:
    def __init__(self) -> None:
        self.time = 1_700_000_000 * MICROSECONDS

    def now(self) -> int:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += int(seconds * MICROSECONDS)


def opened(
    home: Path, clock: SteppedClock, conditions: TransferConditions = CONDITIONS, seed: int = 1
) -> SimulatedExchanges:
    options = ExchangesOptions(0, seed, ("kraken", "binance"), market=STORM, transfers=conditions)
    return SimulatedExchanges.open(home, clock, options)


def exchange(world: SimulatedExchanges, name: str) -> SimulatedExchange:
    return world.gateways[name].exchange


def withdraw(world: SimulatedExchanges, amount: str = "0.01") -> SimulatedWithdrawal:
    to = simulated_address("binance")
    return exchange(world, "kraken").funding.withdraw("BTC", Decimal(amount), to, lambda number, _at: f"W{number}")


async def carried(world: SimulatedExchanges, clock: SteppedClock, seconds: float) -> None:
    await clock.sleep(seconds)
    for _ in range(2):
        for name in ("kraken", "binance"):
            world.network.step(name)


async def test_it_is_pending_then_on_the_network_then_there(tmp_path: Path) -> None:
    clock = SteppedClock()
    world = opened(tmp_path, clock)
    before = exchange(world, "binance").balances["BTC"]
    withdraw(world)
    fate = fate_of(1, "kraken", 0, KRAKEN, CONDITIONS)
    seen = []
    for seconds in (fate.handled_after * 0.9, fate.handled_after * 0.2, fate.arrives_after):
        await carried(world, clock, seconds)
        [now] = exchange(world, "kraken").funding.withdrawals
        seen.append((now.state, exchange(world, "binance").balances["BTC"] - before))
    assert seen == [("pending", 0), ("done", 0), ("done", Decimal("0.01") - KRAKEN.fee)]
    await world.close()


@pytest.mark.parametrize("killed_after", range(4))
async def test_a_killed_process_loses_and_doubles_nothing(tmp_path: Path, killed_after: int) -> None:
    clock, steps = SteppedClock(), 4
    world = opened(tmp_path, clock)
    total = sum(exchange(world, name).balances["BTC"] for name in ("kraken", "binance"))
    withdraw(world)
    for step in range(steps):
        if step == killed_after:
            # as the journals have it, whatever was in memory
            world = opened(tmp_path, clock)
        await carried(world, clock, 30)
    assert sum(exchange(world, name).balances["BTC"] for name in ("kraken", "binance")) == total - KRAKEN.fee
    [arrived] = exchange(opened(tmp_path, clock), "binance").funding.deposits
    assert arrived.amount == Decimal("0.01") - KRAKEN.fee


async def test_one_that_is_given_back_is_whole(tmp_path: Path) -> None:
    clock = SteppedClock()
    world = opened(tmp_path, clock, replace(CONDITIONS, returned_share=1.0))
    before = dict(exchange(world, "kraken").balances)
    withdraw(world)
    assert exchange(world, "kraken").balances != before
    await carried(world, clock, HOUR)
    [failed] = exchange(world, "kraken").funding.withdrawals
    assert failed.state == "failed"
    assert exchange(opened(tmp_path, clock), "kraken").balances == before
    assert list(exchange(world, "binance").funding.deposits) == []


async def test_a_closed_currency_rejects(tmp_path: Path) -> None:
    clock = SteppedClock()
    world = opened(tmp_path, clock, replace(CONDITIONS, closed_share=0.5))
    closed = set()
    for _ in range(20):
        try:
            withdraw(world)
        except WithdrawalRejectedError as rejected:
            closed.add(rejected.why)
        await clock.sleep(60)
    taken = len(list(exchange(world, "kraken").funding.withdrawals))
    assert closed == {"closed"}
    assert 0 < taken < 20


async def test_the_ledger_of_an_account_says_where_it_went(tmp_path: Path) -> None:
    clock = SteppedClock()
    world = opened(tmp_path, clock, replace(CONDITIONS, returned_share=0.5))
    for _ in range(6):
        withdraw(world)
    await carried(world, clock, HOUR)
    for name in ("kraken", "binance"):
        account = exchange(world, name).customer
        rows = [row for row in ledger_of(account, exchange(world, name).listings) if row.currency == "BTC"]
        assert rows[-1].balance == account.balances["BTC"]
    states = [one.state for one in exchange(world, "kraken").funding.withdrawals]
    assert set(states) == {"done", "failed"}
    assert len(list(exchange(world, "binance").funding.deposits)) == states.count("done")


async def test_krakens_ledger_names_a_deposit_as_its_list_of_deposits_does(tmp_path: Path) -> None:
    clock = SteppedClock()
    world = opened(tmp_path, clock)
    to = simulated_address("kraken")
    exchange(world, "binance").funding.withdraw("BTC", Decimal("0.01"), to, lambda number, _at: f"W{number}")
    await carried(world, clock, HOUR)
    there = exchange(world, "kraken")
    rows = [ledger_row(row)[1] for row in ledger_of(there.customer, there.listings)]
    listed: Any = KrakenFunding(there).calls()["DepositStatus"]({})
    assert len(list(there.funding.deposits)) == 1
    assert sorted(str(row["refid"]) for row in rows) == sorted(row["refid"] for row in listed)


@pytest.mark.parametrize("skew", [-300.0, 300.0])
async def test_a_skewed_exchange_hands_on_as_late_as_any(tmp_path: Path, skew: float) -> None:
    clock = SteppedClock()
    world = opened(tmp_path, clock)
    world.faults.switch_on(Fault("kraken", "clock_skew", seconds=HOUR, skew_seconds=skew))
    withdraw(world)
    fate = fate_of(1, "kraken", 0, KRAKEN, CONDITIONS)
    states = []
    for share in (0.9, 0.2):
        await carried(world, clock, fate.handled_after * share)
        states += [one.state for one in exchange(world, "kraken").funding.withdrawals]
    assert states == ["pending", "done"]


@given(seed=st.integers(0, 1_000), place=st.integers(0, 50))
def test_a_fate_is_the_seeds_and_near_its_terms(seed: int, place: int) -> None:
    fate = fate_of(seed, "kraken", place, KRAKEN, TransferConditions(TERMS))
    assert fate == fate_of(seed, "kraken", place, KRAKEN, TransferConditions(TERMS))
    assert KRAKEN.seconds * 0.7 <= fate.arrives_after <= KRAKEN.seconds * 1.3
    assert 0 < fate.handled_after < fate.arrives_after
    assert not fate.is_returned
