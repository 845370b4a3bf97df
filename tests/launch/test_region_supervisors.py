"""Supervisors of several regions: what was never started is not stopped, and services end after all that need them."""

import asyncio
import sys
from pathlib import Path

import pytest

from launch.errors import LaunchError
from launch.regions.supervisors import RegionSupervisors
from launch.setup.data_dir import ready_file
from launch.supervisor.process_groups import ProcessSpec
from launch.supervisor.supervisor import Supervisor

ENDLESS = """
import pathlib, signal, sys, time
name, ready, ended, waits_for = sys.argv[1:]
def end(*_):
    deadline = time.monotonic() + 0.5
    while waits_for and waits_for not in pathlib.Path(ended).read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    with open(ended, "a") as file:
        file.write(name + "\\n")
    sys.exit()
signal.signal(signal.SIGTERM, end)
pathlib.Path(ready).write_text("")
time.sleep(1000)
"""


def endless(home: Path, name: str, after: tuple[str, ...] = (), waits_for: str = "") -> ProcessSpec:
    """Note its end; first it waits half a second for the end of `waits_for`."""
    (home / "ready").mkdir(parents=True, exist_ok=True)
    own = f"{home.name}/{name}"
    words = (own, str(ready_file(home, name)), str(home.parent / "ended"), waits_for)
    return ProcessSpec(name, (sys.executable, "-c", ENDLESS, *words), after)


def said(_: str) -> None:
    """Do nothing, because nobody listens."""


async def test_a_start_that_fails_outside_the_regions_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    outside = Supervisor(tmp_path / "outside", [ProcessSpec("exchanges", ("/no/such/program",))], said)
    us = Supervisor(tmp_path / "us", [endless(tmp_path / "us", "mongodb")], said)
    supervisors = RegionSupervisors(outside, {"us": us}, dict)
    await supervisors.start()
    with pytest.raises(LaunchError, match="not ready, and idle"):
        await supervisors.all_ready(0.2)
    await supervisors.stop()
    assert us.group_of("mongodb") is None
    assert not (tmp_path / "outside" / "processes.json").exists()


async def test_mongodb_of_a_region_that_only_votes_ends_after_the_bots_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "ended").write_text("")
    us, jp = tmp_path / "us", tmp_path / "jp"
    bot = endless(us, "bot", ("kafka", "mongodb"), waits_for="jp/mongodb")
    regions = {
        "us": Supervisor(us, [endless(us, "kafka"), endless(us, "mongodb"), bot], said),
        "jp": Supervisor(jp, [endless(jp, "mongodb")], said),
    }
    supervisors = RegionSupervisors(Supervisor(tmp_path, [], said), regions, dict)
    await supervisors.start()
    async with asyncio.timeout(30):
        await supervisors.all_ready()
    await supervisors.stop()
    assert (tmp_path / "ended").read_text().splitlines()[0] == "us/bot"
    assert sorted((tmp_path / "ended").read_text().split()) == ["jp/mongodb", "us/bot", "us/kafka", "us/mongodb"]
