"""A served dashboard and a Chromium, one of each per module of browser tests."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.ui.pages.browser import ARGUMENTS, CHROMIUM, OTHER_MARKET, Watched, awaited, opened, prepare
from tests.ui.samples import session_of
from tests.ui.serving import Served, served


@pytest.fixture(scope="module")
def served_dashboard(
    tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, kafka_address: str
) -> Iterator[Served]:
    """Its process, with books, feeds, one trade and a quote of each market."""
    known = session_of(tmp_path_factory.mktemp("page"), mongodb_uri, f"test_{uuid4().hex}", kafka_address)
    session = replace(known, markets=(*known.markets, OTHER_MARKET))
    awaited(prepare(session))
    with served(session) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}; install Debian's chromium to run these")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def wide(chromium: Browser, served_dashboard: Served) -> Iterator[Watched]:
    """One page for all tests of a module that only look; it opens on Live."""
    with opened(chromium, served_dashboard) as watched:
        yield watched
