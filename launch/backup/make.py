"""`arbitrage backup`: one file with all that a session needs to go on, checked by restoring it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from launch.backup.archive import (
    DATABASES,
    FILES,
    FORMAT,
    ArchiveWriter,
    Contents,
    new_archive,
    put_in_place,
    scratch_beside,
)
from launch.backup.journal_cut import until_first_unknown
from launch.backup.restored_folder import Restored, restored_folder
from launch.backup.sources import (
    RECORDS,
    SourceDatabase,
    files_below,
    left_out,
    optional_files,
    source_databases,
)
from launch.errors import CannotStartError, LaunchError
from launch.setup.data_dir import check_writable
from launch.setup.data_layout import LAYOUT
from launch.supervisor.ctrl_c import Stopping
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from store.backups.database_dump import database_snapshot, granted_orders
from store.errors import StoreError

OVERLAP = 60 * MICROSECONDS
"""Clocks of this machine and of a MongoDB on another differ by less."""
MEGABYTE = 1_000_000

Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BackupOptions:
    """Options of the command line."""

    file: Path
    include: tuple[str, ...] = ()
    overwrite: bool = False


def run_backup(home: Path, options: BackupOptions, echo: Echo) -> int:
    """Write the file and check it. Returns 0 only if what was restored from it is whole and reconciles.

    It replaces an earlier file only if all of it was found right. Raises LaunchError.
    """
    if not home.is_dir():
        raise CannotStartError(f"{home}: there is no data folder; name one by ARBITRAGE_HOME.")
    path = options.file.absolute()
    check_writable(path, "the backup")
    if path.exists() and not options.overwrite:
        raise CannotStartError(f"{path}: is there already; name another file, or add --overwrite.")
    with Stopping(home / "logs" / "backup.log", "No backup was written."):
        try:
            with scratch_beside(path) as scratch:
                write_backup(home, scratch, options.include, echo)
                echo(f"{path}: {scratch.stat().st_size / MEGABYTE:.1f} MB; checking it by restoring it")
                with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
                    restored = restored_folder(scratch, Path(folder))
                if restored.findings and path.exists():
                    path = path.with_name(f"{path.name}.not-reconciled")
                    echo(f"{options.file}: stays the one before; the new one is {path}")
                put_in_place(scratch, path)
        except (StoreError, OSError) as error:
            raise LaunchError(f"{path}: no backup that can be relied on: {str(error).rstrip('.')}.") from error
    return report_check(path, restored, echo)


def report_check(path: Path, restored: Restored, echo: Echo) -> int:
    """Say in one line what a restored file has, and what is wrong with it. Returns the exit code."""
    for finding in restored.findings:
        echo(finding)
    counts = f"{restored.arbitrages:,} arbitrages, {restored.fills:,} fills, {restored.documents:,} documents"
    for name, layout in restored.older.items():
        echo(f"{name}: is of layout {layout}; its ledger is checked when the next session brings it to {LAYOUT}")
    if restored.contents.layout < LAYOUT:
        echo(f"{path}: {restored.documents:,} documents of layout {restored.contents.layout}, all as they were")
        return 0
    if restored.findings:
        echo(f"{path}: {counts}, as they were; ledger NOT reconciled ({len(restored.findings)} findings above)")
        return 1
    echo(f"{path}: {counts}, all as they were; ledger reconciled to the last digit")
    return 0


def write_backup(home: Path, path: Path, include: tuple[str, ...], echo: Echo) -> None:
    """Write a backup. Raises LaunchError, StoreError."""
    with source_databases(home) as databases:
        out = write_archive(home, path, databases, include)
    for name, size in sorted(out.items()):
        how = f"--include {name} takes them in" if name != "regions" else "sessions of regions are not copied"
        echo(f"left out: {name}, {size / MEGABYTE:.1f} MB; {how}")


def write_archive(
    home: Path, path: Path, databases: Sequence[SourceDatabase], include: tuple[str, ...]
) -> dict[str, int]:
    """Write an archive with these databases. Returns folder → bytes of what is left out."""
    with new_archive(path) as archive:
        for source in databases:
            _add_database(archive, home, source)
        for file in optional_files(home, include):
            _add_file(archive, home, file)
        out = left_out(home, include)
        is_running = any(source.is_running for source in databases)
        layout = max(source.layout for source in databases)
        program = version("cross-exchange-arbitrage")
        archive.finish(Contents(FORMAT, layout, program, wall_now(), is_running, archive.members, out))
    return out


def _add_database(archive: ArchiveWriter, home: Path, source: SourceDatabase) -> None:
    since = wall_now() - OVERLAP
    with database_snapshot(source.address, source.name) as snapshot:
        collections = snapshot.collections()
        # the first read fixes the moment
        known = snapshot.granted_since(since)
        for collection in collections:
            with TemporaryFile(dir=archive.folder) as staged:
                count = snapshot.copy(collection, staged)
                size = staged.tell()
                staged.seek(0)
                archive.add(f"{DATABASES}/{source.name}/{collection}.bson", staged, size, count)
        with TemporaryFile(dir=archive.folder) as staged:
            sizes = {file: file.stat().st_size for name in RECORDS for file in files_below(source.home / name)}
            later = granted_orders(snapshot.database, since) - known
            for file, size in sizes.items():
                unknown = frozenset(each for exchange, each in later if exchange == file.stem)
                staged.seek(0)
                staged.truncate()
                staged.writelines(until_first_unknown(_lines_within(file, size), unknown))
                length = staged.tell()
                staged.seek(0)
                archive.add(_name_of(home, file), staged, length)


def _lines_within(file: Path, size: int) -> Iterator[bytes]:
    with file.open("rb") as lines:
        for line in lines:
            size -= len(line)
            if size < 0:
                return
            yield line


def _add_file(archive: ArchiveWriter, home: Path, file: Path) -> None:
    try:
        with file.open("rb") as source:
            archive.add(_name_of(home, file), source, file.stat().st_size)
    except FileNotFoundError:
        # a recording that the session has removed meanwhile
        return


def _name_of(home: Path, file: Path) -> str:
    return f"{FILES}/{file.relative_to(home).as_posix()}"
