"""One connection to a broker of MQTT, 3.1.1 or 5, for asyncio. It is made once: who loses it makes another.

The library is imported when a connection is made: few apps have one.
"""

import asyncio
import ssl
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cep.apps.transports.ports import NotTakenError, RowsRefusedError

if TYPE_CHECKING:
    from paho.mqtt.client import Client

ANSWER_SECONDS = 10.0
KEEP_ALIVE_SECONDS = 30
SESSION_SECONDS = 24 * 3_600
"""For so long a broker of MQTT 5 keeps what comes while we are away; others have limits of their own."""
MOST_UNACKNOWLEDGED = 1_000
MOST_PACKET_BYTES = (1 << 20) + (1 << 16)
"""A broker of MQTT 5 sends no longer ones (3.1.2.11.4): a message of a megabyte with its topic."""
MQTT_5 = 5
OF_THE_MESSAGE = frozenset((0x90, 0x95, 0x99))
"""Reason codes that say something about a message: its topic's name, its size, its format (MQTT 5, 2.4). Any other, as
that the client may not, is over with another login or at another time."""


@dataclass(frozen=True, slots=True)
class MqttTerms:
    """Where a broker is. `tls`: None for a connection in plain text. `answer_seconds`: longest wait for an answer."""

    host: str
    port: int
    user: str | None = None
    password: str | None = None
    tls: ssl.SSLContext | None = None
    answer_seconds: float = ANSWER_SECONDS


@dataclass(frozen=True, slots=True)
class MqttClientName:
    """`version`: 4 for MQTT 3.1.1, or 5. `is_clean`: whether the broker forgets the client once it is away."""

    client: str
    version: int
    is_clean: bool


@dataclass(frozen=True, slots=True)
class MqttMessage:
    """`mid`, `qos`: by which it is acknowledged."""

    topic: str
    body: bytes
    mid: int
    qos: int
    retained: bool


class MqttConnection:
    """All methods are called in the event loop; the library's thread only hands over what came. While `on_message`
    waits, nothing more is read from the broker."""

    def __init__(
        self, terms: MqttTerms, name: MqttClientName, on_message: Callable[[MqttMessage], Coroutine[Any, Any, None]]
    ) -> None:
        self._terms, self._name, self._on_message = terms, name, on_message
        self._taking: Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self.lost: asyncio.Future[str] = self._loop.create_future()
        """Done once the connection is, with the reason."""
        self._client: Client | None = None

    async def open(self) -> None:
        """Raise NotTakenError, RowsRefusedError; close it then."""
        self._client = client = self._made()
        try:
            async with asyncio.timeout(self._terms.answer_seconds):
                await asyncio.to_thread(self._connect, client)
                client.loop_start()
                await self._connected
        except TimeoutError:
            raise NotTakenError(f"{self._place} does not answer") from None
        except (OSError, ValueError) as error:
            raise NotTakenError(f"{self._place} cannot be reached ({error})") from None

    async def subscribe(self, filters: Sequence[str], qos: int) -> None:
        """Raise NotTakenError, RowsRefusedError."""
        result, mid = self._opened.subscribe([(one, qos) for one in filters])
        await self._answered(int(result), mid, "the subscription")

    async def publish(self, topic: str, body: bytes, qos: int, *, retain: bool) -> None:
        """Return once the broker has the message; with a quality of 0 once it was sent. Raises NotTakenError,
        RowsRefusedError."""
        try:
            sent = self._opened.publish(topic, body, qos, retain)
        except ValueError as error:
            # too long, or no topic
            raise RowsRefusedError(f"the message cannot be sent ({error})") from None
        await self._answered(int(sent.rc), sent.mid, "the message")

    def acknowledge(self, message: MqttMessage) -> None:
        if message.qos:
            self._opened.ack(message.mid, message.qos)

    async def close(self) -> None:
        client, self._client = self._client, None
        if self._connected.done() and not self._connected.cancelled():
            # nobody may have waited for it any more
            self._connected.exception()
        if client is None:
            return
        if self._taking is not None:
            self._taking.cancel()
        client.disconnect()
        # waits for the library's thread
        await asyncio.to_thread(client.loop_stop)

    @property
    def _place(self) -> str:
        return f"{self._terms.host}:{self._terms.port}"

    @property
    def _opened(self) -> "Client":
        if self._client is None or self.lost.done():
            raise NotTakenError(f"{self._place}: the connection is lost")
        return self._client

    def _made(self) -> "Client":
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

        is_new = self._name.version == MQTT_5
        client = Client(
            CallbackAPIVersion.VERSION2,
            self._name.client,
            clean_session=None if is_new else self._name.is_clean,
            protocol=MQTTProtocolVersion.MQTTv5 if is_new else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        if self._terms.user is not None:
            client.username_pw_set(self._terms.user, self._terms.password)
        if self._terms.tls is not None:
            client.tls_set_context(self._terms.tls)
        client.on_connect = self._hand_over(lambda flags, code, properties: self._take_connection(code))
        client.on_disconnect = self._hand_over(lambda flags, code, properties: self._lose(f"{self._place}: {code}"))
        client.on_publish = self._hand_over(lambda mid, code, properties: self._take_answer(mid, [code]))
        client.on_subscribe = self._hand_over(lambda mid, codes, properties: self._take_answer(mid, codes))
        client.on_message = self._take_message
        return client

    def _connect(self, client: "Client") -> None:
        terms = self._terms
        if self._name.version != MQTT_5:
            client.connect(terms.host, terms.port, KEEP_ALIVE_SECONDS)
            return
        from paho.mqtt.packettypes import PacketTypes
        from paho.mqtt.properties import Properties

        properties = Properties(PacketTypes.CONNECT)
        properties.ReceiveMaximum = MOST_UNACKNOWLEDGED
        properties.MaximumPacketSize = MOST_PACKET_BYTES
        properties.SessionExpiryInterval = 0 if self._name.is_clean else SESSION_SECONDS
        client.connect(
            terms.host, terms.port, KEEP_ALIVE_SECONDS, clean_start=self._name.is_clean, properties=properties
        )

    def _hand_over(self, take: Callable[..., None]) -> Callable[..., None]:
        """Return a callback that gives what comes after client and user data to `take`, in the event loop."""

        def called(client: object, data: object, *found: Any) -> None:
            self._loop.call_soon_threadsafe(take, *found)

        return called

    def _take_connection(self, code: Any) -> None:
        if self._connected.done():
            return
        if not code.is_failure:
            self._connected.set_result(None)
        elif str(code) in ("Server unavailable", "Server busy", "Quota exceeded", "Connection rate exceeded"):
            self._connected.set_exception(NotTakenError(f"{self._place} takes no client now ({code})"))
        else:
            self._connected.set_exception(RowsRefusedError(f"{self._place} refuses the client ({code})"))

    def _take_answer(self, mid: int, codes: Sequence[Any]) -> None:
        waiting = self._waiting.pop(mid, None)
        if waiting is None or waiting.done():
            return
        failed = next((one for one in codes if one.is_failure), None)
        if failed is None:
            waiting.set_result(None)
        elif failed.value in OF_THE_MESSAGE:
            waiting.set_exception(RowsRefusedError(f"{self._place} refuses it ({failed})"))
        else:
            waiting.set_exception(NotTakenError(f"{self._place} does not take it ({failed})"))

    def _take_message(self, client: object, data: object, found: Any) -> None:
        """Wait in the library's thread until the message is taken."""
        message = MqttMessage(found.topic, bytes(found.payload), found.mid, found.qos, bool(found.retain))
        self._taking = taking = asyncio.run_coroutine_threadsafe(self._on_message(message), self._loop)
        if self._client is None:
            # closed meanwhile: nobody takes it any more
            taking.cancel()
        with suppress(CancelledError):
            taking.result()

    def _lose(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)
        if not self._connected.done():
            self._connected.set_exception(NotTakenError(reason))
        for one in self._waiting.values():
            if not one.done():
                one.set_exception(NotTakenError(reason))
        self._waiting.clear()

    async def _answered(self, result: int, mid: int | None, what: str) -> None:
        if result != 0 or mid is None:
            raise NotTakenError(f"{self._place}: {what} could not be sent")
        self._waiting[mid] = waiting = self._loop.create_future()
        try:
            async with asyncio.timeout(self._terms.answer_seconds):
                await waiting
        except TimeoutError:
            raise NotTakenError(f"{self._place} does not answer") from None
        finally:
            self._waiting.pop(mid, None)
