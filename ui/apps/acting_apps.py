"""Follows the rows of stream apps that act on the session: those that halt an exchange, and those of `app_actions`."""

import logging
from collections.abc import Callable

from market.decide.settings import Settings
from runtime.backoff import retry_on
from runtime.tasks import run_again, run_all
from session.session import Session
from store.errors import StoreError
from store.ports.parts import SettingsStore
from streams.errors import StreamError
from ui.apps.app_actions import AppActions
from ui.apps.app_halts import AppHalts
from ui.apps.left_out_actions import LeftOutActions
from ui.apps.row_follower import RowFollower

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
        following.append(_follow(RowFollower(kafka, halts.take)))
    if access.acting_apps:
        following.append(_follow(RowFollower(kafka, actions.take, actions)))
    if following:
        await run_all(*following)


async def _follow(rows: RowFollower) -> None:
    await run_again(lambda: retry_on(rows.read, (StreamError, StoreError), _tell), _tell_fault)


def _tell(error: Exception) -> None:
    log.warning("actions of apps wait", extra={"reason": str(error)})


def _tell_fault(fault: BaseException) -> None:
    log.error("following actions of apps failed; starting again", exc_info=fault)
