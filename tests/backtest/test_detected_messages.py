"""The messages of a tick set by the live functions in Spark, to the byte, and Spark's workers beside this process."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from backtest.detect.batch_session import backtest_session
from backtest.detect.detected_messages import detected
from backtest.detect.spark_workers import SparkWorkers
from cep.detection.latest import with_slot
from cep.detection.market_layout import layout_of
from cep.detection.opportunity_messages import opportunities_of_latest
from cep.detection.spark_schema import tick_rows
from tests.backtest.detected_sets import CUTS, Cut, messages_found
from tests.backtest.test_batch_detection import PIECES, check_found, log_set, renumbered, wanted_of
from tests.cep.detection.running_latest import latest_at_each_row
from tests.cep.detection.test_kernel import under
from tests.cep.logs import LogMaker, session, settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if shutil.which("java") is None:
        pytest.skip("no java on the PATH")
    with backtest_session(tmp_path_factory.mktemp("a data folder"), "local[2]") as started:
        yield started


@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_any_cut_and_any_number_of_pieces_give_what_a_plain_loop_gives(
    spark: SparkSession, tmp_path: Path, cut: Cut
) -> None:
    messages = LogMaker(31).write(1_200)
    tick_set, wanted = log_set(tmp_path / "set", cut, messages), wanted_of(messages)
    assert sum(map(len, wanted.values())) > 300
    for pieces in PIECES:
        assert messages_found(detected(spark, tick_set, None, pieces)) == wanted


def test_sparks_workers_find_what_a_plain_loop_finds(spark: SparkSession, tmp_path: Path) -> None:
    for number, messages in enumerate(
        (LogMaker(31).write(1_200), [renumbered(one) for one in LogMaker(35).write(600)])
    ):
        tick_set = log_set(tmp_path / f"set-{number}", CUTS[2], messages)
        check_found(SparkWorkers(spark), tick_set, None, wanted_of(messages), tmp_path / f"found-{number}")


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
    assert messages_found(detected(spark, tick_set, own, 3)) == wanted_of(under(own, messages))


def test_where_no_levels_are_recorded_the_best_one_is_all_there_is(spark: SparkSession, tmp_path: Path) -> None:
    messages = LogMaker(34).write(300)
    tick_set = log_set(tmp_path / "set", CUTS[1], messages, with_levels=False)
    found = messages_found(detected(spark, tick_set, None))
    wanted = wanted_of(messages)
    for message in (message for base in wanted.values() for message in base):
        for leg in (message["buy"], message["sell"]):
            leg["levels"] = json.dumps([[leg["price"], leg["amount"]]], separators=(",", ":"))
    assert found == wanted
