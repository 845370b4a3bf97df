"""Cycles over whole tick sets: the kernel and a plain loop find the same, to the last bit and in one order."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from backtest.detect.cycle_search import cycle_sightings
from backtest.detect.merged_rows import merged_rows
from market.instruments.cycles import Cycle, CycleTerms, watched_cycles
from tests.backtest.cycle_sets import (
    BEGIN,
    MARKETS,
    SECOND,
    SETTINGS,
    Row,
    Seen,
    cycle_set,
    plainly_seen,
    random_rows,
    row_of,
)

EVERYWHERE = CycleTerms(5, frozenset({"alpha", "beta"}), frozenset({"alpha", "beta"}))
CYCLES = watched_cycles(MARKETS, EVERYWHERE, "USD", SETTINGS.taker_fees).cycles
DAY = 86_400 * SECOND


def found(folder: Path, rows: Sequence[Row], cycles: Sequence[Cycle] = CYCLES, part_rows: int = 131_072) -> list[Seen]:
    tick_set = cycle_set(folder, rows, part_rows=part_rows)
    return [
        Seen(one.sighting_id, one.time, one.cycle.cycle_id, one.net_bps)
        for one in cycle_sightings(tick_set, cycles, SETTINGS)
    ]


def in_log_order(rows: Sequence[Row]) -> list[Row]:
    """Return the rows as the builder numbers them: by time, FX first."""
    return sorted(rows, key=lambda row: (int(str(row["received_time"])), int(str(row["rank"]))))


def merged_order(rows: Sequence[Row]) -> list[Row]:
    """Return them as all bases together are read: at one time those of the first base and FX, then the others."""
    bases = ["BTC", "ETH"]
    return sorted(rows, key=lambda row: (int(str(row["received_time"])), bases.index(str(row["base"] or "BTC"))))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("step", [20 * SECOND, DAY // 6])
def test_a_plain_loop_finds_the_same(tmp_path: Path, seed: int, step: int) -> None:
    rows = in_log_order(random_rows(seed, 400, step))
    numbered = [{**row, "sequence": number} for number, row in enumerate(rows, 1)]
    expected = list(plainly_seen(merged_order(numbered), CYCLES, SETTINGS))
    seen = found(tmp_path / "set", rows)
    assert seen == expected
    assert len({one.sighting_id for one in expected}) == len(expected) > 0
    parted = found(tmp_path / "parted", rows, part_rows=1)
    assert parted == seen


def test_cycles_only_of_the_market_that_is_quoted_best_first(tmp_path: Path) -> None:
    rows = [
        row_of("BTC/USD", BEGIN, "40000", "40001"),
        row_of("ETH/USD", BEGIN + 1, "2020", "2021"),
        row_of("BTC/EUR", BEGIN + 2, "36500", "36501"),
        row_of("EUR/USD", BEGIN + 3, "1.12", "1.1201"),
        row_of("ETH/BTC", BEGIN + 4, "0.0499", "0.05"),
    ]
    seen = found(tmp_path / "set", rows)
    assert seen == list(plainly_seen(rows, CYCLES, SETTINGS))
    at_fx = [one.cycle_id for one in seen if one.time == BEGIN + 3]
    assert at_fx == ["alpha:BTC/USD:buy>beta:BTC/EUR:sell>alpha:EUR/USD:sell"]
    at_cross = [one for one in seen if one.time == BEGIN + 4]
    assert len(at_cross) > 1
    assert all("ETH/BTC" in one.cycle_id for one in at_cross)
    assert [one.net_bps for one in at_cross] == sorted((one.net_bps for one in at_cross), reverse=True)


def test_a_quote_that_is_old_or_withdrawn_closes_its_cycles(tmp_path: Path) -> None:
    pays = [
        row_of("BTC/USD", BEGIN, "40000", "40001"),
        row_of("ETH/BTC", BEGIN, "0.0499", "0.05"),
        row_of("ETH/USD", BEGIN, "2020", "2021"),
    ]
    again = row_of("ETH/USD", BEGIN + 2 * SECOND, "2021", "2022")
    gone = row_of("BTC/USD", BEGIN + SECOND, "", "", kind="withdrawn")
    assert len(found(tmp_path / "open", [*pays, again])) == 2
    assert len(found(tmp_path / "gone", [*pays, gone, again])) == 1
    late = row_of("ETH/USD", BEGIN + SETTINGS.max_quote_age_ms * 1_000 + 1, "2021", "2022")
    assert len(found(tmp_path / "late", [*pays, late])) == 1
    alive = [row_of(symbol, BEGIN + SECOND, "", "", kind="alive") for symbol in ("BTC/USD", "ETH/BTC")]
    assert len(found(tmp_path / "alive", [*pays, *alive, late])) == 2


def test_rows_of_all_bases_come_in_one_order_whatever_their_files(tmp_path: Path) -> None:
    rows = in_log_order(random_rows(9, 300, DAY // 5))
    read = []
    for name, part_rows in (("one", 131_072), ("many", 1)):
        tables = list(merged_rows(cycle_set(tmp_path / name, rows, part_rows=part_rows), ["symbol"]))
        read.append(
            [
                row
                for table in tables
                for row in zip(*(table[name].to_pylist() for name in ("received_time", "symbol", "kind")), strict=True)
            ]
        )
    assert read[0] == read[1]
    assert read[0] == [(row["received_time"], row["symbol"], row["kind"]) for row in merged_order(rows)]


def test_nothing_is_found_on_an_exchange_that_is_off(tmp_path: Path) -> None:
    rows = random_rows(1, 200)
    off = SETTINGS.model_copy(update={"enabled_exchanges": ("alpha",)})
    tick_set = cycle_set(tmp_path / "set", rows)
    assert {exchange for one in cycle_sightings(tick_set, CYCLES, off) for exchange in one.cycle.exchanges} == {"alpha"}
