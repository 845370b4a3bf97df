"""The contract of an exchange that is halted once for an id, on both adapters."""

import asyncio
from dataclasses import replace

from market.decide.settings import Settings
from store.mongo.store import MongoTradeStore
from store.operations.audit import AuditFilter
from store.ports.trading import TradeStore
from store.queries.trade_reader import TradeReader
from store.records.audit_entry import AuditEntry
from store.server.client import connect
from tests.market.samples import settings_of

ENTRY = AuditEntry("halt busy-1:0:7:0", "app busy", "app", "app", "", "exchange.halt", "alpha")
FIRST = settings_of(enabled_exchanges=("alpha", "beta"), trading_state="reduce_only", min_net_bps=7.5)


async def enabled(store: TradeStore) -> tuple[int, tuple[str, ...]]:
    current = await store.settings.current()
    assert current is not None
    return current.version, current.enabled_exchanges


async def test_the_exchange_alone_is_taken_off(store: TradeStore) -> None:
    first = await store.settings.create(FIRST)
    after = await store.settings.halt_exchange("alpha", ENTRY, 0)
    assert after == first.model_copy(update={"version": 2, "enabled_exchanges": ("beta",)})
    assert await store.settings.current() == after


async def test_a_repeat_does_not_undo_what_an_operator_did_since(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    await store.settings.halt_exchange("alpha", ENTRY, 0)
    await store.settings.change(FIRST, 2, "operator")
    assert await store.settings.halt_exchange("alpha", ENTRY, 0) is None
    assert await enabled(store) == (3, ("alpha", "beta"))
    await store.settings.halt_exchange("alpha", replace(ENTRY, entry_id="halt busy-1:0:8:0"), 0)
    assert await enabled(store) == (4, ("beta",))


async def test_what_came_while_it_was_off_is_over(store: TradeStore) -> None:
    """Neither a version nor an entry is kept of what changes nothing; it does not undo what an operator did since."""
    await store.settings.create(settings_of(enabled_exchanges=("beta",)))
    assert await store.settings.halt_exchange("alpha", ENTRY, 0) is None
    assert await enabled(store) == (1, ("beta",))
    await store.settings.change(FIRST, 1, "operator")
    assert await store.settings.halt_exchange("alpha", ENTRY, 60_000_000) is None
    assert await enabled(store) == (2, ("alpha", "beta"))


async def test_only_what_switched_it_on_is_looked_at(store: TradeStore) -> None:
    """A change of another setting, or of another exchange, holds up no halt."""
    first = await store.settings.create(settings_of(enabled_exchanges=("alpha",)))
    others = first.model_copy(update={"enabled_exchanges": ("alpha", "beta"), "min_net_bps": 3.5})
    await store.settings.change(others, 1, "operator")
    await store.settings.halt_exchange("alpha", ENTRY, 60_000_000)
    assert await enabled(store) == (3, ("beta",))


async def test_the_same_row_from_two_processes_and_others_beside_it(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    others = [store.settings.halt_exchange("beta", replace(ENTRY, entry_id=f"halt {n}"), 0) for n in range(3)]
    await asyncio.gather(*(store.settings.halt_exchange("alpha", ENTRY, 0) for _ in range(3)), *others)
    assert await enabled(store) == (3, ())


async def test_without_settings_nothing_is_kept(store: TradeStore) -> None:
    assert await store.settings.halt_exchange("alpha", ENTRY, 0) is None
    await store.settings.create(FIRST)
    await store.settings.halt_exchange("alpha", ENTRY, 0)
    assert await enabled(store) == (2, ("beta",))


async def test_the_audit_log_has_it_once(mongo_store: MongoTradeStore, mongodb_uri: str, database: str) -> None:
    await mongo_store.settings.create(FIRST)
    for n in range(3):
        await mongo_store.settings.halt_exchange("alpha", ENTRY, 0)
        await mongo_store.settings.halt_exchange("alpha", replace(ENTRY, entry_id=f"halt busy-1:0:8:{n}"), 0)
    reader = TradeReader(connect(mongodb_uri), database, "session-1")
    (kept,) = (await reader.audit.page(AuditFilter(), None, 10)).items
    versions = (await reader.settings_history(None, 10)).items
    await reader.close()
    assert kept.at > 0
    assert replace(kept, at=0) == replace(
        ENTRY,
        outcome="done",
        before={"enabled_exchanges": ["alpha", "beta"], "version": 1},
        after={"enabled_exchanges": ["beta"], "version": 2},
    )
    assert [one.who for one in versions] == ["app busy", "start"]


async def test_watchers_hear_of_it(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    seen: list[Settings] = []

    async def watch() -> None:
        async for settings in store.settings.watch():
            seen.append(settings)
            if len(seen) == 1:
                await store.settings.halt_exchange("alpha", ENTRY, 0)
            else:
                return

    await asyncio.wait_for(watch(), 30)
    assert [one.enabled_exchanges for one in seen] == [("alpha", "beta"), ("beta",)]
