"""Detection over tick sets: byte for byte what a plain loop and the live functions say, however the set is cut."""

import json
import shutil
import struct
from collections import Counter
from collections.abc import Iterator
from math import floor
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from backtest.detect.batch_detection import DetectionSummary, detected, detection_summary
from backtest.detect.batch_session import backtest_session
from cep.detection.latest import with_slot
from cep.detection.market_layout import layout_of
from cep.detection.opportunity_messages import opportunities_of_latest
from cep.detection.spark_schema import tick_rows
from market.decide.settings import Settings
from market.instruments.assets import Assumption
from tests.backtest.detected_sets import CUTS, Cut, cut_set, messages_found, messages_wanted
from tests.cep.detection.oracle import Row, expected_output
from tests.cep.detection.running_latest import latest_at_each_row
from tests.cep.detection.test_kernel import under
from tests.cep.detection.tick_tables import tick_table
from tests.cep.logs import BASES, MARKETS, LogMaker, session, settings
from tests.tick_sets.test_file_import import imported, quote
from tests.tick_sets.test_file_import import written as written_file
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.tick_set import TickSet, open_tick_set

PIECES = (1, 2, 7)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    with backtest_session(tmp_path_factory.mktemp("a data folder"), "local[2]") as started:
        yield started


def log_set(folder: Path, cut: Cut, messages: list[bytes], with_levels: bool = True) -> TickSet:
    tables = {base: tick_table(messages, base, with_levels) for base in BASES}
    return cut_set(folder, cut, tables, MARKETS, "USD")


def wanted_of(messages: list[bytes]) -> dict[str, list[Row]]:
    return messages_wanted(list(expected_output(messages, session())))


def summary_of(rows: int, wanted: dict[str, list[Row]]) -> DetectionSummary:
    """Count the plain way: the first message of each id."""
    first: dict[str, Row] = {}
    for message in (message for base in sorted(wanted) for message in wanted[base]):
        first.setdefault(message["opportunity_id"], message)
    pairs = Counter((one["buy"]["exchange"], one["sell"]["exchange"]) for one in first.values())
    return DetectionSummary(
        rows=rows,
        messages=sum(map(len, wanted.values())),
        net_bits=sum(_bits(one["net_bps"]) for messages in wanted.values() for one in messages) % 2**64,
        opportunities=len(first),
        by_base={base: sum(one["base"] == base for one in first.values()) for base in BASES},
        by_pair=dict(sorted(pairs.items())),
        net_bps_counts=dict(sorted(Counter(floor(one["net_bps"]) for one in first.values()).items())),
    )


def _bits(number: float) -> int:
    return int.from_bytes(struct.pack(">d", number), "big")


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_any_cut_and_any_number_of_pieces_give_what_a_plain_loop_gives(
    spark: SparkSession, tmp_path: Path, cut: Cut
) -> None:
    messages = LogMaker(31).write(1_200)
    tick_set, wanted = log_set(tmp_path / "set", cut, messages), wanted_of(messages)
    assert sum(map(len, wanted.values())) > 300
    for pieces in PIECES:
        assert messages_found(detected(spark, tick_set, None, pieces)) == wanted
        counted = detection_summary(spark, tick_set, None, pieces)
        assert counted == summary_of(tick_set.manifest.rows, wanted)
        assert counted.opportunities < counted.messages, "settings and FX rows let pairs be looked at again"


def test_its_messages_are_those_of_the_live_functions_to_the_byte(spark: SparkSession, tmp_path: Path) -> None:
    messages = LogMaker(32).write(600)
    layout = layout_of(session())
    live_df = (
        spark.createDataFrame(pa.table({"value": messages, "offset": list(range(len(messages)))}))
        .transform(tick_rows)
        .transform(with_slot, layout)
        .transform(latest_at_each_row, layout)
        .transform(opportunities_of_latest, layout)
    )
    live = [row["value"] for row in live_df.toArrow().to_pylist() if '"kind":"opportunity"' in row["value"]]
    batch = detected(spark, log_set(tmp_path / "set", CUTS[1], messages), None).toArrow()["value"].to_pylist()
    assert len(live) > 100
    assert Counter(batch) == Counter(live)


def test_given_settings_hold_and_those_of_the_log_say_nothing(spark: SparkSession, tmp_path: Path) -> None:
    messages = LogMaker(33).write(500)
    own = settings(7, emit_net_bps=-10.0, max_quote_age_ms=900, opportunity_lifetime_ms=77)
    tick_set = log_set(tmp_path / "set", CUTS[2], messages)
    wanted = wanted_of(under(own, messages))
    assert messages_found(detected(spark, tick_set, own, 3)) == wanted
    assert detection_summary(spark, tick_set, own, 3) == summary_of(tick_set.manifest.rows, wanted)


def test_where_no_levels_are_recorded_the_best_one_is_all_there_is(spark: SparkSession, tmp_path: Path) -> None:
    messages = LogMaker(34).write(300)
    tick_set = log_set(tmp_path / "set", CUTS[1], messages, with_levels=False)
    found = messages_found(detected(spark, tick_set, None))
    wanted = wanted_of(messages)
    for message in (message for base in wanted.values() for message in base):
        for leg in (message["buy"], message["sell"]):
            leg["levels"] = json.dumps([[leg["price"], leg["amount"]]], separators=(",", ":"))
    assert found == wanted


@pytest.mark.parametrize("pieces", PIECES)
def test_ids_are_counted_once_where_sequences_go_back(spark: SparkSession, tmp_path: Path, pieces: int) -> None:
    messages = [renumbered(message) for message in LogMaker(35).write(600)]
    tick_set, wanted = log_set(tmp_path / "set", CUTS[2], messages), wanted_of(messages)
    counted = detection_summary(spark, tick_set, None, pieces)
    assert counted == summary_of(tick_set.manifest.rows, wanted)
    assert counted.opportunities < counted.messages


def renumbered(message: bytes) -> bytes:
    """Return it with sequences from 0 to 6, over and over: ids come again long after others."""
    row = json.loads(message)
    return json.dumps(row | {"sequence": row["sequence"] % 7}).encode() if "sequence" in row else message


def test_a_log_without_settings_gives_nothing_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    messages = under(settings(), LogMaker(36).write(300))[1:]
    tick_set = log_set(tmp_path / "set", CUTS[1], messages)
    assert detected(spark, tick_set, None).count() == 0
    own: Settings = settings(1, emit_net_bps=-30.0)
    assert detection_summary(spark, tick_set, None).messages == 0
    assert detection_summary(spark, tick_set, own).messages > 0


def test_markets_whose_code_is_another_than_their_asset_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    """MATIC/USDT counts as POL: three quotes a market, a millisecond apart."""
    binance = [quote(second * 10**6, "binance", "MATICUSDT", "0.4", "0.40004") for second in range(3)]
    kraken = [quote(second * 10**6 + 1_000, "kraken", "POL/USD", "0.41", "0.410041") for second in range(3)]
    files = written_file(tmp_path, "a.csv", *binance), written_file(tmp_path, "b.csv", *kraken)
    alike = (Assumption("USDT", "USD", ""), Assumption("MATIC", "POL", ""))
    folder = tmp_path / "ticks" / "pol"
    imported(folder, *files, words=MarketWords(alike=alike))
    own = settings(enabled_exchanges=("binance", "kraken"), taker_fees={"binance": "0.001", "kraken": "0.001"})
    (messages,) = messages_found(detected(spark, open_tick_set(folder), own)).values()
    seen = [(one["base"], one["buy"]["exchange"], one["buy"]["symbol"], one["sell"]["exchange"]) for one in messages]
    assert seen == [("POL", "binance", "MATIC/USDT", "kraken")] * 5
    assert [round(one["net_bps"], 2) for one in messages] == [228.73] * 5
