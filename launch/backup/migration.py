"""Migrates a data folder of an earlier layout to this one, step by step, after writing a backup of it."""

import asyncio
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from launch.backup.archive import put_in_place, scratch_beside
from launch.backup.make import write_archive
from launch.backup.restored_folder import check_ledger, restored_folder
from launch.backup.sources import MODES, SourceDatabase
from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_layout import LAYOUT, database_name, mark_layout, stored_layout
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Mode
from store.backups.database_load import make_indexes
from store.backups.database_migration import drop_database, migrate_database, open_in
from store.backups.layout_steps import LAYOUT_STEPS
from store.errors import StoreError

TRANSIENT = ("kafka", "checkpoints")
"""Prices and what was derived from them, which each session makes again."""

Echo = Callable[[str], None]


def migrate_folder(home: Path, mode: Mode, echo: Echo) -> None:
    """Bring the sessions of that mode in `home` to this layout, if steps lead to it; the caller holds the lock. Raises
    CannotStartError if arbitrages are open, or the ledger would not reconcile: then all is as it was."""
    own = home / MODES[mode]
    layout = stored_layout(own)
    if layout is None or layout == LAYOUT or not all(step in LAYOUT_STEPS for step in range(layout, LAYOUT)):
        return
    try:
        if (own / "mongodb").is_dir():
            _migrate_database(home, own, mode, layout, echo)
        for name in TRANSIENT:
            shutil.rmtree(own / name, ignore_errors=True)
        mark_layout(own)
    except (StoreError, OSError) as error:
        raise LaunchError(f"{own}: cannot be migrated from layout {layout}: {str(error).rstrip('.')}.") from error


def _migrate_database(home: Path, own: Path, mode: Mode, layout: int, echo: Echo) -> None:
    old, new = database_name(mode, layout), database_name(mode)
    with temporary_mongod(own, new, as_node=True) as address:
        still_open = open_in(address, old, layout)
        if still_open:
            raise CannotStartError(
                f"{own}: {still_open} arbitrages of the earlier version (layout {layout}) are open; start that version "
                "once more, so that it ends them."
            )
        kept = _backup_of(home, SourceDatabase(mode, own, old, address, is_running=False, layout=layout))
        documents = migrate_database(address, (old, layout), (new, LAYOUT))
        asyncio.run(make_indexes(address, new))
        check = check_ledger(address, new, own)
        if check.findings:
            drop_database(address, new)
            raise CannotStartError(
                f"{own}: cannot be migrated from layout {layout}, since its ledger would not reconcile: "
                f"{check.findings[0]}; nothing was changed, and a backup is in {kept}."
            )
        mark_layout(own)
        drop_database(address, old)
    echo(
        f"{own} was migrated from layout {layout} to {LAYOUT}: {check.arbitrages:,} arbitrages, {check.fills:,} fills, "
        f"{documents:,} documents, ledger reconciled; a backup of before is {kept}"
    )


def _backup_of(home: Path, source: SourceDatabase) -> Path:
    """Return the backup, written and checked byte by byte."""
    moment = datetime.fromtimestamp(wall_now() / MICROSECONDS, UTC)
    path = home / f"before-layout-{LAYOUT}-{source.mode}-{moment:%Y%m%d-%H%M%S}.tar.gz"
    with scratch_beside(path) as scratch:
        write_archive(home, scratch, [source], ())
        with TemporaryDirectory(prefix=f".{path.name}.", dir=home) as folder:
            restored_folder(scratch, Path(folder))
        put_in_place(scratch, path)
    return path
