"""Fixtures that several rooms' tests share."""

import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from aiohttp import web_app
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.services import embedded_kafka, embedded_mongodb

# without a deadline: machines are noisy, and what is checked here are results, never times
# the same examples each time, so that the same commit gets the same answer; `make soak` draws new ones, and more
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("searching", deadline=None, max_examples=500)
settings.load_profile("repeatable")

TOGETHER = {
    "spark": (
        *("tests/cep/detection/test_spread_windows.py", "tests/cep/detection/test_opportunity_messages.py"),
        *("tests/cep/detection/test_kafka_messages.py", "tests/cep/detection/test_driver_memory.py"),
        "tests/cep/detection/test_repeats_in_spark.py",
    ),
    "kafka": (
        *("tests/bots/test_bot_on_exchanges.py", "tests/bots/test_bot_process.py", "tests/ui/test_web_server.py"),
        *("tests/pricefeeds/test_settings_publisher.py", "tests/pricefeeds/test_quote_replayer.py"),
        *("tests/pricefeeds/test_feeder.py", "tests/pricefeeds/test_input_recorder.py"),
        "tests/ui/test_halts_followed.py",
    ),
    "topics": (
        *("tests/launch/test_user_topics.py", "tests/launch/test_app_input.py", "tests/launch/test_row_sharer.py"),
        *("tests/cep/apps/hosts/test_kafka_ends.py", "tests/ui/apps/test_acting_apps.py"),
        *("tests/ui/apps/test_row_follower.py", "tests/launch/test_live_apps.py"),
    ),
    "commands": ("tests/whole/test_bad_input.py",),
    "servers": (
        *("tests/streams/test_embedded_broker.py", "tests/streams/test_topic_reader.py"),
        *("tests/streams/test_latest_rows.py", "tests/streams/test_tick_writer.py"),
        *("tests/streams/test_topic_access.py", "tests/streams/test_topic_writer.py"),
        "tests/streams/test_mirror_maker.py",
    ),
}
"""Files for one worker, since to start what they share takes seconds. Each other file is one for itself.

These come first: one that takes long and begins last would keep the other workers waiting.
"""
GROUPS = {file: group for group, files in TOGETHER.items() for file in files}

# until all are collected: there is little garbage, and much that would be looked at again and again
gc.disable()

LONGEST = (
    *("tests/whole/test_verify.py", "tests/whole/test_kills.py", "tests/whole/test_chaos.py"),
    *("tests/whole/test_regions.py", "tests/whole/test_stream_app.py", "tests/whole/test_kill_switch.py"),
    *("tests/whole/test_cycles.py", "tests/web/test_routes.py", "tests/whole/test_replay.py"),
    *("tests/whole/test_tuning.py", "tests/whole/test_configured_services.py", "tests/backtest/test_detection_live.py"),
    *("tests/bots/test_histories.py", "tests/cep/detection/test_job.py", "tests/cep/detection/test_cycles_in_spark.py"),
    *("tests/cep/apps/hosts/test_merger_kills.py", "tests/launch/dry_runs/test_as_published.py"),
    *("tests/cep/apps/hosts/test_hosts_agree.py", "tests/cep/apps/structured/test_structured_app.py"),
    *("tests/ui/pages/test_settings_in_browser.py", "tests/ui/pages/test_every_page_in_browser.py"),
)
"""Files whose slow, browser and whole tests take longest begin first: one that began last would run alone."""

MARKED = ("slow", "whole", "browser")
"""`make whole` collects only files that name one of them: to collect all takes each process 13 s."""


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Hands out files in the order in which they were collected, the groups first: they take longest."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return GROUPS.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    unnamed = {
        item.path for item in items for mark in MARKED if item.get_closest_marker(mark) and not _names(item.path, mark)
    }
    if unnamed:
        raise pytest.UsageError(f"`make whole` does not find the marked tests of {', '.join(map(str, unnamed))}")
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Return which files begin first."""
    file = item.nodeid.split("::", 1)[0]
    if file in LONGEST and any(item.get_closest_marker(mark) for mark in MARKED):
        return LONGEST.index(file) - len(LONGEST)
    return file not in GROUPS


@cache
def _names(path: Path, mark: str) -> bool:
    return f"mark.{mark}" in path.read_text()


def pytest_collection_finish() -> None:
    """Keep what collecting the tests made out of garbage collections, which need not look at it each time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes name no test: packed ones carry the time of packing, and processes that share a run must agree on names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def forgotten_servers() -> Iterator[None]:
    """aiohttp remembers the last thousand applications, and with each its whole simulated exchange: 20 MB a test."""
    yield
    web_app._cached_build_middleware.cache_clear()


@pytest.fixture(scope="session")
def kafka_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a real broker without topics, shared by the whole session: use topics or keys of your own."""
    with embedded_kafka(tmp_path_factory.mktemp("kafka")) as process:
        yield process.address


@pytest.fixture(scope="session")
def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return a real replica set of one node, shared by the whole session: use a database of your own."""
    with embedded_mongodb(tmp_path_factory.mktemp("mongodb")) as process:
        yield process.address
