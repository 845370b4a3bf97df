"""`arbitrage region kill` ends every process of that region and of no other, and its supervisor starts them again."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from launch.commands.region import run_region
from launch.errors import CannotStartError
from launch.regions.kill import running_regions
from launch.regions.sessions import region_home
from launch.supervisor.supervisor import Supervisor
from tests.launch.test_supervisor import eventually_restarted, process_of, sleeper

PARTS = ("mongodb", "bot-kraken")


@asynccontextmanager
async def running(home: Path) -> AsyncIterator[dict[str, Supervisor]]:
    """Run two regions with two processes each."""
    supervisors = {}
    for region in ("us", "eu"):
        own = region_home(home, region)
        own.mkdir(parents=True)
        supervisors[region] = Supervisor(own, [sleeper(own, name) for name in PARTS], lambda _: None)
    try:
        for supervisor in supervisors.values():
            await supervisor.start()
            await supervisor.all_ready(20)
        yield supervisors
    finally:
        for supervisor in supervisors.values():
            await supervisor.stop()


def processes(home: Path, region: str) -> dict[str, int]:
    return {name: process_of(region_home(home, region), name) for name in PARTS}


async def test_all_processes_of_a_region_are_killed_and_come_back(tmp_path: Path) -> None:
    said: list[str] = []
    async with running(tmp_path) as supervisors:
        assert running_regions(tmp_path) == ("eu", "us")
        before, other = processes(tmp_path, "us"), processes(tmp_path, "eu")
        assert await asyncio.to_thread(run_region, tmp_path, ("kill", "us"), True, said.append) == 0
        for name, old in before.items():
            assert await eventually_restarted(region_home(tmp_path, "us"), name, old) != old
        assert processes(tmp_path, "eu") == other
        assert supervisors["us"].restarts == dict.fromkeys(PARTS, 1)
        assert supervisors["eu"].restarts == {}
    assert [json.loads(line) for line in said] == [{"killed": sorted(PARTS)}]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("kill",), "region 'kill': column 6: kill needs a region here; write eu or us."),
        (("kill", "jp"), "region 'kill jp': column 6: there is no region 'jp'; write eu or us."),
        (("kill", "us", "eu"), "region 'kill us eu': column 9: 'eu' is one word too many for kill; leave it out."),
    ],
)
def test_a_mistake_kills_nothing_and_says_where(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    for region in ("us", "eu"):
        region_home(tmp_path, region).mkdir(parents=True)
        (region_home(tmp_path, region) / "processes.json").write_text("{}")
    with pytest.raises(CannotStartError) as raised:
        run_region(tmp_path, words, False, lambda _: None)
    assert str(raised.value) == sentence


def test_without_a_session_there_is_nothing_to_kill(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="no session with regions runs here, so there is nothing to kill"):
        run_region(tmp_path, ("kill",), False, lambda _: None)


def test_processes_that_are_gone_are_not_killed(tmp_path: Path) -> None:
    region_home(tmp_path, "us").mkdir(parents=True)
    # a number that no process has: the kernel's highest is 2**22
    (region_home(tmp_path, "us") / "processes.json").write_text('{"ui": [4194305, 1.0]}')
    with pytest.raises(CannotStartError, match="none of its processes is running"):
        run_region(tmp_path, ("kill", "us"), False, lambda _: None)
