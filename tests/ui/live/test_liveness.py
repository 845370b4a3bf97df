"""Kafka, MongoDB and detection end one after the other: readiness says which, at once, and when each is back."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.clock import wall_now
from runtime.logins import Address, Login
from session.session import Session
from store.mongo.store import open_store
from store.operations.processes import open_processes
from store.records.processes import ProcessReport, ProcessState
from streams.broker.embedded_broker import free_ports
from streams.query_progress import QueryProgress
from streams.topic_admin import ensure_topics
from tests.service_process import ServiceProcess
from tests.services import embedded_kafka, mongod_process, wait_primary
from tests.store.reservation_requests import open_books
from tests.ui.clients import client_of
from tests.ui.samples import SETTINGS, session_of
from tests.ui.waiting import until
from ui.live.consumer_lag import DetectionLag
from ui.server.application import build_app
from ui.services.dashboard import dashboard_of
from ui.stream.live_hub import LiveHub
from ui.stream.liveness import kafka_answers

HOUR = 3_600_000_000


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[ServiceProcess]:
    with embedded_kafka(tmp_path / "kafka") as process:
        yield process


@pytest.fixture
async def own_mongod(tmp_path: Path) -> AsyncIterator[ServiceProcess]:
    with mongod_process(tmp_path / "mongodb") as process:
        await wait_primary(process)
        yield process


async def tell(session: Session, state: ProcessState) -> None:
    """As the supervisor of detection does."""
    async with open_processes(session) as processes:
        now = await processes.beat(1)
        await processes.report([ProcessReport("cep", "cep", None, state, 0)], now)


def detect(hub: LiveHub) -> None:
    """As if the driver had told that its query runs, and a probe had come out of it; for the next hour."""
    now = wall_now()
    hub.stream_lag.queries["opportunities"] = QueryProgress("s", "opportunities", True, True, now + HOUR, now, "")
    hub.stream_lag.detection[0] = DetectionLag(came_out_at=now + 1)


@pytest.mark.slow
async def test_readiness_follows_the_end_and_the_return_of_each(
    tmp_path: Path, own_kafka: ServiceProcess, own_mongod: ServiceProcess
) -> None:
    session = replace(session_of(tmp_path, own_mongod.address, "ends", own_kafka.address), started_at=wall_now())
    await ensure_topics(own_kafka.address, 1)
    async with await open_store(session) as store:
        await open_books(store, SETTINGS)
    await tell(session, "ready")
    app = build_app(session, with_pages=False)
    async with (
        app.router.lifespan_context(app),
        client_of(app) as client,
    ):
        detect(dashboard_of(app).hub)

        async def said() -> list[str]:
            answer = await client.get("/api/ready")
            missing: list[str] = answer.json()["missing"]
            assert (answer.status_code == 503) == bool(missing)
            return missing

        async def until_said(missing: list[str]) -> None:
            async def is_said() -> bool:
                return await said() == missing

            await until(is_said)

        await until_said([])
        await tell(session, "restarting")
        await until_said(["detection"])
        await tell(session, "ready")
        await until_said([])
        assert await kafka_answers(own_kafka.address)
        own_kafka.kill()
        await until_said(["kafka"])
        own_kafka.start()
        await until_said([])
        own_mongod.kill()
        await until_said(["mongodb"])
        own_mongod.start()
        await wait_primary(own_mongod)
        await until_said([])


async def test_whether_anything_listens() -> None:
    (port,) = free_ports(1)
    assert not await kafka_answers(f"127.0.0.1:{port}")


async def test_a_kafka_that_takes_connections_and_is_frozen_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        assert not await kafka_answers(f"127.0.0.1:{frozen.getsockname()[1]}", answer_timeout=0.05)
        login = Login("ui", "word", protocol="SASL_SSL")
        assert not await kafka_answers(Address(f"127.0.0.1:{frozen.getsockname()[1]}", login), answer_timeout=0.05)


async def test_a_kafka_that_hangs_up_does_not_answer() -> None:
    def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert not await kafka_answers(f"127.0.0.1:{port}")
