"""Recorded market data: files imported into a tick set, and a tick set's markets and quotes."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from arbitrage.failures import one_sentence
from arbitrage.tables import TIME, Rows
from launch.commands.import_sets import ImportOptions, imported_set
from launch.sessions.tick_set_names import named_set
from launch.setup.data_dir import home_folder
from market.instruments.markets import Market
from market.money import decimal_of
from runtime.errors import RefusedError
from tick_sets.rows.import_format import FileOptions
from tick_sets.sets.tick_set import TickSet, batches

QUOTED = ["kind", "exchange", "symbol", "received_time", "bid_price", "bid_amount", "ask_price", "ask_amount"]


@dataclass(frozen=True, slots=True)
class Ticks:
    """One tick set: quotes of several markets in one order, as a log of a session has them.

    `open_tick_set` and `import_files` return it; `backtest` and `sweep` take it.
    """

    tick_set: TickSet

    def __repr__(self) -> str:
        bases = ", ".join(self.tick_set.manifest.bases)
        return f"Ticks({self.tick_set.manifest.name}: {self.tick_set.manifest.quotes:,} quotes of {bases})"

    @property
    def name(self) -> str:
        """Return its name in the data folder."""
        return self.tick_set.manifest.name

    @property
    def markets(self) -> tuple[Market, ...]:
        """Return its markets, traded ones first."""
        return self.tick_set.manifest.markets

    @property
    def currency(self) -> str:
        """Return the settlement currency, in which backtests count money."""
        return self.tick_set.manifest.settlement_currency

    @property
    def span(self) -> tuple[int, int]:
        """Return first and last time, microseconds UTC."""
        return self.tick_set.manifest.start_time, self.tick_set.manifest.end_time

    def quotes(self, base: str | None = None) -> Rows:
        """Return the quotes of one asset, FX rates among them, in the order of its log.

        `base`: such as "BTC"; may be left out if the set has one asset. Columns: `time`, `kind` (quote or fx),
        `exchange`, `symbol`, `bid`, `bid_amount`, `ask`, `ask_amount`; prices in the market's quote currency, amounts
        in the base. All rows are read into memory, about 100 bytes each. Raises RefusedError for an unknown asset.

        Example: `ticks.quotes("BTC").to_pandas().pivot_table(index="time", columns="exchange", values="bid")`.
        """
        bases = self.tick_set.manifest.bases
        wanted = bases[0] if base is None and len(bases) == 1 else base
        if wanted not in bases:
            raise RefusedError(f"{self.name}: has {', '.join(bases)}, so name one of them, not {base!r}.")
        with one_sentence():
            parts = [_quotes(table) for table in batches(self.tick_set, str(wanted), QUOTED)]
        return Rows(pa.concat_tables(parts))


def open_tick_set(name: str | Path, *, home: Path | None = None) -> Ticks:
    """Return a tick set by its name in the data folder or its folder, or a recorded session by its id or folder.

    `home`: the data folder; default `ARBITRAGE_HOME`, else `.data` here. Raises RefusedError if there is none.

    Example: `open_tick_set("spring").quotes("BTC")`.
    """
    with one_sentence():
        return Ticks(named_set(home or home_folder(), (str(name),)))


def import_files(
    name: str,
    format: str,
    files: Sequence[str | Path],
    *,
    exchange: str | None = None,
    symbol: str | None = None,
    half_spread_bps: Decimal | float | str | None = None,
    alike: Sequence[str] = (),
    home: Path | None = None,
) -> Ticks:
    """Import third-party files into the tick set `name`, completely or not at all; files of one format a call.

    `format`: of `arbitrage import --list`, as "tardis-quotes". `files`: files, folders or patterns. `exchange`,
    `symbol`: for formats that name none, as "kraken" and "BTC/USD". `half_spread_bps`: for prints and bars, the
    distance of bid and ask from each price. `alike`: assets that count the same, as "USDT=USD". Called again with the
    same name it adds to the set. Raises RefusedError in one sentence that names the file, and the line if there is one.

    Example: `import_files("spring", "tardis-quotes", ["kraken.csv.gz", "bitstamp.csv.gz"])`.
    """
    folder = home or home_folder()
    with one_sentence():
        options = ImportOptions(
            format=format,
            files=tuple(Path(one) for one in files),
            file_options=FileOptions(exchange, symbol, _decimal(half_spread_bps)),
            region=None,
            is_fx=False,
            alike=tuple(alike),
            name=name,
            settlement_currency=None,
        )
        imported_set(folder, options, _nothing)
        return Ticks(named_set(folder, (name,)))


def _decimal(number: Decimal | float | str | None) -> Decimal | None:
    try:
        return None if number is None else decimal_of(str(number))
    except ValueError as error:
        raise RefusedError(f"half_spread_bps: {error}.") from None


def _quotes(table: pa.Table) -> pa.Table:
    kinds: Any = table["kind"].cast(pa.string())
    is_quote: Any = pc.is_in(kinds, pa.array(["quote", "fx"]))
    kept = table.filter(is_quote)
    columns: dict[str, Any] = {
        "time": kept["received_time"].cast(TIME),
        "kind": kept["kind"].cast(pa.string()),
        "exchange": kept["exchange"].cast(pa.string()),
        "symbol": kept["symbol"].cast(pa.string()),
        "bid": kept["bid_price"],
        "bid_amount": _double(kept["bid_amount"]),
        "ask": kept["ask_price"],
        "ask_amount": _double(kept["ask_amount"]),
    }
    return pa.table(columns)


def _double(texts: "pa.ChunkedArray[Any]") -> "pa.ChunkedArray[Any]":
    """Return the numbers; null for an amount that is not known."""
    known: Any = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)  # type: ignore[call-overload]
    numbers: Any = pc.cast(known, pa.float64())
    return numbers  # type: ignore[no-any-return]


def _nothing(_: str) -> None:
    """Print nothing: the caller asks for what it wants to see."""
