"""A backup unpacked, its databases stored again, byte by byte as they were, and its books checked."""

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path

from launch.backup.archive import DATABASES, FILES, Contents, unpack
from launch.backup.books_check import BooksCheck
from launch.backup.sources import MODES, RECORDS
from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError
from launch.setup.data_dir import write_atomically
from launch.setup.data_layout import LAYOUT, LAYOUT_FILE
from session.session import Mode
from simulators.matching.exchange_journal import read_journal
from store.aggregates.month_sums import read_removed_changes
from store.backups.database_dump import blocking_database
from store.backups.database_load import load_database, make_indexes
from store.backups.restored_books import read_all_trades, read_ledger, read_stored_books

_NAME = re.compile(r"arbitrage_([a-z]+)_([0-9]+)")


@dataclass(slots=True)
class Restored:
    """What a backup has; `findings`: what is wrong with its books."""

    contents: Contents
    documents: int = 0
    arbitrages: int = 0
    fills: int = 0
    findings: tuple[str, ...] = ()
    older: dict[str, int] = field(default_factory=dict)
    """Database → its layout, if that is an earlier one: its ledger was not checked."""


def restored_folder(path: Path, target: Path) -> Restored:
    """Return the data folder of a backup, complete as `target`/files; `target` is empty.

    Raises CannotStartError if `path` is no whole backup, LaunchError, StoreError if MongoDB does not take it.
    """
    restored = Restored(unpack(path, target))
    (target / FILES).mkdir(mode=0o700, exist_ok=True)
    databases = target / DATABASES
    if not databases.is_dir():
        raise CannotStartError(f"{path}: is no backup of this program, which would have a database.")
    for copied in sorted(databases.iterdir()):
        mode, layout = _mode_and_layout(path, copied.name)
        own = target / FILES / MODES[mode]
        own.mkdir(mode=0o700, exist_ok=True)
        collections = {file.stem: file for file in sorted(copied.iterdir())}
        with temporary_mongod(own, copied.name) as address:
            restored.documents += load_database(address, copied.name, collections)
            if layout == LAYOUT:
                asyncio.run(make_indexes(address, copied.name))
                check = check_ledger(address, copied.name, own)
                restored.arbitrages += check.arbitrages
                restored.fills += check.fills
                restored.findings += tuple(check.findings)
            else:
                restored.older[copied.name] = layout
        write_atomically(own / LAYOUT_FILE, f"{layout}\n".encode())
    return restored


def _mode_and_layout(path: Path, name: str) -> tuple[Mode, int]:
    known = _NAME.fullmatch(name)
    mode = next((mode for mode in MODES if known is not None and mode == known[1]), None)
    if known is None or mode is None:
        raise CannotStartError(f"{path}: is no backup of this program, which would have no database {name[:100]!r}.")
    return mode, int(known[2])


def check_ledger(address: str, name: str, home: Path) -> BooksCheck:
    """Check the ledger of a database that nobody writes to against the records of accounts in `home`. Raises
    StoreError."""
    check = BooksCheck()
    with blocking_database(address, name) as database:
        for session_id, entry in read_ledger(database):
            check.add_entry(session_id, entry)
        for trade in read_all_trades(database):
            check.add(trade)
        check.add_sums(read_removed_changes(database))
        books = read_stored_books(database)
    journals = {file.stem: _recorded_fills(file) for file in (home / RECORDS[0]).glob("*.jsonl")}
    check.findings = check.finish(books, journals)
    return check


def _recorded_fills(journal: Path) -> frozenset[str]:
    """Return keys, as the ledger has them."""
    entries = read_journal(journal)
    return frozenset(f"{journal.stem}|{fill.symbol}|{fill.fill_id}" for entry in entries for fill in entry.fills)
