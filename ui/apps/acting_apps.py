"""Follows the rows of stream apps that act on the session: those that halt an exchange, and those of `app_actions`."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import wall_now
from runtime.tasks import run_again, run_all
from session.session import Session
from store.errors import StoreError
from store.ports.parts import SettingsStore
from streams.errors import StreamError
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topics import APPS
from ui.apps.app_actions import ACTION_SECONDS, AppActions
from ui.apps.app_halts import HALT_SECONDS, AppHalts
from ui.apps.left_out_actions import LeftOutActions

log = logging.getLogger("ui")


async def follow_acting_apps(
    session: Session, settings: SettingsStore, changed: Callable[[Settings], None], left_out: LeftOutActions
) -> None:
    """Follow rows until cancelled, through failures of Kafka and MongoDB; begin again after a fault of ours. Return at
    once if no app may act."""
    access, clock = session.page.access, session.clock()
    halts = AppHalts(session.exchanges, access.halting_apps, settings, clock, changed, _tell)
    actions = AppActions(session, settings, clock, changed, _tell, left_out, clock.now())
    kafka = session.services.kafka
    # a reader each: an exchange is taken off while other apps ask for much
    following = []
    if access.halting_apps:
        following.append(_follow(kafka, halts.take, _last_minute, None))
    if access.acting_apps:
        following.append(_follow(kafka, actions.take, partial(since_oldest_entry, settings), actions))
    if following:
        await run_all(*following)


async def _follow(
    kafka: str,
    take: Callable[[bytes], Awaitable[None]],
    start: Callable[[], Awaitable[int]],
    actions: AppActions | None,
) -> None:
    """Take the rows from `start` on, and each later one. Repeated rows are recognised by their ids, but one that was
    left out is not: so reading goes on where it was after a failure. `actions`: to be settled once all rows that are
    there are taken."""
    following: dict[Position, int] = {}

    async def take_one(record: Record) -> None:
        following[record.position] = record.offset + 1
        try:
            await take(record.value)
        except StoreError:
            following[record.position] = record.offset
            raise

    async def settle(reader: TopicReader) -> None:
        if actions is not None and actions.has_late:
            async for record in reader.records_to_end():
                await take_one(record)
            await actions.settle()

    async def read() -> None:
        async with TopicReader(kafka, (APPS,), following or await start()) as reader:
            following.update(reader.next_offsets)
            await settle(reader)
            async for record in reader.records():
                await take_one(record)
                await settle(reader)

    await run_again(lambda: retry_on(read, (StreamError, StoreError), _tell), _tell_fault)


async def _last_minute() -> int:
    return wall_now() - HALT_SECONDS * MICROSECONDS


async def since_oldest_entry(settings: SettingsStore) -> int:
    """Return from when on rows are read, microseconds: what takes an app's entry back may have been written at any time
    since that was made, while nobody followed. Raises StoreError."""
    entries = await settings.entries_of_apps()
    return min([wall_now(), *(one.at for one in entries)]) - ACTION_SECONDS * MICROSECONDS


def _tell(error: Exception) -> None:
    log.warning("actions of apps wait", extra={"reason": str(error)})


def _tell_fault(fault: BaseException) -> None:
    log.error("following actions of apps failed; starting again", exc_info=fault)
