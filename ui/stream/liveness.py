"""Polls Kafka and the detection process: their silence would show an outage much later.

Kafka's own client retries silently, and detection, which reports every other second, is slow when the machine is busy.
MongoDB is polled for changes all the time (`LiveHub`).
"""

from collections.abc import Awaitable, Callable

from runtime.clock import SystemClock
from store.errors import StoreError
from store.queries.trade_reader import TradeReader
from store.records.processes import ProcessState
from streams.topic_admin import is_answering

POLL_SECONDS = 1.0
"""Poll interval and connection timeout: an outage is reported within three seconds."""
ANSWER_TIMEOUT_SECONDS = 8.0
"""Answer timeout: a busy broker takes seconds, a frozen one never answers."""


async def poll_forever(look: Callable[[], Awaitable[None]]) -> None:
    """Run `look` until cancelled."""
    while True:
        await look()
        await SystemClock().sleep(POLL_SECONDS)


async def kafka_answers(address: str, answer_timeout: float = ANSWER_TIMEOUT_SECONDS) -> bool:
    """Return whether the broker answers at all: the machine must accept a connection in time, but a busy broker may
    take long. Raises StreamRejectedError."""
    return await is_answering(address, POLL_SECONDS, answer_timeout)


async def detection_process(reader: TradeReader) -> ProcessState | None:
    """Return its state as last reported by the supervisor; None without a report, or while MongoDB does not answer."""
    try:
        processes = await reader.processes.all()
    except StoreError:
        return None
    return next((one.state for one in processes if one.kind == "cep"), None)
