"""The manifest of a tick set."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from market.instruments.assets import Assumption
from market.instruments.markets import Market
from market.validation_messages import sentence_of
from tick_sets.errors import reject
from tick_sets.file_names import MANIFEST
from tick_sets.sets.schema import FORMAT

REJECTED = "rejected.jsonl"
TICKS, OPENING = "ticks.parquet", "opening.parquet"

Origin = Literal["import", "session", "generated"]


@dataclass(frozen=True, slots=True)
class ImportedSource:
    """One file that was imported, or the log of one session."""

    name: str
    format: str
    sha256: str | None
    rows: int
    """Usable rows."""
    rejected: dict[str, int] = field(default_factory=dict)
    """Reason → rows left out; each of them stands in `rejected.jsonl`."""
    other_rows: int = 0
    """Rows of markets that were not asked for: they are neither usable nor rejected."""
    exchange: str | None = None
    symbol: str | None = None
    first_time: int = 0
    """Microseconds UTC of its first usable row, if the source is a file."""
    last_time: int = 0
    is_numbered: bool = False
    """The source itself numbers its quotes."""
    is_of_bars: bool = False
    assumptions: tuple[str, ...] | None = None
    """Its assumptions; None: imported by a version that stored them with the set only."""


@dataclass(frozen=True, slots=True)
class Partition:
    """One base on one day, in one file; days of few rows stand in the file of the first of them, which `day` names.

    Times in microseconds UTC of its first and last row.
    """

    day: str
    base: str
    rows: int
    row_groups: int
    first_time: int
    last_time: int

    @property
    def folder(self) -> Path:
        """Return the folder, relative to the set."""
        return Path("ticks", f"day={self.day}", f"base={self.base}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The head of a tick set; `partitions` by day, then base."""

    name: str
    title: str
    origin: Origin
    settlement_currency: str
    markets: tuple[Market, ...]
    sources: tuple[ImportedSource, ...]
    partitions: tuple[Partition, ...]
    quotes: int
    """Rows of kind `quote` or `fx` that sources gave; one that is for several bases counts once."""
    assumptions: tuple[str, ...] = ()
    """The assumptions that make its prices comparable, as text for reports."""
    alike: tuple[Assumption, ...] = ()
    """What counts as what, for all of its markets; their words stand among the assumptions."""
    session_id: str | None = None
    began_at: int = 0
    """Microseconds UTC at which a recorded session began; rows before it show what was in force by then. 0: it began
    with its first row."""
    format: int = FORMAT

    @property
    def bases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(market.base for market in self.markets if not market.is_fx))

    @property
    def markets_of_bars(self) -> frozenset[tuple[str, str]]:
        """Return (exchange, symbol) of the markets that sources gave as bars."""
        return frozenset((str(one.exchange), str(one.symbol)) for one in self.sources if one.is_of_bars)

    @property
    def rows(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    @property
    def rejected(self) -> dict[str, int]:
        """Return reason → rows left out, over all sources."""
        sums: dict[str, int] = {}
        for source in self.sources:
            for reason, rows in source.rejected.items():
                sums[reason] = sums.get(reason, 0) + rows
        return dict(sorted(sums.items()))

    @property
    def start_time(self) -> int:
        """Return when the set starts, microseconds UTC: the first row of any base, or the session's beginning if that
        is later."""
        return max(self.began_at, min(partition.first_time for partition in self.partitions))

    @property
    def end_time(self) -> int:
        return max(partition.last_time for partition in self.partitions)


_MANIFEST = TypeAdapter(Manifest)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    (folder / MANIFEST).write_bytes(_MANIFEST.dump_json(manifest, indent=2))


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest. Raises ImportRejectedError if `folder` is no tick set of this format."""
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except OSError:
        reject(folder, None, "is no tick set (it has no manifest.json); make one with `arbitrage import`")
    try:
        manifest = _MANIFEST.validate_json(text)
    except ValidationError as error:
        reject(path, None, f"cannot be read ({sentence_of(error.errors()[:1], 'the file')})")
    if manifest.format != FORMAT:
        reject(path, None, f"is of format {manifest.format}, while this version reads format {FORMAT}")
    return manifest
