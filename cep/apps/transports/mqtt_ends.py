"""Rows to and from a broker of MQTT.

A message is acknowledged once its row is kept; what the broker holds of a client that is away comes when it is back.
Sources ask for a quality of 1 at most: the library keeps a message of quality 2 that is half received in memory alone,
so a killed process would lose it. Rows may come twice then, as of quality 1.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cep.apps.ends.server_names import covers
from cep.apps.ends.sink_ends import MqttTarget
from cep.apps.ends.source_ends import MqttTopics
from cep.apps.formats.row_formats import RowWriter
from cep.apps.transports.message_queue import MessageQueue
from cep.apps.transports.mqtt_connection import MqttClientName, MqttConnection, MqttMessage, MqttTerms
from cep.apps.transports.ports import IncomingMessage, Intake, NotTakenError, OutgoingRow, RowsRefusedError

ROWS_AT_ONCE = 100


class MqttSender:
    """A `SinkSender`. The broker is its one destination. `writes`: topics that the operator allows."""

    most_rows = ROWS_AT_ONCE
    linger_seconds = 0.0

    def __init__(
        self, target: MqttTarget, writer: RowWriter, terms: MqttTerms, client: str, writes: Sequence[str]
    ) -> None:
        self._target, self._writer, self._terms, self._writes = target, writer, terms, writes
        self._name = MqttClientName(target.client or client, target.version, is_clean=True)
        self._connection: MqttConnection | None = None

    def destination(self, values: Mapping[str, Any]) -> str:
        return self._target.server

    def server(self, destination: str) -> str:
        return self._target.server

    def shown(self, destination: str) -> str:
        return destination

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        connection = await self._opened()
        # all of them end before one counts, so that none is on its way when it is sent again
        outcomes = await asyncio.gather(*(self._publish(connection, row) for row in rows), return_exceptions=True)
        refused: dict[str, RowsRefusedError] = {}
        for number, outcome in enumerate(outcomes):
            match outcome:
                case RowsRefusedError():
                    refused[rows[number].id] = outcome
                case NotTakenError():
                    # what has no answer the library still sends on this connection, whoever waits for it
                    await self.close()
                    raise NotTakenError(str(outcome), taken=0 if refused else number)
                case BaseException():
                    raise outcome
        if refused:
            raise RowsRefusedError(str(next(iter(refused.values()))), refused.keys())

    async def _publish(self, connection: MqttConnection, row: OutgoingRow) -> None:
        topic, body = self._topic(row), self._body(row)
        await connection.publish(topic, body, self._target.qos, retain=self._target.retain)

    async def _opened(self) -> MqttConnection:
        if self._connection is not None and self._connection.lost.done():
            await self.close()
        if self._connection is None:
            connection = MqttConnection(self._terms, self._name, _ignored)
            try:
                await connection.open()
            except RowsRefusedError as error:
                await connection.close()
                # it is the login that is refused, and no row
                raise NotTakenError(str(error)) from None
            except BaseException:
                await connection.close()
                raise
            self._connection = connection
        return self._connection

    def _topic(self, row: OutgoingRow) -> str:
        try:
            topic = self._target.topic.filled(row.values)
        except ValueError as error:
            raise RowsRefusedError(f"the row has no topic: {error}") from None
        if re.search(r"[+#\0]", topic) or not topic or topic.startswith("$"):
            raise RowsRefusedError("the row's topic has a character that no topic may have")
        if not any(covers(one, topic) for one in self._writes):
            raise RowsRefusedError(f"the topic {topic!r} may not be written here")
        return topic

    def _body(self, row: OutgoingRow) -> bytes:
        try:
            return self._writer.write(row.values)
        except ValueError as error:
            raise RowsRefusedError(str(error)) from None


@dataclass(slots=True)
class MqttReceiver:
    """A `Receiver`."""

    topics: MqttTopics
    terms: MqttTerms
    client: str

    async def run(self, intake: Intake) -> None:
        async def take(message: MqttMessage) -> None:
            await queue.put(IncomingMessage(message.body, _properties(message)), message)

        def acknowledge(messages: Sequence[MqttMessage]) -> None:
            for one in messages:
                connection.acknowledge(one)

        queue = MessageQueue(intake, acknowledge)
        name = MqttClientName(self.topics.client or self.client, self.topics.version, self.topics.is_clean)
        connection = MqttConnection(self.terms, name, take)
        try:
            await connection.open()
            await queue.keep(self._follow(connection))
        finally:
            await connection.close()

    async def _follow(self, connection: MqttConnection) -> None:
        await connection.subscribe(self.topics.topics, min(self.topics.qos, 1))
        # nobody else may end it
        raise NotTakenError(await asyncio.shield(connection.lost))


async def _ignored(message: MqttMessage) -> None:
    """Who only sends has subscribed to nothing."""


def _properties(message: MqttMessage) -> Mapping[str, str]:
    return {"topic": message.topic, "qos": str(message.qos), "retained": str(message.retained).lower()}
