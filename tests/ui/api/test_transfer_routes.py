"""Transfers as REST shows them, and an operator's word on a proposal."""

from dataclasses import replace
from decimal import Decimal

import httpx
import pytest

from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import MoneyTransfer, ambiguous, dropped, proposed
from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore

PLANNED = Transfer("BTC", "alpha", "beta", Decimal("0.5"), Decimal("0.001"), Decimal(60), 600)
NET = Decimal(1_000)


def waiting(at: int = 1_000_000, **changes: str) -> MoneyTransfer:
    return proposed(replace(PLANNED, **changes), "session", at)  # type: ignore[arg-type]


async def test_there_are_none_at_first(api: httpx.AsyncClient) -> None:
    assert (await api.get("/api/transfers")).json() == {"items": [], "next_cursor": None}


async def test_transfers_come_newest_first(api: httpx.AsyncClient, store: MongoTradeStore) -> None:
    for one in (waiting(), waiting(2_000_000, currency="ETH")):
        assert await store.transfers.propose(one, NET, UNFENCED) is None
    first = (await api.get("/api/transfers", params={"limit": 1})).json()
    [row] = first["items"]
    assert (row["currency"], row["state"], row["confirmed_by"]) == ("ETH", "proposed", "")
    assert (row["amount"], row["fee"], row["lost"], row["times"]) == ("0.5", "0.001", "0", {"proposed": 2_000_000})
    [second] = (await api.get("/api/transfers", params={"cursor": first["next_cursor"]})).json()["items"]
    assert second["transfer_id"] == waiting().transfer_id


async def test_an_operator_confirms_a_proposal_once_and_it_is_audited(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    await store.transfers.propose(waiting(), NET, UNFENCED)
    path, headers = f"/api/transfers/{waiting().transfer_id}/confirm", {"X-API-Key": key}
    assert (await api.post(path)).status_code == 401
    assert (await store.transfers.known(0))[0].confirmed_by == ""
    for _ in range(2):
        answer = await api.post(path, headers=headers)
        assert (answer.status_code, answer.json()["confirmed_by"]) == (200, "owner")
    asked = await api.get("/api/audit", params={"action": "transfer.confirm"}, headers=headers)
    entries = asked.json()["items"]
    assert [(one["action"], one["outcome"]) for one in entries] == [("transfer.confirm", "done")] * 2
    assert entries[0]["before"]["amount"] == "0.5"


async def test_what_is_no_proposal_cannot_be_confirmed(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str
) -> None:
    headers = {"X-API-Key": key}
    await store.transfers.propose(waiting(), NET, UNFENCED)
    await store.transfers.step(waiting().transfer_id, lambda known, now: dropped(known, "not_confirmed", now), UNFENCED)
    gone = await api.post(f"/api/transfers/{waiting().transfer_id}/confirm", headers=headers)
    assert gone.status_code == 409
    assert "is dropped, not proposed" in gone.json()["detail"]
    assert (await api.post("/api/transfers/none/confirm", headers=headers)).status_code == 404


async def test_an_operator_declines_a_proposal(api: httpx.AsyncClient, store: MongoTradeStore, key: str) -> None:
    await store.transfers.propose(waiting(), NET, UNFENCED)
    path, headers = f"/api/transfers/{waiting().transfer_id}/decline", {"X-API-Key": key}
    assert (await api.post(path)).status_code == 401
    answer = await api.post(path, headers=headers)
    assert (answer.status_code, answer.json()["state"], answer.json()["reason"]) == (200, "dropped", "declined")
    assert (await api.post(path, headers=headers)).status_code == 409
    asked = await api.get("/api/audit", params={"action": "transfer.decline"}, headers=headers)
    assert [one["outcome"] for one in asked.json()["items"]] == ["rejected", "done"]


@pytest.mark.parametrize("to", ["beta", "not opened"])
async def test_an_operator_says_what_became_of_an_unknown_one(
    api: httpx.AsyncClient, store: MongoTradeStore, key: str, to: str
) -> None:
    for name in ("alpha", "beta"):
        await store.balances.replace(name, {"BTC": Decimal(3)}, "before", UNFENCED)
    one = replace(waiting(destination=to), confirmed_by="ann")
    identity, headers = one.transfer_id, {"X-API-Key": key}
    await store.transfers.propose(one, NET, UNFENCED)
    assert await store.transfers.ask(identity, UNFENCED) is not None
    path, said = f"/api/transfers/{identity}/settle", {"left": "0.5", "arrived": "0.499"}
    early = await api.post(path, headers=headers, json=said)
    assert (early.status_code, "is asked, not unknown" in early.json()["detail"]) == (409, True)
    await store.transfers.step(identity, ambiguous, UNFENCED)
    assert (await api.post(path, json=said)).status_code == 401
    assert (await api.post(path, headers=headers, json={"left": "0.5"})).status_code == 422
    answer = await api.post(path, headers=headers, json=said)
    assert (answer.status_code, answer.json()["state"], answer.json()["arrived"]) == (200, "arrived", "0.499")
    rows = {row.exchange: (row.free, row.held) for row in await store.balances.rows() if row.currency == "BTC"}
    before = Decimal(3 if to == "beta" else 0)
    assert rows["alpha"] == (Decimal("2.5"), Decimal(0))
    assert rows[to] == (before + Decimal("0.499"), Decimal(0))
    [stored] = await store.transfers.known(0)
    session_id = stored.sessions["left"]
    assert session_id
    assert stored.sessions["arrived"] == (session_id if to == "beta" else "")
