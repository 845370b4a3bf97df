"""The contract of what apps change in the settings, on both adapters: once, their own alone, and never over people."""

import asyncio
from dataclasses import replace

import pytest

from market.decide.settings_entries import EntryChange
from store.app_actions import AppAction, AppActionName, AppActionOutcome, Refusal
from store.mongo.store import MongoTradeStore
from store.ports.trading import TradeStore
from store.records.audit_entry import AuditEntry
from store.server.client import connect
from store.server.documents import AUDIT, SETTINGS_VERSIONS
from tests.market.samples import settings_of

PAUSE = EntryChange("disabled_assets", "ETH", value=True)
RESUME = replace(PAUSE, value=None)
RAISE = EntryChange("asset_thresholds", "ETH", 12.0)
ROW = 1_700_000_000_000_000
FIRST = settings_of()


class App:
    """Rows of one app, one after the other."""

    def __init__(self, store: TradeStore, name: str = "guard", per_minute: int = 6) -> None:
        self.store, self.name, self.per_minute, self.rows = store, name, per_minute, 0

    async def __call__(self, change: EntryChange | None, row: str = "", late: int = 0) -> AppActionOutcome:
        """`late`: so many rows before the newest was written."""
        self.rows += 1
        action, target = _action(change), "notice" if change is None else change.name
        entry = AuditEntry(
            row or f"action {self.name}:{self.rows}", f"app {self.name}", "app", "app", "", action, target
        )
        return await self.store.settings.act(AppAction(change, ROW + self.rows - late, self.per_minute), entry)

    async def refused(self, change: EntryChange | None, row: str = "", late: int = 0) -> Refusal | None:
        return (await self(change, row, late)).refused


def _action(change: EntryChange | None) -> AppActionName:
    if change is None:
        return "app.notice"
    if change.setting != "disabled_assets":
        return "app.threshold"
    return "app.resume" if change.value is None else "app.pause"


async def test_an_app_changes_one_entry_and_takes_it_back(store: TradeStore) -> None:
    first, app = await store.settings.create(FIRST), App(store)
    for number, change in enumerate((PAUSE, RAISE, RESUME, replace(RAISE, value=15.0)), start=2):
        outcome = await app(change)
        assert outcome.settings is not None
        assert outcome.settings.version == number
    current = await store.settings.current()
    assert current == first.model_copy(update={"version": 5, "asset_thresholds": {"ETH": 15.0}})


async def test_what_is_so_already_makes_no_version(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store)
    assert await app.refused(RESUME) == "unchanged"
    assert [await app.refused(PAUSE), await app.refused(PAUSE)] == [None, "unchanged"]


async def test_a_row_that_comes_again_changes_nothing(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store)
    assert [await app.refused(PAUSE, "row 1"), await app.refused(RESUME), await app.refused(PAUSE, "row 1")] == [
        None,
        None,
        "repeated",
    ]


async def test_a_row_from_before_a_later_one_of_the_app_is_over(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store)
    assert await app.refused(RAISE) is None
    assert await app.refused(replace(RAISE, value=9.0), late=2) == "overtaken"
    assert await app.refused(replace(RAISE, value=9.0), late=1) is None


@pytest.mark.parametrize("change", [PAUSE, RAISE, EntryChange("pair_thresholds", "alpha>beta", 9.0)])
async def test_what_a_person_made_no_app_undoes(store: TradeStore, change: EntryChange) -> None:
    first, app = await store.settings.create(FIRST), App(store)
    await store.settings.change(change.applied(first), 1, "ada")
    for wanted in (replace(change, value=None), replace(change, value=99.0)):
        if change.setting != "disabled_assets" or wanted.value is None:
            assert await app.refused(wanted) == "not_its_own"
    current = await store.settings.current()
    assert current is not None
    assert (current.version, change.value_in(current)) == (2, change.value)


async def test_what_the_first_settings_say_is_a_persons(store: TradeStore) -> None:
    await store.settings.create(settings_of(asset_thresholds={"ETH": 7.0}, disabled_assets=("ETH",)))
    app = App(store)
    assert [await app.refused(RAISE), await app.refused(RESUME)] == ["not_its_own", "not_its_own"]


async def test_a_person_who_takes_it_back_is_not_overruled(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store)
    outcome = await app(PAUSE)
    assert outcome.settings is not None
    await store.settings.change(RESUME.applied(outcome.settings), 2, "ada")
    assert await app.refused(PAUSE) == "held"
    assert await app.refused(RAISE) is None


async def test_an_app_resumes_only_what_it_paused(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    assert await App(store, "other").refused(PAUSE) is None
    assert await App(store).refused(RESUME) == "not_its_own"
    assert await App(store, "other").refused(RESUME, "another row") is None


async def test_nobody_can_name_himself_as_an_app(store: TradeStore) -> None:
    first, app = await store.settings.create(FIRST), App(store)
    await store.settings.change(PAUSE.applied(first), 1, "app guard")
    assert await app.refused(RESUME) == "not_its_own"


async def test_more_than_its_limit_a_minute_is_left_out(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app, other = App(store, per_minute=2), App(store, "other", per_minute=2)
    raised = [replace(RAISE, value=value) for value in (11.0, 12.0, 13.0)]
    assert [await app.refused(change) for change in raised] == [None, None, "too_many"]
    assert await other.refused(replace(RAISE, key="SOL")) is None


async def test_each_kind_is_counted_apart(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store, per_minute=1)
    assert [await app.refused(change) for change in (None, None, PAUSE, RAISE)] == [None, "too_many", None, None]
    assert await app.refused(replace(PAUSE, key="SOL")) == "too_many"


async def test_what_takes_back_is_never_too_many_and_counts_for_nothing(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store, per_minute=2)
    lower = replace(RAISE, value=None)
    rows = (PAUSE, RESUME, PAUSE, RESUME, PAUSE, RAISE, lower, RAISE, lower, RAISE)
    refused = [await app.refused(change) for change in rows]
    assert [number for number, reason in enumerate(refused) if reason is not None] == [4, 9]
    assert (refused[4], refused[9]) == ("too_many", "too_many")
    assert await store.settings.entries_of_apps() == ()


async def test_entries_of_apps_stand_with_their_authors(store: TradeStore) -> None:
    first = await store.settings.create(settings_of(asset_thresholds={"BTC": 7.0}))
    assert await store.settings.entries_of_apps() == ()
    assert await App(store).refused(PAUSE) is None
    outcome = await App(store, "other")(RAISE)
    assert outcome.settings is not None
    by_hand = EntryChange("pair_thresholds", "alpha>beta", 9.0).applied(outcome.settings)
    await store.settings.change(by_hand, first.version + 2, "ada")
    found = await store.settings.entries_of_apps()
    assert [(one.app, one.entry) for one in found] == [("guard", PAUSE), ("other", RAISE)]
    now = await store.server_now()
    assert all(now - 60_000_000 < one.at <= now for one in found)


async def test_a_notice_is_an_entry_alone(store: TradeStore) -> None:
    await store.settings.create(FIRST)
    app = App(store)
    assert [await app(None, "row 1"), await app(None, "row 1")] == [AppActionOutcome(), AppActionOutcome("repeated")]
    assert await store.settings.current() == FIRST


async def test_a_threshold_that_the_settings_do_not_allow_changes_nothing(store: TradeStore) -> None:
    await store.settings.create(settings_of(emit_net_bps=2.0))
    with pytest.raises(ValueError, match="emit_net_bps"):
        await App(store)(replace(RAISE, value=1.0))
    current = await store.settings.current()
    assert current is not None
    assert current.version == 1


async def test_beside_a_persons_change_it_goes_on_from_the_newer_version(store: TradeStore) -> None:
    """Both are kept, whichever comes first; the same row from two processes is done once."""
    await store.settings.create(FIRST)
    app = App(store)

    async def by_hand() -> None:
        await store.settings.amend(lambda now: now.model_copy(update={"max_slippage_bps": 9.0}), "ada")

    await asyncio.gather(app(PAUSE, "row 1"), by_hand(), app(PAUSE, "row 1"), app(RAISE))
    current = await store.settings.current()
    assert current is not None
    assert (current.version, current.max_slippage_bps) == (4, 9.0)
    assert (current.disabled_assets, current.asset_thresholds) == (("ETH",), {"ETH": 12.0})


async def test_without_settings_nothing_is_kept(store: TradeStore) -> None:
    app = App(store)
    assert await app.refused(PAUSE, "row 1") == "unchanged"
    await store.settings.create(FIRST)
    assert await app.refused(PAUSE, "row 1") is None


async def test_rows_of_one_minute_are_counted_together_whenever_they_are_read(
    mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    """A row that was one too many is read again by the next process."""
    await mongo_store.settings.create(FIRST)
    app = App(mongo_store, per_minute=2)
    assert [await app.refused(None), await app.refused(None)] == [None, None]
    client = connect(mongodb_uri)
    audit = client[database][AUDIT]
    await audit.update_many({}, {"$inc": {"at": -61_000_000}})
    assert await app.refused(None) == "too_many"
    await audit.update_many({}, {"$inc": {"at": -60_000_000}})
    assert await app.refused(None) is None
    client.close()


async def test_versions_of_older_programs_say_who_paused_too(
    mongo_store: MongoTradeStore, mongodb_uri: str, database: str
) -> None:
    """They do not name the entries that they changed."""
    first, app = await mongo_store.settings.create(FIRST), App(mongo_store)
    await mongo_store.settings.change(PAUSE.applied(first), 1, "ada")
    client = connect(mongodb_uri)
    await client[database][SETTINGS_VERSIONS].update_many({}, {"$unset": {"changed": ""}})
    client.close()
    assert [await app.refused(RESUME), await app.refused(RAISE)] == ["not_its_own", None]
