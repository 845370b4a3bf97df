"""The part that runs published apps, as a process of its own beside a session that was noted."""

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from launch.supervisor.process_groups import signal_group, spawn
from launch.supervisor.process_plan import APPS, own_processes
from market.time_units import MICROSECONDS
from runtime.app_door import SOCKET
from runtime.clock import steady_now
from session.session import Session
from tests.launch.published.published_world import log_begins
from tests.services import START_SECONDS


@contextmanager
def apps_part(session: Session) -> Iterator[None]:
    """Run it until the end of the block; its door is open when this yields."""
    asyncio.run(log_begins(session))
    (part,) = (one for one in own_processes(session, (), fed=True) if one.name == APPS)
    log = session.home / "logs" / "apps.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    process = spawn(part, log)
    deadline = steady_now() + int(START_SECONDS * MICROSECONDS)
    try:
        while not (session.home / SOCKET).exists():
            assert process.poll() is None, log.read_text()
            assert steady_now() < deadline, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        signal_group(process.pid, signal.SIGKILL)
        process.wait()
