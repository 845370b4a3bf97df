"""Subscribers of one of Kraken's private channels; each connection counts its own messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from weakref import WeakKeyDictionary

from simulators.web.subscribers import SubscriberConnection

Row = dict[str, object]


@dataclass(slots=True)
class _Reader:
    options: frozenset[str]
    sequence: int = 0


class KrakenReaders:
    def __init__(self, channel: str) -> None:
        self.channel = channel
        self._readers: WeakKeyDictionary[SubscriberConnection, _Reader] = WeakKeyDictionary()

    def join(self, connection: SubscriberConnection, options: frozenset[str] = frozenset()) -> None:
        connection.channels.add(self.channel)
        self._readers[connection] = _Reader(options)

    def leave(self, connection: SubscriberConnection) -> None:
        connection.channels.discard(self.channel)
        self._readers.pop(connection, None)

    def show(self, connection: SubscriberConnection, rows: Sequence[Row]) -> None:
        """A snapshot for one that has just joined."""
        connection.send(self._message(self._readers[connection], "snapshot", rows))

    def publish(self, rows: Sequence[Row], *, unless: str = "") -> None:
        """One update to all readers but those with the option `unless`."""
        for connection, reader in list(self._readers.items()):
            if self.channel in connection.channels and unless not in reader.options:
                connection.publish(self.channel, self._message(reader, "update", rows))

    def _message(self, reader: _Reader, kind: str, rows: Sequence[Row]) -> Row:
        reader.sequence += 1
        return {"channel": self.channel, "type": kind, "data": rows, "sequence": reader.sequence}


class PrivateChannel(Protocol):
    """One of the account's own channels."""

    known: frozenset[str]
    """The parameters that a subscription may have."""
    readers: KrakenReaders

    def result(self, parameters: Mapping[str, object]) -> Row:
        """As the acknowledgement repeats the subscription."""
        ...

    def start(self, connection: SubscriberConnection, parameters: Mapping[str, object]) -> None:
        """Join, with a snapshot where one is wanted."""
        ...
