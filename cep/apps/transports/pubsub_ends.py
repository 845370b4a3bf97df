"""Rows to topics of Google Pub/Sub, and messages of its subscriptions.

A message is acknowledged once its row is kept. What nobody acknowledges within the subscription's time comes again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.ends.sink_ends import PubSubTarget
from cep.apps.ends.source_ends import PubSubMessages
from cep.apps.formats.row_formats import RowWriter
from cep.apps.transports.ports import IncomingMessage, Intake, OutgoingRow, RowsRefusedError
from cep.apps.transports.pubsub_client import PubSubClient, PubSubTerms, PulledMessage
from runtime.clock import SystemClock

ROWS_AT_ONCE = 500
MESSAGES_AT_ONCE = 500
BYTES_AT_ONCE = 16 << 20
"""About so much is asked for, by the size of the messages before."""
FIRST_MESSAGES = 10
ACKS_AT_ONCE = 250
"""A request to acknowledge has 512 KiB at most (https://cloud.google.com/pubsub/quotas#resource_limits)."""
QUIET_SECONDS = 0.2
"""After an answer without messages: emulators give one at once."""
KEY_BYTES = 1_024
"""Of an ordering key (https://cloud.google.com/pubsub/docs/ordering)."""
KEY_SIGN = " "
"""Before the key in a destination; no name of a topic has one."""


class PubSubSender:
    """A `SinkSender`. Its destinations are the topic, with each ordering key of rows: the messages of one request all
    have the same (https://cloud.google.com/pubsub/docs/publisher). Each has the row's id as its attribute `row_id`."""

    most_rows = ROWS_AT_ONCE
    linger_seconds = 0.0

    def __init__(self, target: PubSubTarget, writer: RowWriter, terms: PubSubTerms) -> None:
        self._target, self._writer, self._client = target, writer, PubSubClient(terms)

    def destination(self, values: Mapping[str, Any]) -> str:
        topic = f"{self._target.server}/{self._target.topic}"
        if self._target.ordering_key is None:
            return topic
        try:
            key = self._target.ordering_key.filled(values)
        except ValueError as error:
            raise RowsRefusedError(f"the row has no ordering key: {error}") from None
        if len(key.encode()) > KEY_BYTES:
            raise RowsRefusedError(f"the row's ordering key has more than {KEY_BYTES:,} bytes")
        return f"{topic}{KEY_SIGN}{key}"

    def server(self, destination: str) -> str:
        return self._target.server

    def shown(self, destination: str) -> str:
        return destination

    async def close(self) -> None:
        await self._client.close()

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        if not destination:
            # that of rows that can go nowhere, which say why
            for row in rows:
                await self.send(self.destination(row.values), [row])
            return
        # not the row's: it may wait since the app's text said something else, beside others that have another
        key = destination.partition(KEY_SIGN)[2]
        await self._client.publish(self._target.topic, [self._message(row) for row in rows], key)

    def _message(self, row: OutgoingRow) -> tuple[bytes, dict[str, str]]:
        try:
            body = self._writer.write(row.values)
        except ValueError as error:
            # names no row: that would say that the others were taken
            raise RowsRefusedError(str(error)) from None
        return body, {"row_id": row.id, "row_time": str(row.time)}


@dataclass(slots=True)
class PubSubReceiver:
    """A `Receiver`."""

    messages: PubSubMessages
    terms: PubSubTerms

    async def run(self, intake: Intake) -> None:
        client, name, most = PubSubClient(self.terms), self.messages.subscription, FIRST_MESSAGES
        try:
            while True:
                found = await client.pull(name, most)
                if not found:
                    await SystemClock().sleep(QUIET_SECONDS)
                    continue
                await intake.take([IncomingMessage(one.body, _properties(one)) for one in found])
                acks = [one.ack for one in found]
                for begin in range(0, len(acks), ACKS_AT_ONCE):
                    await client.acknowledge(name, acks[begin : begin + ACKS_AT_ONCE])
                most = most_messages(found)
        finally:
            await client.close()


def most_messages(before: Sequence[PulledMessage]) -> int:
    """Return how many to ask for after these."""
    size = sum(len(one.body) for one in before) // len(before)
    return max(1, min(MESSAGES_AT_ONCE, BYTES_AT_ONCE // max(1, size)))


def _properties(message: PulledMessage) -> Mapping[str, str]:
    return {**message.attributes, "messageId": message.id, "orderingKey": message.ordering_key}
