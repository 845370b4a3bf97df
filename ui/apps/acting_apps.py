"""Follows the rows of stream apps that act on the session: those that halt an exchange, and those of `app_actions`."""

import logging
from collections.abc import Awaitable, Callable

from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import wall_now
from runtime.tasks import run_again, run_all
from session.session import Session
from store.errors import StoreError
from store.ports.parts import SettingsStore
from streams.errors import StreamError
from streams.records import Position
from streams.topic_reader import TopicReader
from streams.topics import APPS
from ui.apps.app_actions import ACTION_SECONDS, AppActions
from ui.apps.app_halts import HALT_SECONDS, AppHalts

log = logging.getLogger("ui")


async def follow_acting_apps(session: Session, settings: SettingsStore, changed: Callable[[Settings], None]) -> None:
    """Follow rows until cancelled, through failures of Kafka and MongoDB; begin again after a fault of ours. Return at
    once if no app may act."""
    access, clock = session.page.access, session.clock()
    halts = AppHalts(session.exchanges, access.halting_apps, settings, clock, changed, _tell)
    actions = AppActions(session, settings, clock, changed, _tell)
    kafka = session.services.kafka
    # a reader each: an exchange is taken off while other apps ask for much
    following = [
        _follow(kafka, take, seconds)
        for apps, take, seconds in (
            (access.halting_apps, halts.take, HALT_SECONDS),
            (access.acting_apps, actions.take, ACTION_SECONDS),
        )
        if apps
    ]
    if following:
        await run_all(*following)


async def _follow(kafka: str, take: Callable[[bytes], Awaitable[None]], seconds: int) -> None:
    """Take the rows of the last `seconds` and each later one. Repeated rows are recognised by their ids, but one that
    was left out is not: so reading goes on where it was after a failure."""
    following: dict[Position, int] = {}

    async def read() -> None:
        start = following or wall_now() - seconds * MICROSECONDS
        async with TopicReader(kafka, (APPS,), start) as reader:
            following.update(reader.next_offsets)
            async for record in reader.records():
                following[record.position] = record.offset + 1
                try:
                    await take(record.value)
                except StoreError:
                    following[record.position] = record.offset
                    raise

    await run_again(lambda: retry_on(read, (StreamError, StoreError), _tell), _tell_fault)


def _tell(error: Exception) -> None:
    log.warning("actions of apps wait", extra={"reason": str(error)})


def _tell_fault(fault: BaseException) -> None:
    log.error("following actions of apps failed; starting again", exc_info=fault)
