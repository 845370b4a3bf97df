"""One served dashboard per module, with books, feeds, a trade and quotes."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from tests.ui.pages import conftest as pages
from tests.ui.pages.browser import awaited, prepare
from tests.ui.samples import session_of
from tests.ui.serving import Served, served

chromium = pages.chromium


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, kafka_address: str) -> Iterator[Served]:
    session = session_of(tmp_path_factory.mktemp("web"), mongodb_uri, f"test_{uuid4().hex}", kafka_address)
    awaited(prepare(session))
    with served(session) as running:
        yield running
