"""A database that is not up yet causes no warning; one that stays away causes one."""

import asyncio
import logging
from pathlib import Path

import pytest

from launch.supervisor.process_states import ProcessStates
from launch.supervisor.status_writer import StatusWriter
from runtime.clock import SystemClock
from session.session import Services, Session
from streams.broker.embedded_broker import free_ports
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.notices.running import running

NOWHERE_OPTIONS = "serverSelectionTimeoutMS=50&connectTimeoutMS=50"


def session_at(mongodb: str, home: Path) -> Session:
    return Session("session-1", "paper", home, Services("", mongodb, "telling"), (USD_MARKET, EUR_MARKET), "USD")


async def notes(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """Return the notes once there is any of that level."""
    async with asyncio.timeout(20):
        while not (found := [r.getMessage() for r in caplog.records if r.levelno == level and r.name == "launch"]):
            await SystemClock().sleep(0.02)
    return found


@pytest.mark.parametrize(("quiet_seconds", "is_said"), [(60.0, False), (0.0, True)])
async def test_an_absent_database(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, quiet_seconds: float, is_said: bool
) -> None:
    caplog.set_level(logging.INFO, "launch")
    (port,) = free_ports(1)
    session = session_at(f"mongodb://127.0.0.1:{port}/?{NOWHERE_OPTIONS}", tmp_path)
    async with running(StatusWriter(session, ProcessStates(is_ordered=True), quiet_seconds).run()):
        await notes(caplog, logging.INFO)
        if is_said:
            (reported,) = await notes(caplog, logging.WARNING)
            assert reported.startswith("MongoDB does not answer; the dashboard shows stale process states")
    assert any(record.levelno == logging.WARNING for record in caplog.records) == is_said
