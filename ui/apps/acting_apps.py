"""Follows the rows of stream apps that act on the session: those that halt an exchange, and those of `app_actions`."""

import logging
from collections.abc import Callable

from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import wall_now
from runtime.tasks import run_again
from session.session import Session
from store.errors import StoreError
from store.ports.parts import SettingsStore
from streams.errors import StreamError
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
    oldest = max(HALT_SECONDS, ACTION_SECONDS) * MICROSECONDS

    async def read() -> None:
        # repeated rows are recognised by their ids
        async with TopicReader(session.services.kafka, (APPS,), wall_now() - oldest) as reader:
            async for record in reader.records():
                await halts.take(record.value)
                await actions.take(record.value)

    if access.halting_apps or access.acting_apps:
        await run_again(lambda: retry_on(read, (StreamError, StoreError), _tell), _tell_fault)


def _tell(error: Exception) -> None:
    log.warning("actions of apps wait", extra={"reason": str(error)})


def _tell_fault(fault: BaseException) -> None:
    log.error("following actions of apps failed; starting again", exc_info=fault)
