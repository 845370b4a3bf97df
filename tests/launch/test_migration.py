"""Data of an earlier layout are migrated to this one with their ledger; open arbitrages are not touched.

`layouts/layout-2.json` and `layout-3.json` were written by those versions: one arbitrage that closed, one that waited
for its second leg in vain.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from bson import json_util

from launch.backup.make import BackupOptions, run_backup
from launch.backup.migration import migrate_folder
from launch.backup.restore import run_restore
from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError
from launch.setup.data_layout import LAYOUT, LAYOUT_FILE, database_name, stored_layout
from market.trade.arbitrages import Arbitrage
from session.session import Mode
from store.backups.database_dump import blocking_database
from store.backups.layout_steps import migrated
from store.errors import StoreError
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from store.server.embedded_mongod import mongod_program

LAYOUTS = Path(__file__).parent / "layouts"

Documents = dict[str, list[dict[str, Any]]]


def documents_of(layout: int) -> Documents:
    found: Documents = json_util.loads((LAYOUTS / f"layout-{layout}.json").read_text())
    return found


def folder_of(layout: int, home: Path, documents: Documents, mode: Mode = "paper") -> Path:
    try:
        mongod_program()
    except StoreError as reason:
        pytest.skip(str(reason))
    home.mkdir(exist_ok=True)
    name = database_name(mode, layout)
    with temporary_mongod(home, name) as address, blocking_database(address, name) as database:
        for collection, rows in documents.items():
            database[collection].insert_many(rows)
    (home / "kafka").mkdir()
    (home / LAYOUT_FILE).write_text(f"{layout}\n")
    return home


async def stored_arbitrages(address: str, state: str) -> list[Arbitrage]:
    async with MongoTradeStore(connect(address), database_name("paper"), "session-1") as store:
        assert {row.currency: row.free for row in await store.balances.rows() if row.exchange == "alpha"}
        assert len(await store.fills()) == 2
        settings = await store.settings.current()
        assert settings is not None
        assert settings.trading_state == state
        return await store.session_arbitrages()


@pytest.mark.parametrize(("layout", "state"), [(2, "reduce_only"), (3, "running")])
def test_an_earlier_layout_goes_on_with_its_ledger(tmp_path: Path, layout: int, state: str) -> None:
    home, lines = folder_of(layout, tmp_path / "home", documents_of(layout)), list[str]()
    migrate_folder(home, "paper", lines.append)
    assert f"from layout {layout} to 4: 2 arbitrages, 2 fills" in lines[-1]
    assert "ledger reconciled" in lines[-1]
    assert stored_layout(home) == LAYOUT
    assert not (home / "kafka").exists()
    with temporary_mongod(home, database_name("paper")) as address:
        closed, unfilled = asyncio.run(stored_arbitrages(address, state))
    assert (closed.state, unfilled.state, unfilled.reason) == ("closed", "unfilled", "no_counterpart")
    assert {leg.state for leg in (*closed.legs, *unfilled.legs)} == {"done", "not_sent"}
    assert "buy granted" in [step.what for step in closed.history]
    migrate_folder(home, "paper", lines.append)
    assert len(lines) == 1
    (backup,) = home.glob("before-layout-4-paper-*.tar.gz")
    assert run_restore(tmp_path / "before", backup, lines.append) == 0
    assert stored_layout(tmp_path / "before") == layout


@pytest.mark.slow
def test_each_mode_is_copied_by_its_own_layout(tmp_path: Path) -> None:
    home, lines = folder_of(3, tmp_path / "home", documents_of(3)), list[str]()
    migrate_folder(home, "paper", lines.append)
    folder_of(3, home / "live", documents_of(3), "live")
    assert run_backup(home, BackupOptions(tmp_path / "backup"), lines.append) == 0
    assert [line for line in lines if line.startswith("arbitrage_live_3: is of layout 3")]
    assert "2 arbitrages, 2 fills" in lines[-1]
    assert run_restore(tmp_path / "again", tmp_path / "backup", lines.append) == 0
    assert stored_layout(tmp_path / "again") == LAYOUT
    assert stored_layout(tmp_path / "again" / "live") == 3
    migrate_folder(tmp_path / "again", "live", lines.append)
    assert "from layout 3 to 4: 2 arbitrages, 2 fills" in lines[-1]


def test_a_folder_wholly_of_an_earlier_layout_is_copied(tmp_path: Path) -> None:
    home, lines = folder_of(2, tmp_path / "home", documents_of(2)), list[str]()
    assert run_backup(home, BackupOptions(tmp_path / "backup"), lines.append) == 0
    assert "documents of layout 2, all as they were" in lines[-1]


@pytest.mark.parametrize(
    ("marker", "why"), [("", "nothing says of which layout"), ("5", r"is of a newer version \(layout 5\)")]
)
def test_a_layout_that_is_not_known_is_told(tmp_path: Path, marker: str, why: str) -> None:
    (tmp_path / "home" / "mongodb").mkdir(parents=True)
    (tmp_path / "home" / LAYOUT_FILE).write_text(marker)
    with pytest.raises(CannotStartError, match=why):
        run_backup(tmp_path / "home", BackupOptions(tmp_path / "backup"), print)
    assert not (tmp_path / "backup").exists()


@pytest.mark.parametrize(
    ("collection", "changed", "why"),
    [
        ("arbitrages", {"state": "single_leg"}, "1 arbitrages of the earlier version .* are open"),
        ("fills", {"amount": "1"}, "its ledger would not reconcile: fill .* says something else"),
    ],
)
def test_what_cannot_be_migrated_stays_as_it_was(
    tmp_path: Path, collection: str, changed: dict[str, str], why: str
) -> None:
    documents = documents_of(3)
    documents[collection][0] |= changed
    home = folder_of(3, tmp_path / "home", documents)
    with pytest.raises(CannotStartError, match=why):
        migrate_folder(home, "paper", print)
    assert stored_layout(home) == 3
    with temporary_mongod(home, "admin", as_node=True) as address, blocking_database(address, "admin") as database:
        names = database.client.list_database_names()
    assert database_name("paper", 3) in names
    assert database_name("paper") not in names


@pytest.mark.parametrize(
    ("collection", "before", "after"),
    [
        ("claims", {"_id": "half|alpha|USD|alpha|beta", "arbitrage_id": None}, None),
        ("claims", {"_id": "session", "open_arbitrages": 0}, {"_id": "session", "open_arbitrages": 0}),
        ("leases", {"_id": "alpha", "token": 3}, None),
        ("audit", {"_id": "one"}, {"_id": "one"}),
    ],
)
def test_documents_of_layout_3(collection: str, before: dict[str, object], after: dict[str, object] | None) -> None:
    assert migrated(collection, before, 3, 4) == after


@pytest.mark.parametrize(
    ("collection", "before", "after"),
    [
        ("settings", {"trading_state": "reducing"}, {"trading_state": "reduce_only"}),
        (
            "settings_versions",
            {"before": None, "after": {"trading_state": "reducing"}},
            {"before": None, "after": {"trading_state": "reduce_only"}},
        ),
        ("audit", {"outcome": "begun"}, {"outcome": "started"}),
        ("differences", {"kind": "halt_outlived"}, {"kind": "resumable_after_halt"}),
        (
            "rejections",
            {"reason": "reducing", "grounds": "g", "noted_at": 7},
            {"reason": "reduce_only", "record": "g", "recorded_at": 7},
        ),
        ("notices", {"_id": "one"}, None),
    ],
)
def test_documents_of_layout_2(collection: str, before: dict[str, object], after: dict[str, object] | None) -> None:
    assert migrated(collection, before, 2, 3) == after
