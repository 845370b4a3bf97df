"""The process `notifier`. Each destination has an event reader and a delivery, independent of each other; one check of
ongoing alerts a second serves all of them."""

from collections.abc import Callable, Mapping

from notices.channels.secrets import Secrets
from notices.channels.senders import opened_senders
from notices.delivery import Delivery
from notices.event_reader import EventReader
from runtime.clock import SystemClock
from runtime.tasks import run_all
from session.session import Session
from store.queries.notice_events import NoticeEventReader
from store.server.change_streams import read_until_reachable

LOOK_SECONDS = 1.0


async def run_notifier(session: Session, secrets: Mapping[str, Secrets], ready: Callable[[], None]) -> None:
    """Run until cancelled. Ready once no event can be missed, whether or not a destination answers."""
    reader = NoticeEventReader(session)
    try:
        async with opened_senders(session.upkeep.notices, secrets) as senders:
            readings = [EventReader(reader, session, destination) for destination in session.upkeep.notices]
            deliveries = [
                Delivery(
                    reader.notices, reading.destination, senders[reading.destination.name], session.mode, reading.news
                )
                for reading in readings
            ]
            work = [reading.run() for reading in readings] + [delivery.run() for delivery in deliveries]
            await run_all(*work, _check_alerts(reader, readings), _report_ready(readings, ready))
    finally:
        await reader.close()


async def _check_alerts(reader: NoticeEventReader, readings: list[EventReader]) -> None:
    while True:
        present = await read_until_reachable(reader.present)
        for reading in readings:
            await reading.check_alerts(present)
        await SystemClock().sleep(LOOK_SECONDS)


async def _report_ready(readings: list[EventReader], ready: Callable[[], None]) -> None:
    for reading in readings:
        await reading.begun.wait()
    ready()
