"""`arbitrage import`: imports third-party data into a tick set of the data folder."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from glob import glob
from pathlib import Path
from typing import Never

from tqdm import tqdm

from launch.errors import CannotStartError
from market.instruments.assets import Assumption
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions, Format, Need
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.rows.packed_files import is_passed_over
from tick_sets.rows.size_rules import SizeRules
from tick_sets.sets.assumptions import assumed_alike
from tick_sets.sets.file_import import Imported, ImportRequest, import_files
from tick_sets.sets.manifest import REJECTED
from tick_sets.sets.problems import problems_of
from tick_sets.sets.rebuild import Progress

Echo = Callable[[str], None]

_WORDS: dict[Need, str] = {
    "exchange": "--exchange (as in --exchange kraken)",
    "symbol": "--symbol (as in --symbol BTC/USD)",
    "half_spread_bps": "--half-spread-bps: it has no bid and ask; name their distance from each price",
    "mapping": "--mapping FILE, which maps its columns",
}


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """What the command line said."""

    format: str
    files: tuple[Path, ...]
    file_options: FileOptions
    region: str | None
    is_fx: bool
    alike: tuple[str, ...]
    name: str
    settlement_currency: str | None
    contract_size: Decimal | None = None
    size_rules: SizeRules = field(default_factory=SizeRules)


def list_formats(echo: Echo) -> int:
    """Print every format with the options that it needs."""
    width = max(len(name) for name in FORMATS)
    for name, one in sorted(FORMATS.items()):
        needs = f" (needs {', '.join('--' + need.replace('_', '-') for need in one.needs)})" if one.needs else ""
        echo(f"{name:<{width}}  {one.description}{needs}")
    return 0


def run_import(home: Path, options: ImportOptions, echo: Echo) -> int:
    """Build or extend the set and report the result. Raises CannotStartError for data that cannot be imported."""
    _report(home / "ticks" / options.name, imported_set(home, options, echo), echo)
    return 0


def imported_set(home: Path, options: ImportOptions, echo: Echo, watch: Progress | None = None) -> Imported:
    """Build or extend the set. `watch` gets the rows' number as they are read, and may end it with an error:
    then all is as it was. Raises CannotStartError for data that cannot be imported."""
    request = ImportRequest(
        format=_format(options),
        files=named_files(options.files, echo),
        options=options.file_options,
        words=MarketWords(
            options.region,
            options.is_fx,
            tuple(alike_of_text(text) for text in options.alike),
            options.contract_size,
            options.size_rules,
        ),
        settlement_currency=options.settlement_currency,
    )
    folder = home / "ticks" / _set_name(options.name)
    try:
        with tqdm(unit=" rows", unit_scale=True, disable=not sys.stderr.isatty(), leave=False) as bar:
            return import_files(folder, request, watch or (lambda what, rows: _show(bar, what, rows)))
    except ImportRejectedError as error:
        raise CannotStartError(f"{str(error).removesuffix('.')}.") from error
    except OSError as error:
        raise CannotStartError(f"{folder}: cannot be written ({error.strerror or error}).") from error


def named_files(paths: tuple[Path, ...], echo: Echo) -> tuple[Path, ...]:
    """Return the files; a folder stands for all below it, a pattern for all that match, each by name. Hidden files, and
    the checksums beside Binance's, are left out. Raises CannotStartError."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            some = [one for one in sorted(path.rglob("*")) if not is_passed_over(one.relative_to(path))]
            what = "folder"
        elif not path.exists() and not path.is_symlink() and set(str(path)) & set("*?["):
            some = [Path(one) for one in sorted(glob(str(path), recursive=True))]
            what = "pattern"
        else:
            found.append(path)
            continue
        some = [one for one in some if one.is_file() and one.suffix != ".CHECKSUM"]
        if not some:
            raise CannotStartError(f"{path}: this {what} matches no file.")
        echo(f"{path}: {len(some):,} {'file' if len(some) == 1 else 'files'}")
        found += some
    return tuple(found)


def _show(bar: "tqdm[Never]", what: str, rows: int) -> None:
    bar.set_description(what, refresh=rows == 0)
    bar.update(rows)


def _format(options: ImportOptions) -> Format:
    if options.format not in FORMATS:
        names = ", ".join(sorted(FORMATS))
        raise CannotStartError(f"{options.format!r} is not a format; known are {names} (`arbitrage import --list`).")
    wanted = FORMATS[options.format]
    for need in wanted.needs:
        if getattr(options.file_options, need) is None:
            raise CannotStartError(f"{wanted.name} needs {_WORDS[need]}.")
    if options.file_options.half_spread_bps is not None and not Decimal(
        0
    ) < options.file_options.half_spread_bps < Decimal(5_000):
        raise CannotStartError(
            "--half-spread-bps must be between 0 and 5000, both excluded: a bid equal to the ask is not a quote."
        )
    return wanted


def alike_of_text(text: str) -> Assumption:
    """Return the two assets of `ASSET=ASSET`. Raises CannotStartError."""
    asset, _, counts_as = (part.strip() for part in text.partition("="))
    if not asset or not counts_as:
        raise CannotStartError(f"--alike {text!r} is not of the form ASSET=ASSET, as in --alike USDT=USD.")
    return assumed_alike(asset, counts_as)


def _set_name(name: str) -> str:
    if not name or name[0] in ".-" or set(name) & set("/\\\0"):
        raise CannotStartError(f"--set {name!r} is not a valid folder name.")
    return name


def _report(folder: Path, imported: Imported, echo: Echo) -> None:
    rejected: dict[str, int] = {}
    for source in imported.added:
        market = f"{source.exchange} {source.symbol}"
        others = f", {source.other_rows:,} rows of other markets skipped" if source.other_rows else ""
        echo(f"{source.name}: {source.rows:,} quotes of {market}, {sum(source.rejected.values()):,} rejected{others}")
        for reason, rows in source.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + rows
    manifest = imported.manifest
    echo(f"rows in: {sum(source.rows for source in imported.added):,}")
    counts = ", ".join(f"{rows:,} {reason}" for reason, rows in sorted(rejected.items()))
    echo(f"rejected: {counts}, each in {folder / REJECTED}" if counts else "rejected: none")
    for line in manifest.assumptions:
        echo(f"assumed: {line}")
    for line in problems_of(manifest):
        echo(f"cannot be backtested yet: {line}")
    echo(f"set: {folder} ({manifest.quotes:,} quotes of {', '.join(manifest.bases)})")
