"""A row of a topic, and where a reader starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Position = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a topic. `time` is when it was produced, microseconds (a multiple of 1,000)."""

    topic: str
    partition: int
    offset: int
    key: str | None
    value: bytes
    time: int

    @property
    def position(self) -> Position:
        return self.topic, self.partition


@dataclass(frozen=True, slots=True)
class Newest:
    """Start `rows` rows before the end of each partition, or at its first row."""

    rows: int


Start = Literal["earliest", "latest"] | int | Newest | Mapping[Position, int]
"""`int`: microseconds since the epoch; the first row produced at or after then (Kafka has milliseconds). A mapping:
the first offset of each partition that is read; others are left out."""
