"""Transfers as REST shows them, and an operator's word on a proposal."""

from dataclasses import replace
from decimal import Decimal

import httpx

from market.accounting.rebalancing import Transfer
from market.accounting.transfer_lifecycle import MoneyTransfer, dropped, proposed
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
