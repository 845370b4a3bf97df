"""Transfers as the store's port has them, on both adapters: one proposal for a balance, one step that allows a post."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import (
    Deposit,
    MoneyTransfer,
    TransferStepError,
    Withdrawal,
    dropped,
    proposed,
    with_deposit,
    with_withdrawal,
)
from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from store.errors import FencedOutError
from store.ports.trading import TradeStore

PLANNED = Transfer("BTC", "kraken", "binance", Decimal(2), Decimal("0.001"), Decimal(60), 600)
NET = Decimal(100)
DONE = Withdrawal("W1", "BTC", Decimal(2), "done", 0, network_id="tx1")
CREDITED = Deposit("D1", "BTC", Decimal("1.999"), "credited", "tx1")


def wanted(at: int = 1, session: str = "session-1", confirmed_by: str = "paper", **changes: str) -> MoneyTransfer:
    return proposed(replace(PLANNED, **changes), session, at, confirmed_by)  # type: ignore[arg-type]


async def opened(store: TradeStore) -> None:
    for name in ("kraken", "binance"):
        await store.balances.replace(name, {"BTC": Decimal(3)}, "before", UNFENCED)


async def balances(store: TradeStore) -> dict[str, list[Decimal]]:
    """Exchange → free and held."""
    return {row.exchange: [row.free, row.held] for row in await store.balances.rows()}


def rows(kraken: str, binance: str) -> dict[str, list[Decimal]]:
    return {
        name: [Decimal(amount) for amount in texts.split()]
        for name, texts in (("kraken", kraken), ("binance", binance))
    }


async def test_a_transfer_is_booked_step_by_step(store: TradeStore) -> None:
    await opened(store)
    transfer, transfers = wanted(), store.transfers
    assert await transfers.propose(transfer, NET, UNFENCED) is None
    assert await transfers.known(0) == [transfer]
    asked = await transfers.ask(transfer.transfer_id, UNFENCED)
    assert asked is not None
    assert await balances(store) == rows("1 2", "3 0")
    sent = await transfers.step(
        transfer.transfer_id, lambda known, now: with_withdrawal(known, DONE, now, "session-1"), UNFENCED
    )
    assert sent is not None
    assert await balances(store) == rows("1 0", "3 0")
    for _ in range(2):
        await transfers.step(
            transfer.transfer_id, lambda known, now: with_deposit(known, CREDITED, now, "session-1"), UNFENCED
        )
    assert await balances(store) == rows("1 0", "4.999 0")
    [stored] = await transfers.known(0)
    assert (stored.state, stored.arrived, stored.sessions) == (
        "arrived",
        Decimal("1.999"),
        {"left": "session-1", "arrived": "session-1"},
    )


async def test_one_process_alone_may_post(store: TradeStore) -> None:
    await opened(store)
    transfer = wanted()
    await store.transfers.propose(transfer, NET, UNFENCED)
    assert await store.transfers.ask(transfer.transfer_id, UNFENCED) is not None
    assert await store.transfers.ask(transfer.transfer_id, UNFENCED) is None
    assert await store.transfers.ask("none", UNFENCED) is None
    assert await balances(store) == rows("1 2", "3 0")


async def test_a_holder_of_an_old_lease_takes_no_step(store: TradeStore) -> None:
    await opened(store)
    old = await store.leases.acquire("kraken", "first")
    assert old is not None
    transfer = wanted()
    await store.transfers.propose(transfer, NET, old.actor)
    await store.leases.release(old)
    new = await store.leases.acquire("kraken", "second")
    assert new is not None
    with pytest.raises(FencedOutError):
        await store.transfers.ask(transfer.transfer_id, old.actor)
    asked = await store.transfers.ask(transfer.transfer_id, new.actor)
    assert asked is not None
    assert asked.token == new.token


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (wanted(2), "taken"),
        (wanted(2, source="binance", destination="kraken"), "taken"),
        (wanted(2, source="bitstamp"), "taken"),
        (wanted(2, currency="ETH"), "costs_more_than_earned"),
        (wanted(2, currency="ETH", session="other"), None),
    ],
)
async def test_what_may_be_proposed_beside_another(
    store: TradeStore, second: MoneyTransfer, reason: str | None
) -> None:
    await opened(store)
    assert await store.transfers.propose(wanted(), NET, UNFENCED) is None
    assert await store.transfers.propose(second, NET, UNFENCED) == reason


async def test_too_little_by_now_drops_it(store: TradeStore) -> None:
    await opened(store)
    await store.transfers.propose(replace(wanted(), amount=Decimal(4)), NET, UNFENCED)
    assert await store.transfers.ask(wanted().transfer_id, UNFENCED) is None
    [dropped] = await store.transfers.known(0)
    assert (dropped.state, dropped.reason) == ("dropped", "not_free")
    assert await balances(store) == rows("3 0", "3 0")


async def test_an_operator_confirms_once(store: TradeStore) -> None:
    await opened(store)
    transfer = wanted(confirmed_by="")
    await store.transfers.propose(transfer, NET, UNFENCED)
    assert await store.transfers.ask(transfer.transfer_id, UNFENCED) is None
    assert await store.transfers.confirm("none", "ann") is None
    for who in ("ann", "bob"):
        agreed = await store.transfers.confirm(transfer.transfer_id, who)
        assert agreed is not None
        assert agreed.confirmed_by == "ann"
    assert await store.transfers.ask(transfer.transfer_id, UNFENCED) is not None


async def test_what_ended_cannot_be_confirmed(store: TradeStore) -> None:
    await opened(store)
    transfer = replace(wanted(confirmed_by=""), state="dropped", reason="not_confirmed")
    await store.transfers.propose(transfer, NET, UNFENCED)
    with pytest.raises(TransferStepError, match="is dropped, not proposed"):
        await store.transfers.confirm(transfer.transfer_id, "ann")


async def test_what_ended_in_another_session_is_known_while_it_is_new(store: TradeStore) -> None:
    other, own = wanted(session="other"), wanted(2, currency="ETH")
    for one in (other, own):
        await store.transfers.propose(one, NET, UNFENCED)
        await store.transfers.step(one.transfer_id, lambda known, now: dropped(known, "declined", now), UNFENCED)
    now = await store.server_now()
    assert [one.transfer_id for one in await store.transfers.known(0)] == [other.transfer_id, own.transfer_id]
    assert [one.transfer_id for one in await store.transfers.known(now + MICROSECONDS)] == [own.transfer_id]


async def test_an_overview_has_what_is_wanted_and_what_two_sessions_share(store: TradeStore) -> None:
    await opened(store)
    one = wanted(session="other")
    await store.transfers.propose(one, NET, UNFENCED)
    assert list((await store.overview()).transfers) == [one]
    await store.transfers.ask(one.transfer_id, UNFENCED)
    await store.transfers.step(one.transfer_id, lambda known, now: with_withdrawal(known, DONE, now, "other"), UNFENCED)
    arrived = await store.transfers.step(
        one.transfer_id, lambda known, now: with_deposit(known, CREDITED, now, "session-1"), UNFENCED
    )
    late = await store.server_now() + MICROSECONDS
    assert list((await store.overview()).transfers) == await store.transfers.known(late) == [arrived]
    ended = replace(wanted(2, currency="ETH"), state="failed")
    await store.transfers.propose(ended, NET, UNFENCED)
    assert list((await store.overview()).transfers) == [arrived]
