"""A session's REST service on a real socket, with trades, and connections to it."""

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI

from remote.connection import Connection
from remote.requests import service_at
from tests.ui import conftest as ui
from tests.ui.api.listening import listening

session = ui.session
store = ui.store
application = ui.application
key = ui.key


@pytest.fixture
async def address(application: FastAPI) -> AsyncIterator[str]:
    async with listening(application) as served:
        yield f"http://{served}"


@pytest.fixture
def reader(address: str) -> Connection:
    return Connection(service_at(address))


@pytest.fixture
def operator(address: str, key: str) -> Connection:
    return Connection(service_at(address, key, changed_by="assistant (mcp)"))
