"""Opportunities computed in batch, by the functions of the real-time query, against a plain loop."""

import json

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from cep.detection.latest import latest_by_state, with_slot
from cep.detection.market_layout import layout_of
from cep.detection.opportunity_messages import opportunities_of_latest, with_opening_settings
from cep.detection.spark_schema import tick_rows
from tests.cep.detection.oracle import Row, Spread, as_written, expected_output, written
from tests.cep.detection.running_latest import latest_at_each_row
from tests.cep.logs import LogMaker, session

SESSION = session()
LAYOUT = layout_of(SESSION)


def messages_frame(spark: SparkSession, messages: list[bytes]) -> DataFrame:
    return spark.createDataFrame(pa.table({"value": messages, "offset": list(range(len(messages)))}))


def found(spark: SparkSession, messages: list[bytes], opening_settings: str | None = None) -> list[Row]:
    messages_df = (
        messages_frame(spark, messages)
        .transform(tick_rows)
        .transform(with_slot, LAYOUT)
        .transform(latest_at_each_row, LAYOUT)
        .transform(with_opening_settings, opening_settings)
        .transform(opportunities_of_latest, LAYOUT)
    )
    return [written(row["value"]) for row in messages_df.toArrow().to_pylist()]


def expected(messages: list[bytes]) -> list[Row]:
    return [as_written(item) if isinstance(item, Spread) else item for item in expected_output(messages, SESSION)]


def by_base(rows: list[Row]) -> dict[str, list[Row]]:
    bases: dict[str, list[Row]] = {}
    for row in rows:
        bases.setdefault(row["base"], []).append(row)
    return bases


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 500), *(pytest.param(seed, 1_500, marks=pytest.mark.soak) for seed in (2, 3))]
)
def test_a_batch_finds_what_a_plain_loop_finds(spark: SparkSession, seed: int, count: int) -> None:
    messages = LogMaker(seed).write(count)
    wanted = expected(messages)
    assert sum(row["kind"] == "opportunity" for row in wanted) > 100
    assert by_base(found(spark, messages)) == by_base(wanted)


def test_what_is_not_of_the_schema_is_passed_over(spark: SparkSession) -> None:
    messages = LogMaker(4).write(200)
    spoiled = [
        b"",
        b"not json",
        b"[1]",
        b'{"kind":"quote"}',
        b'{"kind":"quote","base":"BTC","received_time":"x"}',
        b'{"kind":"rumour","base":"BTC","received_time":1}',
    ]
    at_the_end = messages + spoiled
    assert by_base(found(spark, at_the_end)) == by_base(expected(messages))


@pytest.mark.parametrize("ask", ["0", "0.0", "", "much"])
def test_a_price_that_is_none_gives_no_opportunity_and_stops_nothing(spark: SparkSession, ask: str) -> None:
    messages = LogMaker(5).write(100)
    row = json.loads(
        next(
            message
            for message in messages
            if b'"bitstamp","region":"us","symbol":"BTC/EUR"' in message and b'"asks"' in message
        )
    )
    row |= {
        "ask": ask,
        "received_time": json.loads(messages[-1])["received_time"],
        "exchange": "coinbaseexchange",
        "symbol": "BTC/USD",
        "kind": "quote",
    }
    spoiled = json.dumps(row).encode()
    after = [one for one in found(spark, [*messages, spoiled]) if one.get("offset") == len(messages)]
    assert all(one["buy"]["exchange"] != "coinbaseexchange" for one in after)


def test_before_any_settings_nothing_is_emitted(spark: SparkSession) -> None:
    messages = LogMaker(6).write(300)
    without = [b'{"kind":"alive"}' if b'"settings"' in message else message for message in messages]
    assert {row["kind"] for row in found(spark, without)} <= {"probe"}


def test_the_opening_settings_count_until_the_first_settings_row(spark: SparkSession) -> None:
    messages = LogMaker(7).write(300)
    opening = messages[0].decode()
    later = [b"{}", *messages[1:]]
    assert by_base(found(spark, later, opening)) == by_base(expected(messages))


def test_the_stateful_aggregate_ends_where_the_running_one_ends(spark: SparkSession) -> None:
    messages = LogMaker(8).write(300)
    rows_df = messages_frame(spark, messages).transform(tick_rows).transform(with_slot, LAYOUT)
    at_end = {row["base"]: row.asDict(recursive=True) for row in rows_df.transform(latest_by_state, LAYOUT).collect()}
    running = [row.asDict(recursive=True) for row in rows_df.transform(latest_at_each_row, LAYOUT).collect()]
    last = {row["base"]: row for row in sorted(running, key=lambda row: row["row"]["offset"])}
    assert at_end == last
