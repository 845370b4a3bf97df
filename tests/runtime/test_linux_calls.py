"""What a system without Linux's calls has instead; tried on Linux, where they are taken away."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from runtime import linux_calls
from runtime.linux_calls import prctl, usable_cores
from runtime.machine_load import machine_load
from runtime.socket_path import OPEN_FOLDERS, short_path

PR_GET_NAME = 16  # linux/prctl.h


def test_a_system_without_prctl_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linux_calls, "_PRCTL", None)
    prctl(PR_GET_NAME, 0)


def test_a_system_that_does_not_bind_processes_to_cores_has_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert usable_cores() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_cores() == os.cpu_count()
    load = machine_load()
    assert load is not None
    assert load.cores == os.cpu_count()


@pytest.mark.parametrize("open_folders", [OPEN_FOLDERS, Path("/nowhere/fd")])
async def test_a_socket_of_a_folder_with_a_long_path_is_reached(tmp_path: Path, open_folders: Path) -> None:
    home = tmp_path / ("a" * 100) / ("b" * 100)
    home.mkdir(parents=True)

    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"here\n")
        writer.close()

    with short_path(home, "door", open_folders) as path:
        # macOS takes 103 bytes
        assert len(path.encode()) < 104
        server = await asyncio.start_unix_server(greet, path)
    async with server:
        assert (home / "door").is_socket()
        with short_path(home, "door", open_folders) as again:
            reader, writer = await asyncio.open_unix_connection(again)
        assert await reader.readline() == b"here\n"
        writer.close()


def test_elsewhere_a_template_says_that_parts_start_without_it() -> None:
    ours, theirs = socket.socketpair()
    code = (
        "import sys; from launch.commands import fork_template; sys.platform = 'darwin'; "
        f"sys.argv = ['template', '{theirs.fileno()}']; fork_template.main()"
    )
    with ours, theirs:
        done = subprocess.run(
            (sys.executable, "-c", code), pass_fds=(theirs.fileno(),), capture_output=True, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "only Linux has what forks need; parts are started without a template\n"
