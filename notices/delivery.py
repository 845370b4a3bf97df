"""Delivers the queue of one destination: retries with growing delays, and drops a notice in the end."""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence

from market.time_units import MICROSECONDS
from notices.batching import batch_name, next_batch
from notices.channels.sender_port import Sender
from notices.errors import DestinationRejectedError, DestinationUnavailableError
from notices.messages import NoticeMessage
from runtime.backoff import CHANCE, jittered
from runtime.clock import wall_now
from session.notice_destinations import Destination
from session.session import Mode
from store.operations.notices import MongoNotices, QueuedNotice
from store.server.change_streams import read_until_reachable

FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds between two attempts."""
IDLE_SECONDS = 30.0
"""Poll interval; notices of this process wake the loop at once."""
MAX_RECORDED_ATTEMPTS = 200

log = logging.getLogger(__name__)


def retry_delay(failures: int, asked: float | None = None, chance: random.Random = CHANCE) -> float:
    """Return the seconds until the next attempt after so many failures in a row: doubled each time, with a tenth of
    jitter, and never sooner than the destination `asked` for."""
    delay = jittered(min(FIRST_DELAY * 2.0 ** min(failures - 1, 16), LONGEST_DELAY), chance)
    return delay if asked is None else max(asked, delay)


class Delivery:
    """Delivery to one destination. Its state is in the store: the process may be killed at any point and resumes."""

    def __init__(
        self, notices: MongoNotices, destination: Destination, sender: Sender, mode: Mode, news: asyncio.Event
    ) -> None:
        self._notices = notices
        self._destination = destination
        self._name = destination.name
        self._sender = sender
        self._mode: Mode = mode
        self._news = news
        self._attempts: deque[int] = deque(maxlen=MAX_RECORDED_ATTEMPTS)
        self._failures = 0
        self._next_try_at = 0

    async def run(self) -> None:
        """Run until cancelled, through outages of the store and of the destination."""
        states = await read_until_reachable(self._notices.states)
        own = next((state for state in states if state.name == self._name), None)
        if own is not None:
            # a restart must not hammer a destination that asked to be left alone
            self._failures, self._next_try_at = own.failures, own.next_try_at
        while True:
            self._news.clear()
            waiting = await read_until_reachable(lambda: self._notices.waiting(self._name))
            now = wall_now()
            plan = next_batch(waiting, self._attempts, self._destination, now)
            due = max(plan.at, self._next_try_at)
            if not plan.batch:
                await self._until_news(IDLE_SECONDS)
            elif due > now:
                await self._until_news((due - now) / MICROSECONDS)
            else:
                await self._deliver(plan.batch)

    async def _until_news(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return

    async def _deliver(self, batch: Sequence[QueuedNotice]) -> None:
        """Make one attempt, and record its result."""
        name = batch_name(batch)
        if batch[0].batch is None:
            ids = [row.notice.notice_id for row in batch]
            await read_until_reachable(lambda: self._notices.bind(self._name, ids, name))
        self._attempts.append(wall_now())
        message = NoticeMessage(name, self._mode, tuple(row.notice for row in batch))
        try:
            await self._sender.send(message)
        except DestinationUnavailableError as error:
            await self._failed(name, min(row.recorded_at for row in batch), error)
        except DestinationRejectedError as error:
            await self._give_up(name, str(error))
        else:
            self._failures = self._next_try_at = 0
            await read_until_reachable(lambda: self._notices.record_sent(self._name, name))

    async def _failed(self, name: str, recorded_at: int, error: DestinationUnavailableError) -> None:
        self._failures += 1
        delay = retry_delay(self._failures, error.retry_after)
        self._next_try_at = at = wall_now() + int(delay * MICROSECONDS)
        noted = {"destination": self._name, "batch": name, "error": str(error), "seconds": round(delay, 1)}
        log.warning("notice not delivered, retrying", extra=noted)
        await read_until_reachable(lambda: self._notices.record_failure(self._name, str(error), at))
        if wall_now() - recorded_at >= self._destination.drop_after_minutes * 60 * MICROSECONDS:
            await self._give_up(name, f"not delivered within {self._destination.drop_after_minutes:g} minutes: {error}")

    async def _give_up(self, name: str, reason: str) -> None:
        count = await read_until_reachable(lambda: self._notices.mark_failed(self._name, name, reason))
        noted = {"destination": self._name, "batch": name, "notices": count, "reason": reason}
        log.error("notice dropped", extra=noted)
