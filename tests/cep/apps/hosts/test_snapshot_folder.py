"""Snapshots and numbers of workers on disk."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from cep.apps.resident.worker_files import noted_worker, noted_workers, signal_workers
from cep.snapshot_folder import SnapshotFolder


def test_the_newest_whole_snapshot_is_read(tmp_path: Path) -> None:
    folder = SnapshotFolder(tmp_path / "a" / "b")
    assert folder.load(3) is None
    folder.save(3, b"one")
    folder.save(3, b"two")
    folder.save(4, b"three")
    # what a killed process leaves
    folder.path(3).with_suffix(".new").write_bytes(b"ha")
    assert (folder.load(3), folder.load(4), folder.load(5)) == (b"two", b"three", None)


def test_a_worker_is_noted_while_it_works(tmp_path: Path) -> None:
    with noted_worker(tmp_path, 2):
        assert {partition: one.pid for partition, one in noted_workers(tmp_path).items()} == {2: os.getpid()}
    assert noted_workers(tmp_path) == {}


def test_only_the_process_that_was_noted_gets_a_signal(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "input()"]
    with (
        subprocess.Popen(words, stdin=subprocess.PIPE) as mine,
        subprocess.Popen(words, stdin=subprocess.PIPE) as other,
    ):
        (tmp_path / "0.worker").write_text(f"{mine.pid} {psutil.Process(mine.pid).create_time()}")
        (tmp_path / "1.worker").write_text(f"{other.pid} 12.5")
        (tmp_path / "2.worker").write_text("torn")
        signal_workers(tmp_path, signal.SIGKILL)
        assert mine.wait() == -signal.SIGKILL
        assert other.poll() is None
        other.kill()
