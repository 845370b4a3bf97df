"""The audit of a session with regions finds what both halves of it find."""

from dataclasses import replace
from pathlib import Path

from launch.chaos.audit.regions import audit_regions
from launch.chaos.fault_injector import FaultInjector
from launch.chaos.settings_tuner import SettingsTuner
from launch.supervisor.supervisor import Supervisor
from market.trade.leases import UNFENCED
from simulators.server import ACCOUNTS
from store.mongo.store import open_store
from store.server.client import connect
from store.server.documents import ARBITRAGES
from tests.launch.test_chaos_run import BASE, session_of
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.reservation_requests import open_books, request


async def test_what_any_audit_finds_and_what_regions_add(tmp_path: Path, mongodb_uri: str) -> None:
    session = replace(session_of(tmp_path, mongodb=mongodb_uri), markets=(USD_MARKET, EUR_MARKET))
    (tmp_path / ACCOUNTS).mkdir()
    for exchange in session.exchanges:
        (tmp_path / ACCOUNTS / f"{exchange}.jsonl").touch()
    nothing = Supervisor(tmp_path, [], lambda _: None)
    injector = FaultInjector(session, nothing, SettingsTuner(session, BASE), lambda _: None)
    async with await open_store(session) as store:
        await store.prepare()
        await open_books(store)
        reserved = await store.reserve(request(), UNFENCED)
    assert reserved.arbitrage is not None
    client = connect(mongodb_uri)
    try:
        arbitrages = client[session.services.database][ARBITRAGES]
        document = await arbitrages.find_one()
        assert document is not None
        # another region's decision on the same quotes, under another name
        await arbitrages.insert_one({**document, "_id": "opportunity-2", "arbitrage_id": "opportunity-2"})
        report = await audit_regions(session, {}, injector, ())
    finally:
        await client.drop_database(session.services.database)
        client.close()
    kinds = {violation.kind for violation in report.violations}
    assert "left_open" in kinds
    assert [one.detail for one in report.violations if one.kind == "traded_twice"] == [
        "on the same quotes as opportunity-1: alpha:BTC/USD:1, beta:BTC/EUR:1, fx:EUR/USD:1"
    ]
