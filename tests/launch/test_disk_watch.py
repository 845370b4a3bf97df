"""A disk that fills up: first reduce-only, then the end of the session; by a real small disk."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from launch.config.disk import DiskConfiguration
from launch.errors import CannotStartError
from launch.supervisor.disk_watch import DiskWatch, check_room
from runtime.disk_space import MEGABYTE
from session.disk_bounds import DiskBounds
from session.session import Services, Session, Upkeep
from store.mongo.store import MongoTradeStore
from tests.market.samples import settings_of
from tests.store.traded_session import new_session

SIZE = 32 * MEGABYTE
BOUNDS = DiskBounds(24 * MEGABYTE, 16 * MEGABYTE, 8 * MEGABYTE)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 32 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)),
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(("umount", str(folder)), check=True)


@pytest.fixture
async def traded(mongodb_uri: str) -> AsyncIterator[tuple[Session, MongoTradeStore]]:
    async with new_session(mongodb_uri) as (session, store):
        await store.settings.create(settings_of())
        yield session, store


def fill(disk: Path, free: int) -> None:
    """Fill the disk up to so many free megabytes."""
    (disk / "filler").write_bytes(bytes(SIZE - free * MEGABYTE))


async def state_of(store: MongoTradeStore) -> tuple[str, str]:
    settings = await store.settings.current()
    assert settings is not None
    return settings.trading_state, str(settings.version)


async def test_a_disk_that_fills_up_ends_trading_before_mongod(
    small_disk: Path, traded: tuple[Session, MongoTradeStore]
) -> None:
    session, store = traded
    lines: list[str] = []
    ends: list[str] = []
    watch = DiskWatch(
        replace(session, home=small_disk, upkeep=replace(session.upkeep, disk=BOUNDS)),
        lambda: ends.append("ended"),
        lines.append,
    )
    for free, level, state in (
        (28, "enough", ("running", "1")),
        (20, "low", ("running", "1")),
        (12, "reduce_only", ("reduce_only", "2")),
        (12, "reduce_only", ("reduce_only", "2")),
        (20, "low", ("reduce_only", "2")),
        (4, "stop", ("reduce_only", "2")),
        (4, "stop", ("reduce_only", "2")),
    ):
        fill(small_disk, free)
        assert await watch.look() == level
        assert await state_of(store) == state
    assert ends == ["ended"]
    assert watch.has_stopped
    assert [line.partition("; ")[2] for line in lines] == [
        "make room soon",
        "nothing new is traded until there is room and somebody resumes trading",
        "make room soon",
        "the session ends now, before MongoDB has no room",
    ]


async def test_who_resumes_trading_without_room_is_reduced_again(
    small_disk: Path, traded: tuple[Session, MongoTradeStore]
) -> None:
    session, store = traded
    watch = DiskWatch(
        replace(session, home=small_disk, upkeep=replace(session.upkeep, disk=BOUNDS)), lambda: None, print
    )
    fill(small_disk, 12)
    await watch.look()
    await store.settings.amend(lambda now: now.model_copy(update={"trading_state": "running"}), "somebody")
    await watch.look()
    assert await state_of(store) == ("reduce_only", "4")


def test_a_session_does_not_start_where_it_would_be_reduced(small_disk: Path) -> None:
    session = Session("one", "paper", small_disk, Services("", "", ""), (), "USD", upkeep=Upkeep(disk=BOUNDS))
    check_room(session)
    fill(small_disk, 15)
    with pytest.raises(CannotStartError, match=r"14 MB free on its disk, and a session needs 16 MB"):
        check_room(session)


def test_bounds_are_in_order() -> None:
    assert DiskConfiguration().bounds == DiskBounds()
    with pytest.raises(ValueError, match="must not be above"):
        DiskConfiguration(warn_mb=1)
