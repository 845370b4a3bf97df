"""What the page asks of recordings, in a process of its own at low priority: import an uploaded file, make the example,
or say what a tick set has in it and what was rejected.

How it is asked and answers, `launch.setup.asked_work` says.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson

from launch.commands.import_sets import ImportOptions, imported_set
from launch.commands.recordings.example_recording import NAME, write_example
from launch.errors import CannotStartError, LaunchError
from launch.sessions.recorded_sessions import SETS, set_folders
from launch.setup.asked_work import Row, begin_asked, finish_asked
from market.money import decimal_of
from runtime.disk_space import ROOM_BYTES, free_bytes
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import FileOptions, Need
from tick_sets.sets.manifest import REJECTED, ImportedSource, Manifest
from tick_sets.sets.problems import problems_of
from tick_sets.sets.tick_set import complete_tick_set

RECOGNISED = "auto"
"""In place of a format: the one that the file looks like."""
MOST_EXAMPLES = 3
"""Rejected rows of each reason that are shown."""
MOST_LINES = 200_000
"""Of `rejected.jsonl` that are looked through for them."""
LONGEST_ROW = 300
MOST_ROWS = 100_000_000
"""Of a set that the page imports into: a packed file may hold a thousand times what was uploaded."""
REFUSALS = (LaunchError, ImportRejectedError, OSError, MemoryError)
_FIELDS: dict[Need, str] = {
    "exchange": "the exchange (as kraken)",
    "symbol": "the market (as BTC/USD)",
    "half_spread_bps": "half the spread in bps: it has prices without bid and ask",
    "mapping": "the mapping of its columns",
}


def main(words: Sequence[str]) -> int:
    """Do what the folder that the words name asks for. Return the exit code."""
    folder = Path(words[0])
    return answered(folder, begin_asked(folder))


def answered(folder: Path, request: Row) -> int:
    """Do what is asked, and forget an upload that is imported. Return the exit code."""
    code = finish_asked(folder, lambda: WORKS[request["work"]](Path(request["home"]), request), REFUSALS)
    if code == 0 and request["work"] == "import":
        # one that was not taken stays, for another attempt with other options
        Path(request["file"]).unlink(missing_ok=True)
    return code


def imported(home: Path, request: Row) -> Row:
    """Import one file into a set, new or not; return what is in the set then. Raises LaunchError."""
    path = Path(request["file"])
    with TemporaryDirectory() as scratch:
        mapping = Path(scratch, "mapping.toml")
        mapping.write_text(request["mapping"])
        options = _options(path, request, mapping if request["mapping"].strip() else None)
        imported_set(home, options, lambda _: None, ImportBounds(home).watch)
    return described(home, request["set"])


@dataclass(slots=True)
class ImportBounds:
    """What an import may take of the disk below `home`, which the stores of a session are on, too."""

    home: Path
    most_rows: int = MOST_ROWS
    room: int = ROOM_BYTES
    rows: int = 0

    def watch(self, _: str, rows: int) -> None:
        """Count rows that were read. Raises CannotStartError."""
        self.rows += rows
        if self.rows > self.most_rows:
            most = f"{self.most_rows:,}"
            raise CannotStartError(f"the recording would have more than {most} rows: use `arbitrage import` for it.")
        if free_bytes(self.home) < self.room:
            raise CannotStartError("there is no room for it on the server's disk.")


def example(home: Path, _: Row) -> Row:
    """Make the example, if it is not there; return what is in it."""
    if NAME not in set_folders(home):
        with TemporaryDirectory() as scratch:
            recording, mapping = write_example(Path(scratch))
            options = ImportOptions("csv", (recording,), FileOptions(mapping=mapping), None, False, (), NAME, None)
            imported_set(home, options, lambda _: None)
    return described(home, NAME)


def looked_at(home: Path, request: Row) -> Row:
    return described(home, request["set"])


WORKS: dict[str, Callable[[Path, Row], Row]] = {"import": imported, "example": example, "look": looked_at}


def described(home: Path, name: str) -> Row:
    """Return what a set has in it, what was rejected and why, and what keeps a backtest from it. Raises LaunchError,
    ImportRejectedError."""
    folder = set_folders(home).get(name)
    if folder is None:
        raise CannotStartError(f"there is no tick set {name!r} below {home / SETS}.")
    manifest = complete_tick_set(folder).manifest
    return {
        "set": name,
        "title": manifest.title,
        "quotes": manifest.quotes,
        "settlement_currency": manifest.settlement_currency,
        "markets": [f"{one.exchange} {one.symbol}{', a rate' if one.is_fx else ''}" for one in manifest.markets],
        "sources": [_source_row(one) for one in manifest.sources],
        "rejected": manifest.rejected,
        "examples": list(_examples(folder / REJECTED)),
        "assumptions": list(manifest.assumptions),
        "problems": list(problems_of(manifest)),
        **_span(manifest),
    }


def format_of(path: Path) -> str:
    """Return the format that a file looks like. Raises CannotStartError if it looks like none, or like several."""
    head = head_of(path)
    found = [name for name, one in FORMATS.items() if one.fits(path, head)]
    if len(found) == 1:
        return found[0]
    if found:
        raise CannotStartError(f"{path.name} looks like {' or '.join(sorted(found))}: choose one of them.")
    raise CannotStartError(f"{path.name} looks like no known format: choose one, or csv with a mapping of its columns.")


def _options(path: Path, request: Row, mapping: Path | None) -> ImportOptions:
    """Return the options of the import. Raises CannotStartError for what the format lacks."""
    name = format_of(path) if request["format"] == RECOGNISED else request["format"]
    spread = request["half_spread_bps"]
    options = FileOptions(
        exchange=request["exchange"] or None,
        symbol=request["symbol"] or None,
        half_spread_bps=None if not spread else decimal_of(spread),
        mapping=mapping,
    )
    lacking = [_FIELDS[need] for need in (FORMATS[name].needs if name in FORMATS else ()) if _lacks(options, need)]
    if lacking:
        raise CannotStartError(f"{path.name} is of the format {name}, which needs {' and '.join(lacking)}.")
    return ImportOptions(name, (path,), options, None, False, tuple(request["alike"]), request["set"], None)


def _lacks(options: FileOptions, need: Need) -> bool:
    value: str | Decimal | Path | None = getattr(options, need)
    return value is None


def _source_row(source: ImportedSource) -> Row:
    row = asdict(source)
    return {name: row[name] for name in ("name", "format", "exchange", "symbol", "rows", "other_rows", "rejected")}


def _span(manifest: Manifest) -> Row:
    return {"start_time": manifest.start_time, "end_time": manifest.end_time} if manifest.partitions else {}


def _examples(path: Path) -> Iterator[Row]:
    """Yield the first rejected rows of each reason."""
    if not path.is_file():
        return
    seen: Counter[str] = Counter()
    with path.open("rb") as file:
        for line in islice(file, MOST_LINES):
            row = orjson.loads(line)
            seen[row["reason"]] += 1
            if seen[row["reason"]] <= MOST_EXAMPLES:
                yield {**row, "text": str(row["text"])[:LONGEST_ROW]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
