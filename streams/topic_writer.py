"""Writes to topics without waiting for each row; a lost row is always reported."""

import asyncio
import logging
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from streams.errors import StreamError, StreamRejectedError, StreamUnavailableError
from streams.log_throttle import LogThrottle
from streams.topic_admin import check_reachable, client_settings, reason_of

DELIVERY_SECONDS = 30.0
"""An outage of Kafka up to this long loses no rows."""
FLUSH_SLICE_SECONDS = 0.2
ANY_PARTITION = -1  # the library's value for: by the key's CRC-32
BUFFERED_ROWS = 100_000
BUFFERED_KILOBYTES = 128 * 1024

log = logging.getLogger("streams")


class TopicWriter:
    """Rows reach each partition in the order of `write`, once each (idempotent producer, all replicas acknowledge).

    A row that Kafka did not acknowledge within 30 s is lost: from then on every `write`, `flush` and `close` raises.
    Close the writer then and open another.
    """

    def __init__(self, address: str, *, is_gapless: bool = False, wait_ms: int = 0) -> None:
        """`is_gapless`: no row behind a lost one is written any more; else those may be that wait with it. `wait_ms`:
        how long a row may wait for others to go with, each one more for every hop: quote, opportunity, page."""
        self._address = address
        self._log_throttle = LogThrottle(address)
        self._failure: StreamError | None = None
        self._producer = Producer(
            client_settings(address)
            | {
                "linger.ms": wait_ms,
                "acks": "all",
                "enable.idempotence": True,
                "enable.gapless.guarantee": is_gapless,
                "delivery.timeout.ms": int(DELIVERY_SECONDS * 1_000),
                "queue.buffering.max.messages": BUFFERED_ROWS,
                "queue.buffering.max.kbytes": BUFFERED_KILOBYTES,
                "error_cb": self._on_error,
            }
        )

    async def open(self) -> None:
        """Check once that Kafka is reachable. Raises StreamUnavailableError within seconds."""
        await check_reachable(self._address)

    def write(
        self,
        topic: str,
        value: bytes,
        key: str | None = None,
        partition: int | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Queue one row; returns at once. Without a partition it goes to the key's (`topics.partition_of`).

        Raises StreamUnavailableError if an earlier row was lost or the buffer is full; StreamRejectedError if
        Kafka rejected a row."""
        self._producer.poll(0)  # process delivery reports of earlier rows
        self._raise_failure()
        try:
            self._producer.produce(
                topic,
                value=value,
                key=None if key is None else key.encode(),
                partition=ANY_PARTITION if partition is None else partition,
                headers=None if headers is None else [(name, text.encode()) for name, text in headers.items()],
                on_delivery=self._on_delivery,
            )
        except BufferError:
            raise StreamUnavailableError(
                f"{len(self._producer)} rows wait for Kafka at {self._address}; the buffer is full until it answers."
            ) from None
        except KafkaException as error:
            raise _stream_error(error.args[0], f"a row for {topic} at {self._address} was rejected") from None

    async def flush(self, seconds: float = DELIVERY_SECONDS) -> None:
        """Return once all rows written so far are acknowledged.

        Raises StreamUnavailableError if some are not within `seconds`; they may still arrive.
        """
        deadline = steady_now() + int(seconds * MICROSECONDS)
        # in slices: a thread cannot be cancelled, and the process must be able to end within 2 s
        try:
            while waiting := await asyncio.to_thread(self._producer.flush, FLUSH_SLICE_SECONDS):
                if steady_now() >= deadline:
                    break
        except KafkaException as error:
            raise _stream_error(error.args[0], f"Kafka at {self._address} rejected this writer") from None
        self._raise_failure()
        if waiting:
            raise StreamUnavailableError(f"{waiting} rows were not acknowledged by Kafka at {self._address}.")

    async def close(self, seconds: float = 1.5) -> None:
        """Flush for at most `seconds`, then drop the connection. Raises as `flush` does."""
        try:
            await self.flush(seconds)
        finally:
            self._producer.purge(blocking=False)
            self._producer.poll(0)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = _stream_error(error, f"a row for {message.topic()} at {self._address} was lost")
            log.error(
                "row lost", extra={"topic": message.topic(), "partition": message.partition(), "cause": error.str()}
            )

    def _on_error(self, error: KafkaError) -> None:
        self._log_throttle.log_cause(error.str())
        if error.fatal() and self._failure is None:
            # a gap comes of an outage that was too long
            kind = StreamUnavailableError if error.code() == KafkaError._GAPLESS_GUARANTEE else StreamRejectedError
            self._failure = kind(f"Kafka at {self._address} rejected this writer ({error.str()}).")


def _stream_error(error: KafkaError, sentence: str) -> StreamError:
    """Retriable errors, timeouts and rows dropped at closing may be retried; other errors may not."""
    is_retriable = error.retriable() or error.code() in (
        KafkaError._MSG_TIMED_OUT,
        KafkaError._PURGE_QUEUE,
        KafkaError._TRANSPORT,
    )
    kind = StreamUnavailableError if is_retriable else StreamRejectedError
    return kind(f"{sentence} ({reason_of(KafkaException(error))}).")
