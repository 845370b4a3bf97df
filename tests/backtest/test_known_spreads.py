"""Imported tick sets against figures that were found in the raw files without any of this project's code."""

import gzip
import json
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from backtest.detect.batch_detection import in_force, layout_of_set
from backtest.detect.detection_pieces import pieces_of
from backtest.detect.detection_task import DetectionTask
from market.decide.settings import Settings
from market.instruments.assets import Assumption
from tests.backtest.recorded import BINANCE_FILES, LEAN_FILES, recordings_or_skip
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.file_import import ImportRequest, import_files
from tick_sets.sets.tick_set import TickSet, batches, open_tick_set

TWO_SECONDS = 2_000_000
BAR = 60_000_000
FX_OFFSET = 5 * 3_600_000_000
MAX_AGE = 120_000_000
AT = "received_time"
PERPETUAL = Assumption("BTC contract", "BTC", "a BTC perpetual counts as BTC")


def imported(folder: Path, name: str, *files: tuple[Path, str, str], currency: str | None = None) -> TickSet:
    """Import `files`: path, exchange, symbol."""
    for path, exchange, symbol in files:
        request = ImportRequest(
            FORMATS[name],
            (path,),
            FileOptions(exchange, symbol),
            MarketWords(alike=(PERPETUAL,) if ":" in symbol else ()),
            currency,
        )
        import_files(folder, request, lambda *_: None)
    return open_tick_set(folder)


def quotes_of(tick_set: TickSet, exchange: str, symbol: str) -> pl.DataFrame:
    """Return what the set holds of one market, in the order of its log."""
    columns = ["offset", "kind", "exchange", "symbol", AT, "bid_price", "ask_price"]
    frames = [pl.from_arrow(table) for table in batches(tick_set, "BTC", columns)]
    whole = pl.concat([frame for frame in frames if isinstance(frame, pl.DataFrame)])
    is_mine = (pl.col("exchange").cast(pl.String) == exchange) & (pl.col("symbol").cast(pl.String) == symbol)
    mine = whole.filter(is_mine & pl.col("kind").cast(pl.String).is_in(["quote", "fx"]))
    return mine.select("offset", AT, bid="bid_price", ask="ask_price")


def wider_bps(bid: pl.Expr, ask: pl.Expr, other_bid: pl.Expr, other_ask: pl.Expr) -> pl.Expr:
    """Return the larger of both directions, against what is paid for buying."""
    return pl.max_horizontal((other_bid - ask) * 10_000 / ask, (bid - other_ask) * 10_000 / other_ask)


@dataclass(frozen=True, slots=True)
class Distribution:
    """Distribution of bps: how many there are, per cent of them above each bound, the largest."""

    count: int
    above: dict[int, float]
    largest: float


def distribution(bps: pl.Series, *bounds: int) -> Distribution:
    above = {bound: round(100 * int((bps > bound).sum()) / len(bps), 2) for bound in bounds}
    return Distribution(len(bps), above, round(float(str(bps.max())), 2))


BINANCE_SPREADS = Distribution(27_762, {0: 99.93, 5: 4.82, 10: 0.01, 30: 0.0}, 11.04)


def joined_bps(spot: pl.DataFrame, usdm: pl.DataFrame, within: int) -> pl.Series:
    """Compare each quote of the spot market with the newest one of USD-M that is not older than `within`."""
    joined = spot.join_asof(usdm, on=AT, strategy="backward", tolerance=within, suffix="_usdm")
    both = joined.drop_nulls("bid_usdm")
    columns = (pl.col(name) for name in ("bid", "ask", "bid_usdm", "ask_usdm"))
    return both.select(bps=wider_bps(*columns))["bps"]


def raw_tickers(path: Path) -> pl.DataFrame:
    """Read with nothing but gzip and json; local nanoseconds."""
    rows = []
    with gzip.open(path) as file:
        for line in file:
            stamp, _, text = line.partition(b" ")
            if b'@bookTicker"' in text:
                data = json.loads(text)["data"]
                rows.append((int(stamp), float(data["b"]), float(data["a"])))
    return pl.DataFrame(rows, schema=[AT, "bid", "ask"], orient="row")


@pytest.mark.slow
def test_binance_spot_against_usd_m(tmp_path: Path) -> None:
    spot, usdm, _ = recordings_or_skip(BINANCE_FILES)
    tick_set = imported(
        tmp_path / "binance",
        "hftbacktest",
        (spot, "binance", "BTC/USDT"),
        (usdm, "binanceusdm", "BTC/USDT:USDT"),
        currency="USDT",
    )
    assert (tick_set.manifest.quotes, tick_set.manifest.rejected) == (28_040 + 66_089, {})
    in_set = quotes_of(tick_set, "binance", "BTC/USDT"), quotes_of(tick_set, "binanceusdm", "BTC/USDT:USDT")
    bps = joined_bps(*in_set, TWO_SECONDS)
    assert distribution(bps, 0, 5, 10, 30) == BINANCE_SPREADS
    # a set's times are microseconds: two of the quotes match one that came in the same microsecond, but after them
    exact = joined_bps(raw_tickers(spot), raw_tickers(usdm), TWO_SECONDS * 1_000)
    assert distribution(exact, 0, 5, 10, 30) == BINANCE_SPREADS
    assert (exact != bps).arg_true().to_list() == [11_945, 24_946]


LEAN_SPREADS = Distribution(1_438, {0: 97.57, 10: 80.04, 30: 29.55, 100: 0.14}, 124.95)
LEAN_MIDDLE = (1.34, 22.33, 47.86)
"""From the same bars: the bps below which 5 %, half and 95 % of them are."""


RATE_ALONE = ["04 16:24", "05 00:00", "05 00:01"]


def raw_bars(path: Path, offset: int = 0) -> pl.DataFrame:
    """Return closing bid and ask at the end of their minute, microseconds UTC; read with nothing but zipfile and
    polars."""
    midnight = int(datetime.strptime(path.name[:8] + "+0000", "%Y%m%d%z").timestamp()) * 1_000_000
    with zipfile.ZipFile(path) as archive:
        content = archive.read(archive.namelist()[0])
    names = ["time", *(f"bid_{part}" for part in "ohlcs"), *(f"ask_{part}" for part in "ohlcs")]
    bars = pl.read_csv(content, has_header=False, new_columns=names)
    prices = {"bid": pl.col("bid_c").cast(pl.Float64), "ask": pl.col("ask_c").cast(pl.Float64)}
    return bars.select((pl.col("time") * 1_000 + (midnight + offset + BAR)).alias(AT), **prices)


def dollars_against_euros(usd: pl.DataFrame, eur: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """Return at each minute that has a bar of either: the newest of all three within two minutes, euros as dollars."""
    times = pl.concat([usd.select(AT), eur.select(AT)]).unique().sort(AT)
    for frame, suffix in ((usd, ""), (eur, "_eur"), (rates, "_rate")):
        named = frame.select(AT, pl.col("bid").alias(f"bid{suffix}"), pl.col("ask").alias(f"ask{suffix}"))
        times = times.join_asof(named, on=AT, strategy="backward", tolerance=MAX_AGE)
    known = times.drop_nulls()
    bid, ask = pl.col("bid_eur") * pl.col("bid_rate"), pl.col("ask_eur") * pl.col("ask_rate")
    return known.select(AT, bps=wider_bps(pl.col("bid"), pl.col("ask"), bid, ask))


def lean_set(folder: Path) -> TickSet:
    usd, eur, *rates = recordings_or_skip(LEAN_FILES)
    return imported(
        folder,
        "lean-quotes",
        (usd, "coinbase", "BTC/USD"),
        (eur, "coinbase-eur", "BTC/EUR"),
        *((rate, "fxcm", "EUR/USD") for rate in rates),
    )


def test_lean_minutes_with_the_real_rate(tmp_path: Path) -> None:
    usd, eur, *rates = recordings_or_skip(LEAN_FILES)
    fx = pl.concat([raw_bars(rate, FX_OFFSET) for rate in rates])
    expected = dollars_against_euros(raw_bars(usd), raw_bars(eur), fx)
    assert distribution(expected["bps"], 0, 10, 30, 100) == LEAN_SPREADS
    assert (
        tuple(round(float(str(expected["bps"].quantile(share, "linear"))), 2) for share in (0.05, 0.5, 0.95))
        == LEAN_MIDDLE
    )

    tick_set = lean_set(tmp_path / "lean")
    assert tick_set.manifest.rejected == {}
    in_set = [quotes_of(tick_set, *market) for market in (("coinbase", "BTC/USD"), ("coinbase-eur", "BTC/EUR"))]
    in_set.append(quotes_of(tick_set, "fxcm", "EUR/USD"))
    assert dollars_against_euros(*in_set).equals(expected)
    found = detected_bps(tick_set)
    both = expected.join(found, on=AT, how="left", suffix="_found")
    assert both["bps"].to_list() == both["bps_found"].to_list()
    # a new rate alone is evaluated as well: in the minute that has no bar, and in the two after the last bars
    alone = found.join(expected, on=AT, how="anti")[AT].to_list()
    assert [datetime.fromtimestamp(time / 1_000_000, UTC).strftime("%d %H:%M") for time in alone] == RATE_ALONE


def detected_bps(tick_set: TickSet) -> pl.DataFrame:
    """Return per minute the larger gross of both directions once all bars of the minute are known. It uses a task of
    the batch job, which another test shows to give what live detection gives."""
    fees = dict.fromkeys(("coinbase", "coinbase-eur"), Decimal(0))
    settings = Settings(
        enabled_exchanges=tuple(fees),
        taker_fees=fees,
        emit_net_bps=-1_000,
        min_net_bps=-1_000,
        max_quote_age_ms=MAX_AGE // 1_000,
    )
    task = DetectionTask(tuple(pieces_of(tick_set, 1)), layout_of_set(tick_set), in_force(settings))
    batches_of_hits = task.hits([pa.RecordBatch.from_pydict({"id": pa.array([0], pa.int64())})])
    columns = ["offset", AT, "gross_bps"]
    reported = [batch.select(columns).to_pydict() for batch in batches_of_hits]
    hits = pl.concat([pl.DataFrame(columns_of) for columns_of in reported])
    last = hits.filter(pl.col("offset") == pl.col("offset").max().over(AT))
    return last.group_by(AT).agg(bps=pl.col("gross_bps").max()).sort(AT)
