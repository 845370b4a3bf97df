"""The end of a child is told at once, whatever the interval of looking is."""

import os
import sys
from collections.abc import Iterator
from subprocess import Popen

import pytest

from launch.supervisor.children import watched_exit
from market.time_units import MICROSECONDS
from runtime.clock import steady_now

LONG_SECONDS = 60.0


@pytest.fixture
def child() -> Iterator[Popen[bytes]]:
    with Popen((sys.executable, "-c", "input()"), stdin=-1) as process:
        yield process
        process.kill()


async def test_the_end_of_a_child_ends_the_wait(child: Popen[bytes]) -> None:
    began = steady_now()
    with watched_exit(child.pid) as watch:
        assert watch.knows
        await watch.wait(0.01)
        assert not watch.ended.is_set()
        child.kill()
        await watch.wait(LONG_SECONDS)
        assert watch.ended.is_set()
    assert steady_now() - began < LONG_SECONDS * MICROSECONDS
    assert child.wait() != 0


async def test_of_a_process_that_is_gone_nothing_is_known(child: Popen[bytes]) -> None:
    child.kill()
    child.wait()
    before = len(os.listdir("/proc/self/fd"))
    with watched_exit(child.pid) as watch:
        assert not watch.knows
        await watch.wait(0)
    assert len(os.listdir("/proc/self/fd")) == before
