"""Spark's detection over a region's log passes over what comes again, by the table that every reader is held to."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from cep.detection.latest import with_slot
from cep.detection.latest_counted import counted_by_state, rate_sources
from cep.detection.market_layout import Layout, layout_of
from cep.detection.opportunity_messages import opportunities_of_latest
from cep.detection.spark_schema import tick_rows
from market.instruments.markets import Market
from session.session import Placement
from streams.message_format import row_of
from tests.cep.detection.oracle import Row, Spread, as_written, expected_output, written
from tests.cep.detection.running_latest import counted_at_each_row
from tests.cep.detection.test_opportunity_messages import by_base, messages_frame
from tests.cep.logs import MARKETS, LogMaker, market, session
from tests.cep.repeats import CASES, counted_messages, messages_of, with_repeats

SECOND_RATE = market("bitstamp", "EUR", "USD", is_fx=True)
"""One rate of two exchanges."""
SESSION = replace(session(), markets=(*MARKETS, SECOND_RATE), place=Placement("us", ("us", "eu")))
LAYOUT = layout_of(SESSION)
RATES = rate_sources(SESSION, LAYOUT) or ()


def found(spark: SparkSession, messages: Sequence[bytes], own: Layout = LAYOUT) -> list[Row]:
    messages_df = (
        messages_frame(spark, list(messages))
        .transform(tick_rows)
        .transform(with_slot, own)
        .transform(counted_at_each_row, own, RATES)
        .transform(opportunities_of_latest, own)
    )
    return [written(row["value"]) for row in messages_df.toArrow().to_pylist()]


def expected(messages: Sequence[bytes], places: Sequence[int]) -> list[Row]:
    """Return the output of a log in which nothing comes again, each row at its place in the log that is read."""
    rows = [as_written(one) if isinstance(one, Spread) else one for one in expected_output(messages, SESSION)]
    return [row | {"offset": places[row["offset"]]} for row in rows]


def for_base(messages: Sequence[bytes], base: str) -> list[bytes]:
    """Return the log of another base: many small logs are one job."""
    return [message.replace(b'"BTC', f'"{base}'.encode()).replace(b',"ETH"', b"") for message in messages]


def test_the_table_of_cases(spark: SparkSession) -> None:
    log: list[bytes] = []
    wanted: list[Row] = []
    markets, traded = SESSION.markets, list[Market]()
    for number, case in enumerate(CASES):
        base, start = f"C{number}X", len(log)
        log += for_base(messages_of(case), base)
        places = [start, *(start + 1 + place for place in case.counted)]
        mine = tuple(
            replace(one, base=base, symbol=one.symbol.replace("BTC", base)) for one in markets if one.base == "BTC"
        )
        traded += mine
        own = replace(SESSION, markets=(*mine, *(one for one in markets if one.is_fx)))
        once = expected_output(for_base(counted_messages(case), base), own)
        wanted += [as_written(one) | {"offset": places[one.offset]} for one in once if isinstance(one, Spread)]
    assert len(wanted) > len(CASES)
    all_bases = replace(SESSION, markets=(*traded, *(one for one in markets if one.is_fx)))
    assert by_base(found(spark, log, layout_of(all_bases))) == by_base(wanted)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_a_log_with_repeats_gives_what_it_gives_without(spark: SparkSession, seed: int) -> None:
    messages = LogMaker(seed).write(700)
    log = with_repeats(messages, seed, kills=12)
    places: dict[int, int] = {}
    for place, (number, _) in enumerate(log):
        places.setdefault(number, place)
    assert len(log) > len(messages) + 60
    wanted = expected(messages, [places[number] for number in range(len(messages))])
    assert by_base(found(spark, [value for _, value in log])) == by_base(wanted)


def test_the_stateful_aggregate_ends_where_the_running_one_ends(spark: SparkSession) -> None:
    messages = [value for _, value in with_repeats(LogMaker(8).write(300), 8)]
    rows_df = messages_frame(spark, messages).transform(tick_rows).transform(with_slot, LAYOUT)
    at_end = rows_df.transform(counted_by_state, LAYOUT, RATES).collect()
    running = [row.asDict(recursive=True) for row in rows_df.transform(counted_at_each_row, LAYOUT, RATES).collect()]
    last = {row["base"]: row for row in sorted(running, key=lambda row: row["row"]["offset"])}
    assert {row["base"]: row.asDict(recursive=True) for row in at_end} == last


def test_only_a_session_with_regions_has_sources_of_rates() -> None:
    """So that without them Spark has the plan that it had."""
    assert rate_sources(session(), LAYOUT) is None
    assert [(one.exchange, one.symbol, one.route is None) for one in RATES] == [
        ("kraken", "EUR/USD", False),
        ("kraken", "USD/JPY", False),
        ("bitstamp", "EUR/USD", False),
    ]


def test_renamed_logs_are_of_one_base() -> None:
    for message in for_base(messages_of(CASES[6]), "C6X"):
        row = row_of(message)
        assert (row.get("bases") or [row["base"]]) == ["C6X"]
