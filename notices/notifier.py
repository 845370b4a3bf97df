"""The process `notifier`: for each destination one reader of what happens and one that delivers, none waiting for
another, and one look a second at what stands, for all of them."""

from collections.abc import Callable, Mapping

from notices.channels.channel_secrets import Secrets
from notices.channels.senders import opened_senders
from notices.delivery import Delivery
from notices.event_reader import EventReader
from session.clock import SystemClock
from session.session import Session
from session.tasks import run_all
from store.queries.notice_events import NoticeEventReader
from store.server.change_streams import read_until_reachable

LOOK_SECONDS = 1.0


async def run_notifier(session: Session, secrets: Mapping[str, Secrets], ready: Callable[[], None]) -> None:
    """Until cancelled. Ready once nothing that happens can be missed, whether or not any destination answers."""
    reader = NoticeEventReader(session)
    try:
        async with opened_senders(session.notices, secrets) as senders:
            readings = [EventReader(reader, session, destination) for destination in session.notices]
            deliveries = [
                Delivery(
                    reader.notices, reading.destination, senders[reading.destination.name], session.mode, reading.news
                )
                for reading in readings
            ]
            work = [reading.run() for reading in readings] + [delivery.run() for delivery in deliveries]
            await run_all(*work, _look(reader, readings), _tell_ready(readings, ready))
    finally:
        await reader.close()


async def _look(reader: NoticeEventReader, readings: list[EventReader]) -> None:
    while True:
        present = await read_until_reachable(reader.present)
        for reading in readings:
            await reading.look(present)
        await SystemClock().sleep(LOOK_SECONDS)


async def _tell_ready(readings: list[EventReader], ready: Callable[[], None]) -> None:
    for reading in readings:
        await reading.begun.wait()
    ready()
