"""`arbitrage sets`: list, show, repair and remove tick sets."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from launch.commands.import_sets import alike_of_text
from launch.errors import CannotStartError, LaunchError
from launch.sessions.recorded_sessions import SETS, recorded_logs
from launch.setup.data_dir import check_writable, write_atomically
from market.instruments.markets import Market
from market.money import text_of
from market.time_units import MICROSECONDS
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.place import leftovers_of, remove
from tick_sets.sets.problems import problems_of
from tick_sets.sets.repair import SHORTEST_CHECKSUM, SetChanges, repair_set
from tick_sets.sets.tick_set import complete_tick_set

Echo = Callable[[str], None]
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class SetsOptions:
    """What the command line said."""

    work: str = "list"
    names: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    settlement_currency: str | None = None
    files: tuple[str, ...] = ()
    markets: tuple[str, ...] = ()
    is_sure: bool = False
    json: Path | None = None


def run_sets(home: Path, options: SetsOptions, echo: Echo, ask: Callable[[str], str] = input) -> int:
    """Run the command; `ask` confirms a removal. Raises LaunchError in one sentence."""
    if options.json is not None:
        check_writable(options.json)
    works = {"list": _list, "show": _show, "repair": _repair}
    try:
        if options.work == "remove":
            return _remove(home, options, echo, ask)
        return works[options.work](home, options, echo)
    except ImportRejectedError as error:
        raise CannotStartError(f"{str(error).removesuffix('.')}.") from error
    except OSError as error:
        raise LaunchError(f"{home / SETS}: cannot be read or written ({error.strerror or error}).") from error


def _list(home: Path, options: SetsOptions, echo: Echo) -> int:
    rows = [_row(name, folder) for name, folder in sorted(_folders(home).items())]
    if options.json is not None:
        write_atomically(options.json, json.dumps(rows, indent=2).encode())
    if not rows:
        echo("no tick sets yet; create one with `arbitrage import`")
    for row in rows:
        echo(f"{row['name']}: {row['summary']}")
    return 0


def _row(name: str, folder: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "folder": str(folder), "is_complete": False, "bytes": _size(folder)}
    left = leftovers_of(folder)
    if left is not None and not folder.exists():
        return row | {"summary": f"an interrupted import left it incomplete; run `arbitrage sets repair {name}`"}
    try:
        manifest = complete_tick_set(folder).manifest
    except ImportRejectedError as error:
        return row | {"summary": str(error)}
    return row | {
        "is_complete": True,
        "origin": manifest.origin,
        "quotes": manifest.quotes,
        "bases": manifest.bases,
        "exchanges": list(dict.fromkeys(one.exchange for one in manifest.markets if not one.is_fx)),
        "start_time": manifest.start_time,
        "end_time": manifest.end_time,
        "problems": problems_of(manifest),
        "summary": _summary(manifest, _size(folder)),
    }


def _summary(manifest: Manifest, size: int) -> str:
    exchanges = ", ".join(dict.fromkeys(one.exchange for one in manifest.markets if not one.is_fx))
    count = len(problems_of(manifest))
    troubled = "" if not count else "; cannot be backtested yet, see `arbitrage sets show`"
    return (
        f"{manifest.quotes:,} quotes of {', '.join(manifest.bases)} on {exchanges}, {_span(manifest)}, "
        f"{size / MEGABYTE:,.1f} MB{troubled}"
    )


def _show(home: Path, options: SetsOptions, echo: Echo) -> int:
    (name,) = options.names
    folder = _folder(home, name)
    manifest = complete_tick_set(folder).manifest
    problems = problems_of(manifest)
    if options.json is not None:
        document = asdict(manifest) | {"folder": str(folder), "bytes": _size(folder), "problems": problems}
        write_atomically(options.json, json.dumps(document, indent=2, default=str).encode())
    echo(f"{name}: {_summary(manifest, _size(folder))}")
    echo(f"folder: {folder}")
    echo(f"settles in: {manifest.settlement_currency}")
    for market in manifest.markets:
        echo(f"market: {_market_line(market)}")
    for source in manifest.sources:
        place = f" of {source.exchange} {source.symbol}" if source.exchange else ""
        checksum = f" ({source.sha256[:SHORTEST_CHECKSUM]})" if source.sha256 else ""
        rejected = sum(source.rejected.values())
        echo(f"import: {source.name}{checksum}, {source.format}: {source.rows:,} quotes{place}, {rejected:,} rejected")
    for line in manifest.assumptions:
        echo(f"assumed: {line}")
    for line in problems:
        echo(f"cannot be backtested yet: {line}")
    return 0


def _market_line(market: Market) -> str:
    kind = "rate" if market.is_fx else "spot"
    if market.contract is not None:
        pair = market.symbol.partition(":")[0].partition("/")
        currency = pair[2] if market.contract.kind == "inverse" else pair[0]
        kind = f"{market.contract.kind} contract of {text_of(market.contract.size)} {currency}"
    return f"{market.exchange} {market.symbol}, {kind}, compared as {market.base} in {market.quote_currency}"


def _repair(home: Path, options: SetsOptions, echo: Echo) -> int:
    (name,) = options.names
    changes = SetChanges(
        alike=tuple(alike_of_text(text) for text in options.alike),
        unlike=options.unlike,
        settlement_currency=options.settlement_currency,
        files=options.files,
        markets=tuple(_market_key(text) for text in options.markets),
    )
    done = repair_set(_own_folder(home, name), changes, lambda *_: None)
    for line in done.done:
        echo(line)
    if changes == SetChanges() and not done.done:
        echo("complete and readable; nothing to repair")
    for line in done.manifest.assumptions:
        echo(f"assumed: {line}")
    for line in problems_of(done.manifest):
        echo(f"cannot be backtested yet: {line}")
    echo(f"{name}: {_summary(done.manifest, _size(_own_folder(home, name)))}")
    return 0


def _remove(home: Path, options: SetsOptions, echo: Echo, ask: Callable[[str], str]) -> int:
    folders = {name: _own_folder(home, name) for name in options.names}
    for name, folder in folders.items():
        if not folder.exists() and not folder.is_symlink() and leftovers_of(folder) is None:
            raise CannotStartError(f"{name} is not a tick set; `arbitrage sets list` shows all.")
    sizes = ", ".join(f"{name} ({_size(folder) / MEGABYTE:,.1f} MB)" for name, folder in folders.items())
    if not options.is_sure:
        if not sys.stdin.isatty() and ask is input:
            raise CannotStartError(f"{sizes}: would be deleted permanently; without a terminal, confirm with --yes.")
        if ask(f"delete {sizes} permanently? [y/N] ").strip().lower() not in ("y", "yes"):
            echo("nothing deleted")
            return 1
    for name, folder in folders.items():
        remove(folder)
        echo(f"deleted: {name}")
    return 0


def _market_key(text: str) -> tuple[str, str]:
    exchange, _, symbol = text.strip().partition(" ")
    if not symbol.strip():
        raise CannotStartError(f"--drop-market {text!r} is not of the form 'EXCHANGE SYMBOL', as in 'kraken BTC/USD'.")
    return exchange, symbol.strip()


def _folders(home: Path) -> dict[str, Path]:
    """Return tick sets of the data folder by name, incomplete ones too, and the logs of recorded sessions by id."""
    below = home / SETS
    found = dict(recorded_logs(home))
    for path in below.iterdir() if below.is_dir() else ():
        name = path.name
        if name.startswith("."):
            name = name.removeprefix(".").removesuffix(".old").removesuffix(".building")
            is_left = path.is_dir() and path.suffix in (".old", ".building")
            if is_left and not (below / name).exists():
                found[name] = below / name
        elif path.is_dir():
            found[name] = path
    return found


def _folder(home: Path, name: str) -> Path:
    """Return the set's folder. Raises CannotStartError."""
    found = _folders(home)
    if name not in found:
        known = ", ".join(sorted(found)) or "none yet; create one with `arbitrage import`"
        raise CannotStartError(f"{name} is not a tick set; the data folder has {known}.")
    return found[name]


def _own_folder(home: Path, name: str) -> Path:
    """Return the folder of an imported set. Raises CannotStartError."""
    folder = _folder(home, name)
    if folder.parent != home / SETS:
        raise CannotStartError(f"{name}: is a recorded session and read-only; it is in {folder.parents[1]}.")
    return folder


def _span(manifest: Manifest) -> str:
    start, end = (datetime.fromtimestamp(time / MICROSECONDS, UTC) for time in (manifest.start_time, manifest.end_time))
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def _size(folder: Path) -> int:
    """Return bytes."""
    return sum(path.stat().st_size for path in folder.resolve().rglob("*") if path.is_file())
