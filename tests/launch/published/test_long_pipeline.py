"""One app for a long while: XML by MQTT, enriched by HTTP, masked, to Parquet on S3 and JSON on Kafka, through three
restarts and kills between them. Each order comes out, none with its card, and memory does not grow.

`PIPELINE_MINUTES` says how long, an hour if it does not.
"""

import asyncio
import os
import signal
import statistics
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path

import orjson
import psutil
import pyarrow.parquet as pq
import pytest
from aiohttp import web

from cep.apps.functions.operator_terms import BrokerTerms, OperatorTerms, ServerTerms
from cep.apps.hosts.kafka_addresses import SESSION
from cep.apps.resident.worker_files import signal_workers
from cep.apps.transports.mqtt_connection import MqttClientName, MqttConnection, MqttMessage, MqttTerms
from cep.apps.transports.object_store import BucketTerms, ObjectBucket
from cep.apps.transports.ports import NotTakenError
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now, wall_now
from session.session import Session
from store.memory.apps import MemoryApps
from streams.topic_admin import ensure_app_topic, ensure_topics
from streams.topic_reader import TopicReader
from tests.cep.apps.hosts.call_server import ORIGIN
from tests.cep.apps.transports.mqtt_broker import PROGRAM as MOSQUITTO
from tests.cep.apps.transports.mqtt_broker import broker
from tests.cep.apps.transports.s3_server import PROGRAM as MOTO
from tests.cep.apps.transports.s3_server import s3_server
from tests.launch.published.published_world import PublishedWorld, log_begins, published
from tests.store.traded_session import new_session

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(MOSQUITTO is None or MOTO is None, reason="mosquitto, or moto's server, is not installed here"),
]
MINUTES = float(os.environ.get("PIPELINE_MINUTES", "60"))
ROWS_A_SECOND, AT_ONCE = 200, 20
RUNS = 4
CUSTOMERS = 1_000
MOST_GROWTH, SPARE_BYTES = 1.10, 32 << 20
END_SECONDS = 120.0
SERVERS, TOPIC = "kafka.example.com:9092", "app-pipeline-out"
TEXT = f"""@App:name('pipeline')
@source(type = 'mqtt', url = 'mqtt://broker.example.com:1883', topic = 'orders', @map(type = 'xml',
    enclosing.element = '/order', @attributes(n = '@id', customer = 'customer', card = 'card', amount = 'amount')))
define stream Orders (n long, customer string, card string, amount double);
@PrimaryKey('customer') define table Known (customer string, country string);

@sink(type = 'http-call', sink.id = 'country', publisher.url = '{ORIGIN}/country', method = 'POST')
define stream Ask (customer string);
@source(type = 'http-call-response', sink.id = 'country', @map(type = 'json'))
define stream Answers (customer string, country string);

@sink(type = 's3', bucket.name = 'exports', object.path = 'rows', content.format = 'parquet', flush.size = '2000',
    rotate.interval.ms = '2000')
@sink(type = 'kafka', bootstrap.servers = '{SERVERS}', topic = '{TOPIC}', @map(type = 'json'))
define stream Out (n long, customer string, card string, amount double, country string);

from Orders join Known on Orders.customer == Known.customer
select n, Orders.customer as customer, mask(card, 4) as card, amount, Known.country as country insert into Out;

from Orders[not(Orders.customer == Known.customer in Known)] select * insert into Unknown;
from Unknown select customer insert into Ask;
from every o = Unknown -> a = Answers[customer == o.customer] within 2 sec
select o.n as n, o.customer as customer, mask(o.card, 4) as card, o.amount as amount, a.country as country
insert into Out;
from every o = Unknown -> not Answers[customer == o.customer] for 2 sec
select o.n as n, o.customer as customer, mask(o.card, 4) as card, o.amount as amount, 'unknown' as country
insert into Out;
from Answers select customer, country update or insert into Known set Known.country = country
on Known.customer == customer;
"""


@dataclass(slots=True)
class Evidence:
    """`sent`: orders that the broker has. `seen`: how often each is in the topic."""

    sent: int = 0
    seen: bytearray = field(default_factory=bytearray)
    without_country: int = 0
    cards: set[str] = field(default_factory=set)
    is_over: bool = False
    bytes_used: list[int] = field(default_factory=list)
    """Of the part and its processes, now and then."""

    def note(self, row: dict[str, object]) -> None:
        number, card = int(str(row["n"])), str(row["card"])
        self.seen.extend(bytes(max(0, number + 1 - len(self.seen))))
        self.seen[number] = min(255, self.seen[number] + 1)
        self.without_country += row["country"] == "unknown"
        if len(self.cards) < 20_000:
            self.cards.add(card)

    @property
    def missing(self) -> list[int]:
        return [n for n in range(self.sent) if n >= len(self.seen) or not self.seen[n]]


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    await ensure_app_topic(kafka_address, TOPIC, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


@asynccontextmanager
async def countries() -> AsyncIterator[str]:
    """Serve where each customer lives; one answer in fifty is that nobody knows it now."""
    asked = 0

    async def respond(request: web.Request) -> web.Response:
        nonlocal asked
        asked += 1
        if asked % 50 == 0:
            return web.Response(status=503)
        customer = orjson.loads(await request.read())["event"]["customer"]
        return web.json_response({"customer": customer, "country": f"country of {customer}"})

    application = web.Application()
    application.router.add_post("/country", respond)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield site.name
    finally:
        await runner.cleanup()


def order(n: int) -> bytes:
    card = f"4111-1111-{n // 10_000 % 10_000:04}-{n % 10_000:04}"
    return (
        f"<order id='{n}'><customer>c{n % CUSTOMERS}</customer><card>{card}</card>"
        f"<amount>{n / 100}</amount></order>".encode()
    )


async def send_orders(port: int, evidence: Evidence) -> None:
    async def ignored(message: MqttMessage) -> None:
        """Who only sends has subscribed to nothing."""

    connection = MqttConnection(MqttTerms("127.0.0.1", port), MqttClientName("shop", 4, is_clean=True), ignored)
    await connection.open()
    began, clock = steady_now(), SystemClock()
    try:
        while not evidence.is_over:
            numbers = range(evidence.sent, evidence.sent + AT_ONCE)
            await asyncio.gather(*(connection.publish("orders", order(n), 1, retain=False) for n in numbers))
            evidence.sent += AT_ONCE
            behind = evidence.sent / ROWS_A_SECOND - (steady_now() - began) / MICROSECONDS
            await clock.sleep(max(0.0, behind))
    finally:
        await connection.close()


async def read_topic(session: Session, evidence: Evidence) -> None:
    async with TopicReader(session.services.kafka, (TOPIC,), session.started_at) as reader:
        async for record in reader.records():
            evidence.note(orjson.loads(record.value)["event"])


def own_processes() -> Iterator[psutil.Process]:
    yield (own := psutil.Process())
    for one in own.children(recursive=True):
        with suppress(psutil.Error):
            if not any("moto" in word or "mosquitto" in word for word in one.cmdline()):
                yield one


async def look(evidence: Evidence) -> None:
    while True:
        used = 0
        for one in own_processes():
            with suppress(psutil.Error):
                used += one.memory_full_info().pss
        evidence.bytes_used.append(used)
        await SystemClock().sleep(5.0)


def kill_workers(home: Path) -> None:
    """Their host starts them again."""
    for folder in {path.parent for path in home.rglob("*.worker")}:
        signal_workers(folder, signal.SIGKILL)


async def ran(world: PublishedWorld, seconds: float, *, is_killed: bool) -> None:
    await world.until("pipeline", "running")
    clock = SystemClock()
    await clock.sleep(seconds / 2)
    if is_killed:
        kill_workers(world.session.home)
    await clock.sleep(seconds / 2)


async def rows_in_bucket(bucket: ObjectBucket) -> set[int]:
    found = set[int]()
    for one in await bucket.names("rows/"):
        table = pq.read_table(BytesIO(await bucket.get(one.key, 1 << 26)))
        found.update(int(str(number)) for number in table.column("n").to_pylist())
    return found


async def all_come_out(evidence: Evidence, bucket: ObjectBucket) -> None:
    """Wait until each order is in the topic and in the bucket."""
    async with asyncio.timeout(END_SECONDS):
        while evidence.missing or set(range(evidence.sent)) - await rows_in_bucket(bucket):
            await SystemClock().sleep(2.0)


def terms_of(url: str, port: int, endpoint: str, folder: Path) -> OperatorTerms:
    login = folder / "s3.toml"
    login.write_text('user = "me"\npassword = "word"\n')
    login.chmod(0o600)
    return OperatorTerms(
        addresses=((ORIGIN, url),),
        brokers=(BrokerTerms(SERVERS, SESSION, (), (TOPIC,)),),
        servers=(
            ServerTerms("mqtt://broker.example.com:1883", f"mqtt://127.0.0.1:{port}", ("orders",)),
            ServerTerms("s3://exports", endpoint, (), ("rows/#",), login),
        ),
    )


async def bucket_at(endpoint: str) -> ObjectBucket:
    bucket = ObjectBucket(BucketTerms("exports", endpoint, None, "me", "word"))
    with suppress(NotTakenError):
        await bucket._asked("create_bucket", Bucket="exports")
    return bucket


async def test_each_order_comes_out_masked_and_memory_stays(session: Session, tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt.client")
    pytest.importorskip("boto3")
    apps, first, evidence = MemoryApps(SystemClock()), await log_begins(session), Evidence()
    with s3_server() as endpoint:
        bucket = await bucket_at(endpoint)
        async with countries() as url, broker(tmp_path) as mqtt:
            terms = terms_of(url, mqtt.port, endpoint, tmp_path)
            beside = [asyncio.create_task(read_topic(session, evidence)), asyncio.create_task(look(evidence))]
            sending: asyncio.Task[None] | None = None
            for run in range(RUNS):
                async with published(session, apps, first, terms) as world:
                    if sending is None:
                        await world.publish("pipeline", TEXT)
                        await world.until("pipeline", "running")
                        sending = asyncio.create_task(send_orders(mqtt.port, evidence))
                    await ran(world, MINUTES * 60 / RUNS, is_killed=run % 2 == 1)
                    if run == RUNS - 1:
                        await SystemClock().sleep(5.0)
                        evidence.is_over = True
                        await sending
                        await all_come_out(evidence, bucket)
                        status = await world.door.status("pipeline")
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
    print(f"{evidence.sent:,} orders, {sum(one > 1 for one in evidence.seen):,} more than once in the topic")  # noqa: T201
    print(f"{evidence.without_country:,} without a country; memory {[one >> 20 for one in evidence.bytes_used]} MB")  # noqa: T201
    assert evidence.sent > 0.8 * MINUTES * 60 * ROWS_A_SECOND
    assert evidence.missing == []
    assert all(one.startswith("****") for one in evidence.cards)
    quarter = len(evidence.bytes_used) // 4
    early, late = (statistics.median(evidence.bytes_used[at : at + quarter]) for at in (quarter, 3 * quarter))
    assert late < early * MOST_GROWTH + SPARE_BYTES
    assert all(sink["waiting"] == 0 and sink["dead"] == 0 for sink in status["sinks"])
