"""A session without Spark whose part that runs published apps is real: a Kafka, processes, and a store in memory."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.parts.app_limits import AppLimits
from launch.published.door_server import DoorServer
from launch.published.host import PublishedApps
from launch.published.worker_process import forking
from runtime.app_door import AppDoor
from runtime.clock import SystemClock
from session.session import Session
from store.ports.apps import StoredApps
from store.records.apps import AppState, StoredApp
from streams.message_format import row_of
from streams.topic_reader import TopicReader
from streams.topics import APPS, TICKS
from tests.cep.logs import write_ticks

TIMEOUT_SECONDS = 120.0
TERMS = OperatorTerms(limits=AppLimits(event_seconds=0.5))
CONTEXT = forking()


@dataclass
class PublishedWorld:
    """`first`: where the session's log begins."""

    session: Session
    apps: StoredApps
    first: int
    host: PublishedApps
    running: asyncio.Future[None]

    @property
    def door(self) -> AppDoor:
        return AppDoor(self.session.home)

    async def publish(self, name: str, text: str) -> StoredApp:
        known = await self.apps.app(name)
        if known is None:
            await self.apps.create(name, text, "ada")
        else:
            await self.apps.replace(name, text, known.version, "ada")
        return await self.order(name)

    async def order(self, name: str, version: int | None = None, *, keeps_state: bool = True) -> StoredApp:
        app = await self.apps.order(name, "published", "ada", version, keeps_state=keeps_state)
        assert app is not None
        return app

    async def until(self, name: str, state: AppState) -> str:
        """Wait for the state; return its reason."""
        return await self.until_says(name, state, "")

    async def until_says(self, name: str, state: AppState, part: str) -> str:
        """Wait for the state with a reason that has this part; return the reason."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while True:
                if self.running.done():
                    # whoever waits for it hears why
                    self.running.result()
                app = await self.apps.app(name)
                found = ("stopped", "") if app is None else app.state_in(self.session.session_id)
                if found[0] == state and part in found[1]:
                    return found[1]
                await SystemClock().sleep(0.02)

    async def write(self, rows: Iterable[bytes]) -> None:
        await write_ticks(self.session.services.kafka, rows)

    async def written(self, label: str, is_enough: Callable[[list[bytes]], bool]) -> list[bytes]:
        """Return the app's rows in the topic, once they are enough. Those from before this session are of other tests,
        whose apps may have the same text, and so the same label."""
        found: list[bytes] = []
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            TopicReader(self.session.services.kafka, (APPS,), self.session.started_at) as reader,
        ):
            async for record in reader.records():
                if record.key == label:
                    found.append(record.value)
                    if is_enough(found):
                        break
        return found


def computed(source: AppSource, rows: Iterable[bytes], first: int) -> list[bytes]:
    """Return what the app gives by itself, never cut."""
    kernel = HostedApp(source, 0)
    return [app_message(out) for at, row in enumerate(rows, first) for out in kernel.take(at, 0, row_of(row))]


async def log_begins(session: Session) -> int:
    """Note that the session's detection begins at the end of the log; return where that is."""
    async with TopicReader(session.services.kafka, (TICKS,), "latest") as reader:
        first = (await reader.end_offsets())[TICKS, 0]
    folder = session.home / "checkpoints" / session.session_id / "detection"
    await asyncio.to_thread(_note, folder, first)
    return first


def _note(folder: Path, first: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "opening.json").write_text(json.dumps({"offsets": {"0": first}, "settings": None}))


@asynccontextmanager
async def published(
    session: Session, apps: StoredApps, first: int, terms: OperatorTerms = TERMS
) -> AsyncIterator[PublishedWorld]:
    """Run the part until the end of the block."""
    host, ready = PublishedApps(session, apps, terms, CONTEXT), asyncio.Event()
    async with DoorServer(host, terms).opened():
        running = asyncio.ensure_future(host.run(ready.set))
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await ready.wait()
            yield PublishedWorld(session, apps, first, host, running)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
