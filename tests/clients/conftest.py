"""Fixtures of the clients' tests."""

from collections.abc import Iterator

import pytest

from tests.clients.serving import ServedExchanges, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExchanges]:
    with serving(tmp_path_factory.mktemp("served")) as exchanges:
        yield exchanges


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExchanges]:
    words = ("--tls", "--port-per-exchange", "--accounts", "2")
    with serving(tmp_path_factory.mktemp("secured"), *words) as exchanges:
        yield exchanges


@pytest.fixture(scope="module")
def on_own_ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedExchanges]:
    with serving(tmp_path_factory.mktemp("on_own_ports"), "--port-per-exchange") as exchanges:
        yield exchanges
