"""The library's consumer as `TopicReader` needs it: blocking calls, all made by one thread."""

from threading import Event

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from market.time_units import MICROSECONDS
from session.clock import wall_now
from streams.errors import StreamError, StreamRejectedError, StreamUnavailableError
from streams.log_throttle import LogThrottle
from streams.records import Newest, Position, Record, Start
from streams.topic_admin import client_settings, reason_of

ANSWER_SECONDS = 2.0
POLL_SECONDS = 0.2
AGAIN_SECONDS = 0.05
BATCH_ROWS = 500
PATIENT_BYTES = 1_000_000
BUFFERED_KILOBYTES = 16 * 1024
WITHOUT_LEADER = (
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
)
"""A broker that has just started, or a partition that moves; the library asks the metadata anew and would succeed."""


class PartitionConsumer:
    """All partitions of `topics`, assigned from `start` on. Every method may raise StreamUnavailableError.

    Raises StreamRejectedError where a topic is missing.
    """

    def __init__(self, address: str, topics: tuple[str, ...], start: Start, patience: float = 0.0) -> None:
        self._address = address
        self._troubles = LogThrottle(address)
        self._patience = patience
        self._moment = Event()
        self._consumer = Consumer(
            client_settings(address)
            | {
                "group.id": "unused",  # the library wants one; nothing is committed and no group is joined
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "auto.offset.reset": "earliest",
                # without patience Kafka answers at the first byte; the wait only bounds its silence on an idle topic
                "fetch.min.bytes": PATIENT_BYTES if patience else 1,
                "fetch.wait.max.ms": max(100, int(patience * 1_000)),
                "fetch.queue.backoff.ms": 5,
                "fetch.error.backoff.ms": 50,
                "queued.max.messages.kbytes": BUFFERED_KILOBYTES,
                "error_cb": self._on_error,
            }
        )
        try:
            places = [place for topic in topics for place in self._places(topic, start)]
        except KafkaException as error:
            self._consumer.close()
            raise self._unavailable(error.args[0]) from None
        except StreamError:
            self._consumer.close()
            raise
        self.first: dict[Position, int] = {(place.topic, place.partition): place.offset for place in places}
        """Where each partition is read from."""
        self._consumer.assign(places)

    def take(self) -> list[Record]:
        """Wait a moment for a first row, then take what else is there already; may be empty."""
        first = self._consumer.poll(POLL_SECONDS)
        if first is None:
            return []
        messages = (first, *self._consumer.consume(BATCH_ROWS - 1, 0))
        return [self._record(message) for message in messages]

    def ends(self) -> dict[Position, int]:
        """The offset that the next row of each partition will get."""
        try:
            return {position: self._watermarks(TopicPartition(*position))[1] for position in self.first}
        except KafkaException as error:
            raise self._unavailable(error.args[0]) from None

    def newest(self, rows: int) -> list[Record]:
        """At most so many of the newest rows of each partition, in its order; nothing is fetched afterwards."""
        try:
            marks = {position: self._watermarks(TopicPartition(*position)) for position in self.first}
        except KafkaException as error:
            raise self._unavailable(error.args[0]) from None
        places = [TopicPartition(*position, max(first, end - rows)) for position, (first, end) in marks.items()]
        wanted = sum(marks[place.topic, place.partition][1] - place.offset for place in places)
        records: list[Record] = []
        deadline = wall_now() + int(ANSWER_SECONDS * MICROSECONDS)
        self._consumer.assign(places)
        try:
            while len(records) < wanted:
                if wall_now() > deadline:
                    raise StreamUnavailableError(f"Kafka at {self._address} did not send its newest rows in time.")
                taken = map(self._record, self._consumer.consume(wanted - len(records), POLL_SECONDS))
                records += [record for record in taken if record.offset < marks[record.position][1]]
        finally:
            self._consumer.unassign()
        return records

    def rest(self) -> None:
        """Fetch nothing until asked."""
        self._consumer.unassign()

    def close(self) -> None:
        self._consumer.close()

    def _places(self, topic: str, start: Start) -> list[TopicPartition]:
        metadata = self._consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
        if metadata.error is not None:
            if metadata.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise StreamRejectedError(f"there is no topic {topic} at {self._address}; create it first.")
            raise KafkaException(metadata.error)
        places = [TopicPartition(topic, partition) for partition in sorted(metadata.partitions)]
        if isinstance(start, int):
            return self._places_at(places, start)
        return [self._place(place, start) for place in places]

    def _places_at(self, places: list[TopicPartition], time: int) -> list[TopicPartition]:
        asked = [TopicPartition(place.topic, place.partition, time // 1_000) for place in places]
        found = self._consumer.offsets_for_times(asked, timeout=ANSWER_SECONDS)
        return [self._place(place, "latest") if place.offset == OFFSET_END else place for place in found]

    def _place(self, place: TopicPartition, start: Start) -> TopicPartition:
        first, end = self._watermarks(place)
        match start:
            case "latest":
                offset = end
            case Newest(rows):
                offset = max(first, end - rows)
            case _:
                offset = first
        return TopicPartition(place.topic, place.partition, offset)

    def _watermarks(self, place: TopicPartition) -> tuple[int, int]:
        """First and end offset, asked again while the broker is only about to take the partition over."""
        deadline = wall_now() + int(ANSWER_SECONDS * MICROSECONDS)
        while True:
            try:
                return self._consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)
            except KafkaException as error:
                if error.args[0].code() not in WITHOUT_LEADER or wall_now() > deadline:
                    raise
            self._moment.wait(AGAIN_SECONDS)

    def _record(self, message: Message) -> Record:
        error, topic, partition, offset = message.error(), message.topic(), message.partition(), message.offset()
        if error is not None:
            raise self._unavailable(error)
        if topic is None or partition is None or offset is None:
            raise StreamUnavailableError(f"Kafka at {self._address} sent a row without its place.")
        key = message.key()
        return Record(
            topic=topic,
            partition=partition,
            offset=offset,
            key=None if key is None else key.decode(),
            value=message.value() or b"",
            time=message.timestamp()[1] * 1_000,
        )

    def _unavailable(self, error: KafkaError) -> StreamUnavailableError:
        return StreamUnavailableError(f"Kafka at {self._address} did not answer ({reason_of(KafkaException(error))}).")

    def _on_error(self, error: KafkaError) -> None:
        self._troubles.note(error.str())
