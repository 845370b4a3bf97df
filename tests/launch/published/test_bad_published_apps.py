"""Bad apps beside a good one, published on a real Kafka in real processes: each is ended or refused with its sentence,
and the good one gives what it gives alone."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import BrokerTerms, OperatorTerms
from cep.apps.parts.app_limits import AppLimits
from launch.published.hosted import published_source
from runtime.app_door import AppDoorRefusedError
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.memory.apps import MemoryApps
from store.records.apps import AppVersion
from streams.topic_admin import ensure_topics
from tests.cep.logs import LogMaker
from tests.launch.published.published_world import computed, log_begins, published
from tests.launch.published.test_published_apps import MEANS
from tests.store.traded_session import new_session

pytestmark = pytest.mark.slow
FUNCTIONS = """
def looping() -> int:
    while True:
        pass


def in_c() -> int:
    return sum(range(10**12))


def filling() -> int:
    kept = []
    while True:
        kept.append(bytearray(10**7))
"""
OWN = "define function f[python] return int {{ bad.{} }}; from quotes[f() > 0] select base insert into O;"
TAKES, TOO_MUCH = "took more than", "more memory"
ENDED = {
    "loops": (OWN.format("looping"), (TAKES,)),
    "computes": (OWN.format("in_c"), (TAKES,)),
    "allocates": (OWN.format("filling"), (TAKES, TOO_MUCH, "memory")),
    "feeds-itself": ("from quotes select base insert into A; from A select base insert into A;", ("feeds itself",)),
    "grows": (
        "@App:limits(window.rows = '50') from ticks#window.time(1 year) select base insert into O;",
        ("50 are allowed",),
    ),
}
"""By name, the text and what its reason has one of."""
WRITES = (
    "delete Last on Last.exchange == 'kraken'",
    "update Last set Last.bid = 0.0 on Last.exchange == 'kraken'",
    "select 'kraken' as exchange, 'BTC/USD' as symbol, 1.0 as bid insert into Last",
    "select 'kraken' as exchange, 'BTC/USD' as symbol, 1.0 as bid update or insert into Last set Last.bid = bid "
    "on Last.exchange == exchange",
)


def passes_on(name: str, read: str, written: str) -> str:
    """Return an app that writes what it reads into another topic."""
    ends = "bootstrap.servers = 'here:9092', group.id = 'g', @map(type = 'json')"
    return f"""@App:name('{name}')
    @source(type = 'kafka', topic.list = '{read}', {ends}) define stream In (text string);
    @sink(type = 'kafka', topic = '{written}', bootstrap.servers = 'here:9092', @map(type = 'json'))
    define stream Out (text string);
    from In select text insert into Out;
    """


TOPICS = ("app-one", "app-two", "app-three")


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


@pytest.fixture
def terms(tmp_path: Path) -> OperatorTerms:
    folder = tmp_path / "functions"
    folder.mkdir()
    (folder / "bad.py").write_text(FUNCTIONS)
    broker = BrokerTerms("here:9092", "session", TOPICS, TOPICS)
    return OperatorTerms(functions=folder, limits=AppLimits(event_seconds=0.5), brokers=(broker,))


async def test_bad_apps_end_alone(session: Session, terms: OperatorTerms) -> None:
    log, apps, first = LogMaker(17).write(1_100), MemoryApps(SystemClock()), await log_begins(session)
    source = published_source(session, AppVersion("means", 1, MEANS, "ada", 1), terms)
    wanted = computed(source, log, first)
    async with published(session, apps, first, terms) as world:
        await world.publish("means", MEANS)
        for name, (text, _) in ENDED.items():
            await world.publish(name, text)
        for name in ("means", *ENDED):
            await world.until_says(name, "running", "")
        await world.write(log)
        for name, (_, parts) in ENDED.items():
            reason = await world.until(name, "failed")
            assert any(part in reason for part in parts), (name, reason)
        found = await world.written(source.label, lambda rows: set(wanted) <= set(rows))
        assert set(found) == set(wanted)
        # who may not write asks, and changes nothing
        before = await world.door.query("means", "from Last select exchange, symbol, bid")
        for query in WRITES:
            with pytest.raises(AppDoorRefusedError, match="the query changes a table; ask one that selects"):
                await world.door.query("means", query)
        assert await world.door.query("means", "from Last select exchange, symbol, bid") == before


async def test_apps_that_would_feed_each_other_in_a_ring_are_not_begun(session: Session, terms: OperatorTerms) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    one, two, three = TOPICS
    async with published(session, apps, first, terms) as world:
        await world.publish("first", passes_on("first", one, two))
        await world.publish("second", passes_on("second", two, three))
        for name in ("first", "second"):
            await world.until(name, "running")
        await world.publish("third", passes_on("third", three, one))
        assert "would come back to it by way of first, second" in await world.until("third", "failed")
        # the other two go on: what comes into the first comes out of the second
        found = await world.door.all_status()
        assert set(found) == {"first", "second"}
