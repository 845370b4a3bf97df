"""What a consumer makes of the library's messages, which are played."""

from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError

from streams.errors import StreamUnavailableError
from streams.partition_consumer import PartitionConsumer
from streams.records import Position


@dataclass(frozen=True)
class PlayedMessage:
    number: int
    fault: KafkaError | None = None

    def error(self) -> KafkaError | None:
        return self.fault

    def topic(self) -> str:
        return "rows"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.number

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"%d" % self.number

    def timestamp(self) -> tuple[int, int]:
        return 1, self.number


class PlayedLibrary(Consumer):
    """Gives its messages at once."""

    messages: list[PlayedMessage]

    def poll(self, timeout: float = -1.0) -> Any:
        return self.messages.pop(0) if self.messages else None

    def consume(self, num_messages: int = 1, timeout: float = -1.0) -> Any:
        taken, self.messages = self.messages, []
        return taken


class PlayedConsumer(PartitionConsumer):
    def __init__(self, messages: list[PlayedMessage]) -> None:
        self._address, self._fault, self._next = "played:9092", None, dict[Position, int]()
        self._consumer = PlayedLibrary({"group.id": "unused"})
        self._consumer.messages = messages


def test_rows_that_come_with_an_error_are_given_before_it_and_once() -> None:
    fault = KafkaError(KafkaError.REQUEST_TIMED_OUT)
    consumer = PlayedConsumer([PlayedMessage(0), PlayedMessage(1), PlayedMessage(-1, fault), PlayedMessage(2)])
    assert [record.offset for record in consumer.take()] == [0, 1, 2]
    with pytest.raises(StreamUnavailableError):
        consumer.take()
    assert consumer.take() == []
