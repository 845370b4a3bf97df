"""Recorded files of a profile become a tick set, once; its quality and the parameters that follow from it."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from backtest.parameters import Latency
from backtest.profile_recordings import load_recording
from backtest.profile_sets import set_of_files
from backtest.provenance import checksum_of, versions_of
from backtest.replay_profiles import BINANCE_BTC, profile_of
from backtest.requested_backtest import RequestedBacktest, added_latency, parameters_for
from backtest.result.data_quality import markets_without_depth, quality_of
from tests.backtest.detected_sets import Cut, cut_set
from tests.backtest.made_up_set import BEGIN, GAP, ROWS, STEP, made_up_files, session_set
from tests.backtest.recorded import write_tickers
from tests.market.samples import EUR_MARKET, USD_MARKET
from tick_sets.errors import ImportRejectedError
from tick_sets.sets.schema import ROW_GROUP_ROWS, TICK_SCHEMA
from tick_sets.sets.tick_set import TickSet, batches


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return made_up_files(tmp_path)


@pytest.fixture
def tick_set(tmp_path: Path, files: tuple[Path, Path]) -> TickSet:
    return set_of_files(tmp_path / "home", files)


def test_the_set_has_the_rows_of_a_replay_in_their_order(tick_set: TickSet, files: tuple[Path, Path]) -> None:
    rows = [row for table in batches(tick_set, "BTC") for row in table.to_pylist()]
    replayed = load_recording(BINANCE_BTC, files)
    assert [(row["exchange"], row["received_time"], row["sequence"], Decimal(row["bid"])) for row in rows] == [
        (quote.exchange, quote.received_time, quote.sequence, quote.bid) for quote in replayed.quotes
    ]
    assert [row["offset"] for row in rows] == list(range(len(rows)))
    manifest = tick_set.manifest
    assert (manifest.quotes, manifest.rejected, manifest.title) == (2 * ROWS, {"crossed": 1}, BINANCE_BTC.title)
    assert any("USDT = USD" in words for words in manifest.assumptions)


def test_the_same_files_are_read_once_and_changed_ones_again(tick_set: TickSet, tmp_path: Path) -> None:
    written = (tick_set.folder / "manifest.json").stat().st_mtime_ns
    other = write_tickers(tmp_path / "other" / "spot" / "made-up.gz", "BTCUSDT", (BEGIN, "60000", "60010"))
    assert set_of_files(tmp_path / "home", (tmp_path / "usdm" / "made-up.gz", other)).folder != tick_set.folder
    same = set_of_files(tmp_path / "home", (tmp_path / "usdm" / "made-up.gz", tmp_path / "spot" / "made-up.gz"))
    assert same.folder == tick_set.folder
    assert (same.folder / "manifest.json").stat().st_mtime_ns == written


def test_quality_counts_rows_and_holes(tick_set: TickSet) -> None:
    spot, usdm = quality_of(tick_set, 2_000_000)
    assert (spot.exchange, spot.quotes, spot.holes, spot.withdrawals) == ("binance", ROWS, 1, 0)
    assert (spot.first_time, usdm.first_time) == (BEGIN, BEGIN + 1_000)
    before = BEGIN + (GAP - 1) * STEP
    assert (spot.silences[0].start, spot.silences[0].end) == (before, before + STEP + 10_000_000)
    assert [one.seconds for one in usdm.silences] == [10.1, 0.1, 0.1]
    assert quality_of(tick_set, 20_000_000)[0].holes == 0


def test_best_levels_alone_are_reported(tick_set: TickSet) -> None:
    assert markets_without_depth(tick_set) == ("binance BTC/USDT", "binanceusdm BTC/USDT:USDT")


def test_a_set_brings_its_profiles_settings_and_balances(tick_set: TickSet) -> None:
    assert profile_of(tick_set.manifest) is BINANCE_BTC
    parameters = parameters_for(tick_set, RequestedBacktest())
    given = ("binance", "binanceusdm")
    assert parameters.settings.enabled_exchanges == given
    assert parameters.settings.model_dump(exclude={"enabled_exchanges", "taker_fees"}) == (
        BINANCE_BTC.settings.model_dump(exclude={"enabled_exchanges", "taker_fees"})
    )
    assert parameters.balances == {exchange: BINANCE_BTC.paper_balances[exchange] for exchange in given}
    assert parameters.latency["binance"] == Latency()


def test_a_recorded_session_begins_with_the_settings_of_its_log(tmp_path: Path) -> None:
    usual = parameters_for(session_set(tmp_path / "usual", ()), RequestedBacktest()).settings
    logged = usual.model_copy(update={"min_net_bps": 9.5, "max_quote_age_ms": 700, "opportunity_lifetime_ms": 300})
    tick_set = session_set(tmp_path / "logged", (logged, usual))
    assert parameters_for(tick_set, RequestedBacktest(follow_logged_settings=True)).settings == logged
    assert parameters_for(tick_set, RequestedBacktest(values={"min_net_bps": "3"})).settings.min_net_bps == 3


@pytest.mark.parametrize(
    ("requested", "named"),
    [({"values": {"min_net_bps": "3"}}, "min_net_bps"), ({"fee_bps": Decimal(1)}, "the fees")],
    ids=["a threshold", "fees"],
)
def test_what_the_followed_log_says_cannot_be_given_too(tmp_path: Path, requested: dict[str, Any], named: str) -> None:
    logged = parameters_for(session_set(tmp_path / "usual", ()), RequestedBacktest()).settings
    tick_set = session_set(tmp_path / "logged", (logged,))
    assert parameters_for(tick_set, RequestedBacktest(values={"max_notional": "7"}, follow_logged_settings=True))
    with pytest.raises(ImportRejectedError, match=f"{named} cannot be given if the settings of the log"):
        parameters_for(tick_set, RequestedBacktest(**requested, follow_logged_settings=True))


@pytest.mark.parametrize("row_group_rows", [1, 3, ROW_GROUP_ROWS])
def test_without_a_profile_all_hold_about_a_million_of_each(tmp_path: Path, row_group_rows: int) -> None:
    """At the first bid that each market ever had, whichever row group it stands in."""
    (rows,) = batches(session_set(tmp_path / "usual", ()), "BTC")
    first, then = rows.to_pylist()
    log = [
        {**first, "bid": None},
        {**then, "bid": ""},
        first,
        {**first, "bid": "1"},
        {**then, "bid": None},
        then,
        {**then, "bid": "2"},
        {**first, "bid": "3"},
    ]
    numbered = [{**row, "offset": place} for place, row in enumerate(log)]
    table = pa.Table.from_pylist(numbered, schema=TICK_SCHEMA)
    tick_set = cut_set(tmp_path / "cut", Cut(1, row_group_rows), {"BTC": table}, (USD_MARKET, EUR_MARKET), "USD")
    balances = parameters_for(tick_set, RequestedBacktest()).balances
    assert balances == {
        "alpha": {"USD": Decimal(1_000_000), "BTC": Decimal("16.666666")},
        "beta": {"EUR": Decimal(925_000), "BTC": Decimal("15.416666")},
    }


def test_a_request_changes_settings_fees_and_latency(tick_set: TickSet) -> None:
    requested = RequestedBacktest(
        values={"min_net_bps": "7.5", "enabled_exchanges": "binance,binanceusdm"},
        fee_bps=Decimal("2.5"),
        latency_ms={"binance": 10},
        latency_samples={"*": (20.0, 40.0)},
        seed=9,
    )
    parameters = parameters_for(tick_set, requested)
    assert parameters.settings.min_net_bps == 7.5
    assert parameters.settings.enabled_exchanges == ("binance", "binanceusdm")
    assert set(parameters.settings.taker_fees.values()) == {Decimal("0.00025")}
    assert parameters.latency["binance"] == Latency(constant_ms=10)
    assert parameters.latency["binanceusdm"].samples_ms == (20.0, 40.0)
    later = added_latency(parameters, 5).latency
    assert (later["binance"].constant_ms, later["binanceusdm"].samples_ms) == (15, (25.0, 45.0))


@pytest.mark.parametrize(
    ("requested", "sentence"),
    [
        (RequestedBacktest(values={"speed": "1"}), "'speed' is not a setting that a backtest can change"),
        (RequestedBacktest(values={"version": "2"}), "'version' is not a setting"),
        (RequestedBacktest(values={"min_net_bps": "high"}), "min_net_bps: must be a number"),
        (RequestedBacktest(values={"min_net_bps": "-5"}), "min_net_bps must not be below emit_net_bps"),
        (RequestedBacktest(values={"enabled_exchanges": "kraken"}), "kraken, which has no taker fee"),
        (RequestedBacktest(follow_logged_settings=True), "has only ticks, no settings to follow"),
        (RequestedBacktest(latency_ms={"kraken": 1}), "latency of 'kraken': the tick set has binance"),
        (RequestedBacktest(latency_ms={"*": -1}), "-1 ms is outside 0 to 60,000"),
        (RequestedBacktest(latency_samples={"*": (1.0, float("nan"))}), "nan ms is outside"),
    ],
)
def test_what_cannot_be_is_one_sentence(tick_set: TickSet, requested: RequestedBacktest, sentence: str) -> None:
    with pytest.raises(ImportRejectedError, match=sentence.replace("(", r"\(")) as rejected:
        parameters_for(tick_set, requested)
    assert "\n" not in str(rejected.value)


def test_other_data_have_another_checksum(tick_set: TickSet) -> None:
    before = checksum_of(tick_set)
    assert versions_of(tick_set)["tick_set_sha256"] == before == checksum_of(tick_set)
    path = tick_set.path(tick_set.manifest.partitions[0])
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    assert checksum_of(tick_set) != before
