"""The dashboard's process as the supervisor runs it: Streamlit allows but one in a process, so it gets its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from launch.setup.data_dir import ready_file
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Session
from streams.broker.embedded_broker import free_ports
from tests.services import note_session

START_SECONDS = 60.0
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Served:
    """A dashboard that has reported ready."""

    session: Session
    process: "subprocess.Popen[bytes]"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.session.page.port}"

    @property
    def log(self) -> str:
        return (self.session.home / "ui.log").read_text()

    def stop(self) -> int:
        """By SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)


@contextmanager
def served(session: Session) -> Iterator[Served]:
    """On a free port; ended at the end."""
    (port,) = free_ports(1)
    with served_again(replace(session, page=replace(session.page, port=port))) as dashboard:
        yield dashboard


@contextmanager
def served_again(session: Session) -> Iterator[Served]:
    """On the session's own port."""
    note_session(session)
    ready = ready_file(session.home, "ui")
    ready.unlink(missing_ok=True)
    command = (sys.executable, "-m", "launch.commands.main", "ui")
    with (session.home / "ui.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | {"ARBITRAGE_HOME": str(session.home)}, stdout=log, stderr=log
        )
    dashboard = Served(session, process)
    try:
        deadline = wall_now() + int(START_SECONDS * MICROSECONDS)
        while not ready.exists():
            assert process.poll() is None, dashboard.log
            assert wall_now() < deadline, dashboard.log
            time.sleep(0.05)
        yield dashboard
    finally:
        if process.poll() is None:
            dashboard.kill()
