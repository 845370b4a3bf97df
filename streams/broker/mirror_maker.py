"""MirrorMaker 2 of one region: copies `quotes` of the other regions into the region's own `ticks`, and `shared`, the
rows of apps' GLOBAL streams and tables, into `shared-in`.

It runs beside the Kafka that it writes to. A row keeps its partition, so all rows of a base have one order in a region,
which is the region's own. Rows come at least once: after a kill those of the last second come again.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from runtime.logins import Login
from streams.broker.java_files import LOGGING_PROPERTIES, argument_file, property_file, write_privately
from streams.broker.kafka_users import TopicUser, java_client_settings
from streams.errors import StreamRejectedError, StreamUnavailableError
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topics import QUOTES, SHARED, SHARED_IN, TICKS

OWN_TOPICS = "mm2-"
"""What the names of MirrorMaker's own topics begin with, all of them in the region that it writes to."""
JVM_FLAGS = (
    *("-Xms48m", "-Xmx96m", "-XX:MaxMetaspaceSize=96m", "-XX:ReservedCodeCacheSize=32m"),
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"),
)
POLL_SECONDS = 0.5
TASK = "status-task-MirrorSourceConnector-0"
"""Key of the rows that say whether one flow's rows are copied."""
LOGGING = (
    LOGGING_PROPERTIES
    # its one error at each start: that checkpoints are off, as they are meant to be
    + """\
appender.console.filter.checkpoints.type=RegexFilter
appender.console.filter.checkpoints.regex=Failed to configure MirrorCheckpointConnector.*
appender.console.filter.checkpoints.onMatch=DENY
appender.console.filter.checkpoints.onMismatch=NEUTRAL
"""
)


@dataclass(frozen=True, slots=True)
class RegionKafka:
    """The Kafka of a region, as a MirrorMaker reaches it; its login is in the address (`runtime.logins.Address`)."""

    region: str
    address: str


@dataclass(frozen=True, slots=True)
class MirrorMaker:
    """How to run it; the caller owns the process. Started again, it goes on where it was."""

    home: Path
    classpath: str
    target: RegionKafka
    sources: tuple[RegionKafka, ...]
    java: str = "java"

    @property
    def folder(self) -> Path:
        return self.home / "mirrormaker"

    def prepare(self) -> None:
        """Write its files, readable for the owner only: the logins are in them."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        logging = self.folder / "log4j2.properties"
        logging.write_text(LOGGING)
        words = (*JVM_FLAGS, f"-Dlog4j2.configurationFile={logging}", "-cp", self.classpath)
        (self.folder / "java.arguments").write_text(argument_file(words))
        write_privately(self._properties, mirror_properties(self.target, self.sources))

    def command(self) -> tuple[str, ...]:
        """MirrorMaker in the foreground; its log (warnings) goes to standard output. SIGTERM stops it cleanly."""
        main = "org.apache.kafka.connect.mirror.MirrorMaker"
        arguments = f"@{self.folder / 'java.arguments'}"
        return (self.java, arguments, main, str(self._properties), "--clusters", self.target.region)

    async def wait_ready(self, since: int, seconds: float) -> None:
        """Return once each source's rows are copied by a process that was started at `since`, microseconds.

        Raises StreamUnavailableError after `seconds`.
        """
        deadline = steady_now() + int(seconds * MICROSECONDS)
        waiting = [source.region for source in self.sources]
        while waiting := [region for region in waiting if not await self._is_mirroring(region, since)]:
            if steady_now() >= deadline:
                raise StreamUnavailableError(f"nothing is mirrored from {', '.join(waiting)} to {self.target.region}.")
            await SystemClock().sleep(POLL_SECONDS)

    async def _is_mirroring(self, region: str, since: int) -> bool:
        try:
            async with TopicReader(self.target.address, (status_topic(region),), "earliest") as reader:
                return is_mirroring([record async for record in reader.records_to_end()], since)
        except (StreamRejectedError, StreamUnavailableError):
            # at the very first start MirrorMaker has yet to create that topic
            return False

    @property
    def _properties(self) -> Path:
        return self.folder / "mirrormaker.properties"


def status_topic(source: str) -> str:
    """Return the topic in which MirrorMaker says what it does with the rows of a region."""
    return f"{OWN_TOPICS}status.{source}.internal"


def is_mirroring(statuses: Iterable[Record], since: int) -> bool:
    """Whether rows are copied, by the newest status row, unless it is of before `since`, microseconds."""
    newest = b""
    for record in statuses:
        if record.key == TASK:
            newest = record.value if record.time >= since else b""
    return bool(newest) and orjson.loads(newest)["state"] == "RUNNING"


def mirror_users(reader: Login, writer: Login) -> tuple[TopicUser, TopicUser]:
    """Users of each region's Kafka: with one the MirrorMakers of other regions read it, with the other its own writes.
    Each has no right beyond what it needs, so that a region that is broken into cannot write to another. The second may
    see that its own region has the topics that it copies; else it would try to create them."""
    copied = tuple(COPIES)
    return TopicUser(reader, copied, ()), TopicUser(writer, copied, tuple(COPIES.values()), OWN_TOPICS)


def mirror_properties(target: RegionKafka, sources: tuple[RegionKafka, ...]) -> str:
    """MirrorMaker's configuration for the flows into `target` (kafka.apache.org, "Geo-Replication")."""
    regions = (target, *sources)
    settings = {"clusters": ", ".join(each.region for each in regions)} | COMMON
    for each in regions:
        settings |= {f"{each.region}.{name}": value for name, value in java_client_settings(each.address).items()}
    own = WORKER | {f"producer.{name}": value for name, value in PRODUCER.items()}
    settings |= {f"{target.region}.{name}": value for name, value in own.items()}
    for source in sources:
        flow = f"{source.region}->{target.region}"
        settings |= {f"{source.region}.consumer.{name}": value for name, value in CONSUMER.items()}
        settings |= {f"{flow}.{name}": value for name, value in FLOW.items()}
    return property_file(settings)


COPIES = {QUOTES: TICKS, SHARED: SHARED_IN}
"""Topics of the other regions, each with where its rows are in this one."""
_ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"
# else each start reads every class of the class path, which takes longer and more memory than all the rest
PLUGINS = {"plugin.discovery": "service_load"}
COMMON = {
    "tasks.max": "1",
    "replication.factor": "1",
    # the copy has the name of the original, so no topic is made for it; its rows are renamed before they are written
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "sync.topic.acls.enabled": "false",
    "sync.topic.configs.enabled": "false",
    # what only readers need that change from one Kafka to another; ours never do
    "emit.heartbeats.enabled": "false",
    "emit.checkpoints.enabled": "false",
    "emit.offset-syncs.enabled": "false",
    "sync.group.offsets.enabled": "false",
    "refresh.groups.enabled": "false",
    "refresh.topics.interval.seconds": "5",
    "offset.storage.replication.factor": "1",
    "offset.storage.partitions": "1",
    "status.storage.replication.factor": "1",
    "status.storage.partitions": "1",
    "config.storage.replication.factor": "1",
    "dedicated.mode.enable.internal.rest": "false",
    **PLUGINS,
}
WORKER = {
    # rows that come again after a kill: those since the last flush
    "offset.flush.interval.ms": "1000",
    # after a kill the new process waits until the killed one is given up: 6 s, the least that a Kafka allows
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
    "scheduled.rebalance.max.delay.ms": "0",
    **PLUGINS,
}
"""Taken from the settings of the region that is written to, and from nowhere else."""
PRODUCER = {
    "linger.ms": "0",
    "enable.idempotence": "true",
    "max.in.flight.requests.per.connection": "5",
    "buffer.memory": str(8 * 1024**2),
}
FLOW = {"enabled": "true", "topics": ",".join(COPIES), "transforms": ",".join(COPIES)} | {
    f"transforms.{topic}.{name}": value
    for topic, copy in COPIES.items()
    for name, value in (("type", _ROUTER), ("regex", topic), ("replacement", copy))
}
CONSUMER = {
    # a region that was cut for longer than `quotes` is kept goes on with the oldest row that is left
    "auto.offset.reset": "earliest",
    "fetch.max.wait.ms": "100",
    # a backlog, after a cut, must fit into the heap as well
    "fetch.max.bytes": str(4 * 1024**2),
    "max.partition.fetch.bytes": str(1024**2),
}
