"""Cycles of the whole process on a real broker: those of the search over the same rows, also after kill -9."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from backtest.detect.cycle_search import cycle_sightings
from backtest.verify.cycles import log_rows
from exchanges.simulated_markets import simulated_taker_fees
from market.decide.settings import Settings
from market.instruments.cycles import CycleTerms
from market.prices.cycle_opportunities import CycleOpportunity
from session.session import Session
from streams.cycle_messages import cycle_opportunity_of
from streams.message_format import marker_row, settings_row
from streams.topic_admin import ensure_topics
from streams.topics import CYCLE_OPPORTUNITIES, session_topics
from tests.backtest.test_simulated_cycles import EXCHANGES, simulated
from tests.cep.detection.oracle import Row
from tests.cep.detection.test_job import home, own_kafka, rows_of, running_cep, until, write
from tests.cep.logs import session
from tick_sets.sets.tick_set import TickSet

__all__ = ["home", "own_kafka", "simulated"]

FEES = {name: fee for name, fee in simulated_taker_fees().items() if name in EXCHANGES}
SETTINGS = Settings(enabled_exchanges=EXCHANGES, taker_fees=FEES, min_net_bps=0.0)


def watching(home: Path, kafka: str, tick_set: TickSet) -> Session:
    everywhere = CycleTerms(3, frozenset(EXCHANGES), frozenset(EXCHANGES))
    return replace(session(home, kafka), markets=tick_set.manifest.markets, cycles=everywhere)


def messages(tick_set: TickSet, bases: Sequence[str]) -> Iterator[bytes]:
    """Return the rows of the set as feeds would write them, in the order in which the search reads them."""
    base_of = {(one.exchange, one.symbol): one.base for one in tick_set.manifest.markets}
    for _, row in log_rows(tick_set, "received_time"):
        known = {name: value for name, value in row.items() if value is not None and name != "offset"}
        whom = {"bases": bases} if row["kind"] == "fx" else {}
        yield orjson.dumps(known | whom | {"base": base_of[row["exchange"], row["symbol"]], "region": "us"})


@pytest.mark.slow
async def test_a_task_in_spark_finds_what_the_search_finds_and_a_kill_changes_nothing(
    own_kafka: str, home: Path, simulated: TickSet
) -> None:
    here = watching(home, own_kafka, simulated)
    await ensure_topics(own_kafka, 1, session_topics(has_regions=False, has_cycles=True))
    expected = [
        (one.sighting_id, one.cycle.cycle_id, one.net_bps, one.quotes)
        for one in cycle_sightings(simulated, here.watched_cycles(), SETTINGS)
    ]
    rows = list(messages(simulated, here.bases))
    half, last = len(rows) // 2, marker_row("end", "BTC", "end", 0)
    async with running_cep(here):
        await write(
            own_kafka, [settings_row(SETTINGS, 0, here.bases), *rows[:half], marker_row("end", "BTC", "half", 0)]
        )
        await until(lambda: rows_of(own_kafka, CYCLE_OPPORTUNITIES), lambda found: ends(found, "half") > 0)
    async with running_cep(here):
        await write(own_kafka, [*rows[half:], last])
        found = await until(lambda: rows_of(own_kafka, CYCLE_OPPORTUNITIES), lambda found: ends(found, "end") > 0)
    assert len(expected) > 500
    assert first_of_each(found) == expected


def ends(found: Sequence[Row], marker_id: str) -> int:
    return sum(row.get("marker_id") == marker_id for row in found)


def first_of_each(found: Sequence[Row]) -> list[tuple[object, ...]]:
    first: dict[str, tuple[object, ...]] = {}
    for row in found:
        one = cycle_opportunity_of(row, 0)
        if isinstance(one, CycleOpportunity):
            legs = tuple(leg.quote.quote_id for leg in one.legs)
            first.setdefault(one.opportunity_id, (one.opportunity_id, one.cycle_id, one.net_bps, legs))
    return list(first.values())
