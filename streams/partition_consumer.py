"""The library's consumer for `TopicReader`: blocking calls, all from one thread."""

from collections.abc import Mapping
from threading import Event
from typing import Self

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from streams.errors import StreamError, StreamRejectedError, StreamUnavailableError
from streams.log_throttle import LogThrottle
from streams.records import Newest, Position, Record, Start
from streams.topic_admin import client_settings, reason_of

ANSWER_SECONDS = 2.0
POLL_SECONDS = 0.2
RETRY_SECONDS = 0.05
BATCH_ROWS = 500
BATCH_BYTES = 1_000_000
BUFFERED_KILOBYTES = 16 * 1024
WITHOUT_LEADER = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
"""Errors of a broker that has just started, or of a partition that moves; a retry with new metadata succeeds."""


class PartitionConsumer:
    """The partitions of `topics` that `start` names, or all. Every method may raise StreamUnavailableError.

    Raises StreamRejectedError if a topic is missing.
    """

    def __init__(self, address: str, topics: tuple[str, ...], start: Start, max_wait: float = 0.0) -> None:
        self._address, self._topics = address, topics
        self._log_throttle = LogThrottle(address)
        self._pause = Event()
        self._fault: KafkaError | None = None
        self._consumer = Consumer(
            client_settings(address)
            | {
                "group.id": "unused",  # required by the library; nothing is committed and no group is joined
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                # without a wait Kafka answers at the first byte; the maximum then only applies to an idle topic
                "fetch.min.bytes": BATCH_BYTES if max_wait else 1,
                "fetch.wait.max.ms": max(100, int(max_wait * 1_000)),
                "fetch.queue.backoff.ms": 5,
                "fetch.error.backoff.ms": 50,
                "queued.max.messages.kbytes": BUFFERED_KILOBYTES,
                "error_cb": self._on_error,
            }
        )
        try:
            offsets = [partition_offset for topic in topics for partition_offset in self._offsets(topic, start)]
        except KafkaException as error:
            self._consumer.close()
            raise self._unavailable(error.args[0]) from None
        except StreamError:
            self._consumer.close()
            raise
        self.first: dict[Position, int] = {
            (partition_offset.topic, partition_offset.partition): partition_offset.offset
            for partition_offset in offsets
        }
        """First offset to read, by partition."""
        self._next = dict(self.first)
        self._consumer.assign(offsets)

    def add(self, start: Mapping[Position, int]) -> None:
        """Read these partitions too, from there on; those that are read go on. None of them may be read already."""
        topics = tuple({topic: None for topic, _ in start})
        try:
            offsets = [partition_offset for topic in topics for partition_offset in self._offsets(topic, start)]
            self._consumer.incremental_assign(offsets)
        except KafkaException as error:
            raise self._unavailable(error.args[0]) from None
        self._topics += tuple(topic for topic in topics if topic not in self._topics)
        for one in offsets:
            self.first[one.topic, one.partition] = self._next[one.topic, one.partition] = one.offset

    def take(self) -> list[Record]:
        """Wait briefly for a first row, then take the rows that are buffered already; may be empty."""
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise self._unavailable(fault)
        first = self._consumer.poll(POLL_SECONDS)
        if first is None:
            return []
        messages = (first, *self._consumer.consume(BATCH_ROWS - 1, 0))
        # rows that were fetched together with an error do not come again, so they are given before it is raised
        self._fault = next((error for message in messages if (error := message.error()) is not None), None)
        records = [self._record(message) for message in messages if message.error() is None]
        for record in records:
            self._next[record.position] = record.offset + 1
        return records

    def continued(self, max_wait: float) -> Self:
        """Another consumer, which goes on where `take` came to, with that wait; this one is closed."""
        successor = type(self)(self._address, self._topics, self._next, max_wait)
        self.close()
        return successor

    def ends(self) -> dict[Position, int]:
        """Return the offset that the next row of each partition will get."""
        return {position: end for position, (_, end) in self._marks().items()}

    def known_ends(self) -> dict[Position, int]:
        """As `ends`, as far as the answers to the last requests for rows said them: without asking."""
        found = {
            place: self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True) for place in self.first
        }
        return {position: marks[1] for position, marks in found.items() if marks is not None and marks[1] >= 0}

    def oldest(self) -> dict[Position, int]:
        """Return the offset of the oldest row that each partition still has; of an empty one that of its next row."""
        return {position: oldest for position, (oldest, _) in self._marks().items()}

    def newest(self, rows: int) -> list[Record]:
        """At most `rows` of the newest rows of each partition, in its order; nothing is fetched afterwards."""
        marks = self._marks()
        offsets = [TopicPartition(*position, max(first, end - rows)) for position, (first, end) in marks.items()]
        wanted = sum(
            marks[partition_offset.topic, partition_offset.partition][1] - partition_offset.offset
            for partition_offset in offsets
        )
        records: list[Record] = []
        deadline = steady_now() + int(ANSWER_SECONDS * MICROSECONDS)
        self._consumer.assign(offsets)
        try:
            while len(records) < wanted:
                if steady_now() > deadline:
                    raise StreamUnavailableError(f"Kafka at {self._address} did not send its newest rows in time.")
                taken = map(self._record, self._consumer.consume(wanted - len(records), POLL_SECONDS))
                records += [record for record in taken if record.offset < marks[record.position][1]]
        finally:
            self._consumer.unassign()
        return records

    def pause(self) -> None:
        """Fetch nothing until the next request."""
        self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()

    def _marks(self) -> dict[Position, tuple[int, int]]:
        """Return each partition's oldest offset and the next one."""
        try:
            return {position: self._watermarks(TopicPartition(*position)) for position in self.first}
        except KafkaException as error:
            raise self._unavailable(error.args[0]) from None

    def _offsets(self, topic: str, start: Start) -> list[TopicPartition]:
        metadata = self._consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
        if metadata.error is not None:
            if metadata.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise StreamRejectedError(f"topic {topic} does not exist at {self._address}; create it first.")
            raise KafkaException(metadata.error)
        offsets = [TopicPartition(topic, partition) for partition in sorted(metadata.partitions)]
        if isinstance(start, int):
            return self._offsets_at(offsets, start)
        if isinstance(start, Mapping):
            wanted = [one for one in offsets if (topic, one.partition) in start]
            return [TopicPartition(topic, one.partition, start[topic, one.partition]) for one in wanted]
        return [self._offset(partition_offset, start) for partition_offset in offsets]

    def _offsets_at(self, offsets: list[TopicPartition], time: int) -> list[TopicPartition]:
        asked = [
            TopicPartition(partition_offset.topic, partition_offset.partition, time // 1_000)
            for partition_offset in offsets
        ]
        # read first: a row that is written in between is after `time`, and must not be skipped
        ends = [self._offset(partition_offset, "latest") for partition_offset in offsets]
        found = self._consumer.offsets_for_times(asked, timeout=ANSWER_SECONDS)
        return [
            end if partition_offset.offset == OFFSET_END else partition_offset
            for end, partition_offset in zip(ends, found, strict=True)
        ]

    def _offset(self, partition_offset: TopicPartition, start: Start) -> TopicPartition:
        first, end = self._watermarks(partition_offset)
        match start:
            case "latest":
                offset = end
            case Newest(rows):
                offset = max(first, end - rows)
            case _:
                offset = first
        return TopicPartition(partition_offset.topic, partition_offset.partition, offset)

    def _watermarks(self, partition_offset: TopicPartition) -> tuple[int, int]:
        """First and end offset, retried while the broker is taking the partition over."""
        deadline = steady_now() + int(ANSWER_SECONDS * MICROSECONDS)
        while True:
            try:
                return self._consumer.get_watermark_offsets(partition_offset, timeout=ANSWER_SECONDS)
            except KafkaException as error:
                if error.args[0].code() not in WITHOUT_LEADER or steady_now() > deadline:
                    raise
            self._pause.wait(RETRY_SECONDS)

    def _record(self, message: Message) -> Record:
        error, topic, partition, offset = message.error(), message.topic(), message.partition(), message.offset()
        if error is not None:
            raise self._unavailable(error)
        if topic is None or partition is None or offset is None:
            raise StreamUnavailableError(f"Kafka at {self._address} sent a row without topic, partition or offset.")
        key = message.key()
        return Record(
            topic=topic,
            partition=partition,
            offset=offset,
            # keys of topics that are none of ours may be any bytes
            key=None if key is None else key.decode(errors="replace"),
            value=message.value() or b"",
            time=message.timestamp()[1] * 1_000,
        )

    def _unavailable(self, error: KafkaError) -> StreamUnavailableError:
        return StreamUnavailableError(f"Kafka at {self._address} did not answer ({reason_of(KafkaException(error))}).")

    def _on_error(self, error: KafkaError) -> None:
        self._log_throttle.log_cause(error.str())
