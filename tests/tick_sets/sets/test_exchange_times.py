"""How old quotes are when they arrive, and what the age of each row counts from."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from tests.pricefeeds.samples import MARKET
from tests.tick_sets.sets.samples import DAY, TickRow, manifest, source_table
from tests.tick_sets.sets.samples import START as SAMPLES_START
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.sets.builder import TickSetBuilder
from tick_sets.sets.exchange_times import FeedDelay, feed_delays, seen_times, trusted_markets
from tick_sets.sets.file_import import ImportRequest, import_files
from tick_sets.sets.tick_set import TickSet, open_tick_set

START = 1_725_000_000_000_000
SECOND = 1_000_000
HEADER = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n"
KRAKEN, BITSTAMP = ("kraken", "SOL/USD"), ("bitstamp", "SOL/USD")


def set_with(folder: Path, delays: dict[str, list[int]]) -> TickSet:
    """Return a set with a quote each second on each exchange, so many microseconds after the exchange made it."""
    files = []
    for exchange, every in delays.items():
        path = folder / f"{exchange}.csv"
        arrivals = [START + number * SECOND for number in range(len(every))]
        rows = (f"{exchange},SOLUSD,{at - late},{at},1,101,100,1\n" for at, late in zip(arrivals, every, strict=True))
        path.write_text(HEADER + "".join(rows))
        files.append(path)
    import_files(folder / "set", ImportRequest(FORMATS["tardis-quotes"], tuple(files)), lambda *_: None)
    return open_tick_set(folder / "set")


@pytest.mark.parametrize(
    ("delays", "trust", "median"),
    [
        ([1_000, 2_000, 3_000], "used", 2_000),
        ([30 * SECOND] * 3, "used", 30 * SECOND),
        # one is ahead, which says nothing against the others
        ([1_000, -240 * SECOND, 3_000], "used", 1_000),
        ([-240 * SECOND] * 3, "ahead", -240 * SECOND),
        ([-1_270_000, -1_269_000, 5], "ahead", -1_269_000),
        ([0, 0, 0], "same", 0),
    ],
)
def test_an_exchanges_time_is_used_where_it_is_before_the_arrival(
    tmp_path: Path, delays: list[int], trust: str, median: int
) -> None:
    found = feed_delays(set_with(tmp_path, {"bitstamp": [7] * 3, "kraken": delays}))
    assert [(one.exchange, one.trust, one.median) for one in found] == [
        ("bitstamp", "used", 7),
        ("kraken", trust, median),
    ]
    assert found[1].samples == tuple(sorted(delays))
    assert trusted_markets(found) == ({BITSTAMP, KRAKEN} if trust == "used" else {BITSTAMP})


@pytest.mark.parametrize(
    ("unit", "early", "trust"),
    [
        (SECOND, 100_000, "used"),
        (SECOND, 999_999, "used"),
        (SECOND, SECOND, "ahead"),
        (1_000, 999, "used"),
        (1_000, 1_000, "ahead"),
        (1, 1, "ahead"),
    ],
)
def test_a_rounded_time_may_lie_ahead_by_less_than_its_unit(tmp_path: Path, unit: int, early: int, trust: str) -> None:
    """Before, whole seconds, rounded to the nearest, were taken for a clock that differs by 0.1 s."""
    path, made = tmp_path / "kraken.csv", [START + 7 * SECOND + 3 * number * unit for number in range(3)]
    path.write_text(HEADER + "".join(f"kraken,SOLUSD,{at},{at - early},1,101,100,1\n" for at in made))
    import_files(tmp_path / "set", ImportRequest(FORMATS["tardis-quotes"], (path,)), lambda *_: None)
    (found,) = feed_delays(open_tick_set(tmp_path / "set"))
    assert (found.trust, found.median) == (trust, -early)


def built(folder: Path, rows: list[TickRow]) -> TickSet:
    """Return a set with a row group for each day; each row is 30 s late if its exchange gives a time."""
    table = source_table(rows)
    place = table.schema.get_field_index("exchange_time")
    made = [None if row.exchange == "filler" else SAMPLES_START + row.time - 30 * SECOND for row in rows]
    markets = tuple(replace(MARKET, exchange=name) for name in ("filler", "kraken"))
    with TickSetBuilder(folder, ("BTC",), part_rows=1) as builder:
        builder.add(table.set_column(place, table.schema.field(place), pa.array(made, pa.int64())))
        builder.finish(replace(manifest(), markets=markets))
    return open_tick_set(folder)


@pytest.mark.parametrize("days", [1, 4, 7, 20, 33])
def test_a_market_is_measured_wherever_its_rows_stand(tmp_path: Path, days: int) -> None:
    """Before, a file beside it without times moved the samples away, and a book 30 s old was traded as new."""
    filler = [TickRow(day * DAY, exchange="filler") for day in range(days)]
    for day in {0, days // 3, days // 2, days - 1}:
        tick_set = built(tmp_path / f"set{day}", [*filler, TickRow(day * DAY + 1, exchange="kraken", rank=2)])
        assert [(one.exchange, one.trust, one.median) for one in feed_delays(tick_set)] == [
            ("filler", "absent", None),
            ("kraken", "used", 30 * SECOND),
        ]


def test_delays_are_measured_once_for_a_set(tmp_path: Path) -> None:
    tick_set = set_with(tmp_path, {"kraken": [7] * 3})
    assert feed_delays(tick_set) is feed_delays(tick_set)


def test_a_bars_own_time_is_when_it_began_and_says_nothing_about_its_arrival(tmp_path: Path) -> None:
    path, mapping = tmp_path / "a.csv", tmp_path / "a.toml"
    path.write_text("at,close,volume\n1725000000,100,1\n1725000060,101,1\n")
    mapping.write_text(
        'bar_seconds=60\n[time]\ncolumn="at"\nunit="s"\n[exchange_time]\ncolumn="at"\nunit="s"\n'
        '[bar]\nprice="close"\namount="volume"\n'
    )
    options = FileOptions("kraken", "BTC/USD", Decimal(1), mapping)
    import_files(tmp_path / "set", ImportRequest(FORMATS["csv-bars"], (path,), options), lambda *_: None)
    assert feed_delays(open_tick_set(tmp_path / "set")) == ()


def test_a_source_without_exchange_time_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1725000000,100,1\n1725000001,101,1\n")
    mapping = tmp_path / "a.toml"
    mapping.write_text('header=false\n[time]\ncolumn="1"\nunit="s"\n[print]\nprice="2"\namount="3"\n')
    options = FileOptions("kraken", "BTC/USD", Decimal(1), mapping)
    import_files(tmp_path / "set", ImportRequest(FORMATS["csv"], (path,), options), lambda *_: None)
    assert feed_delays(open_tick_set(tmp_path / "set")) == (FeedDelay("kraken", "BTC/USD", "absent"),)


def test_only_quotes_and_rates_of_trusted_markets_are_seen_earlier() -> None:
    rows = [
        ("quote", *KRAKEN, 100, 70, 70),
        # from the future: as old as it is here
        ("quote", *KRAKEN, 110, 350, 110),
        ("quote", *KRAKEN, 120, None, 120),
        ("quote", *BITSTAMP, 130, 70, 130),
        ("alive", *KRAKEN, 140, 70, 140),
        ("withdrawn", *KRAKEN, 150, 70, 150),
        ("fx", "kraken", "EUR/USD", 160, 150, 150),
        ("settings", None, None, 170, None, 170),
    ]
    names = ("kind", "exchange", "symbol", "received_time", "exchange_time")
    table = pa.table({name: [row[place] for row in rows] for place, name in enumerate(names)})
    assert seen_times(table, {KRAKEN, ("kraken", "EUR/USD")}).tolist() == [row[-1] for row in rows]
    assert seen_times(table, ()).tolist() == [row[3] for row in rows]
