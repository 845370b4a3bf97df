"""What apps and their hosts report reaches the run's terminal, from its own process and from others."""

import logging
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from cep.run_log import RunLogFormatter, reported_to, shown_run_log
from launch.supervisor.spark_command import py4j_log_to


def report(pipe: Path, is_patient: bool, lines: int) -> None:
    """Log as a worker does."""
    with reported_to(pipe, is_patient=is_patient):
        for number in range(lines):
            logging.getLogger("apps").info("guard: row %d", number, extra={"app_time": 7})
        logging.getLogger("cep").info("said by a worker")
        logging.getLogger("cep").warning("rows are gone", extra={"until": 12})


def test_lines_of_a_worker_are_on_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as workers, shown_run_log() as pipe:
        workers.submit(report, pipe, True, 2_000).result()
    *rows, last = capfd.readouterr().err.splitlines()
    assert rows == [f"INFO guard: row {number} (app_time: 7)" for number in range(2_000)]
    assert last == "WARNING rows are gone (until: 12)"


def test_warnings_of_the_run_itself_are_on_the_terminal(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also beside Spark, whose log has them too."""
    log = tmp_path / "spark.log"
    with py4j_log_to(log), shown_run_log():
        logging.getLogger("cep").warning("request without an answer", extra={"sink": "a", "reason": "too slow"})
    expected = "WARNING request without an answer (sink: a, reason: too slow)"
    assert capfd.readouterr().err == f"{expected}\n"
    assert expected in log.read_text()


def test_who_does_not_wait_says_what_was_left_out(tmp_path: Path) -> None:
    pipe = tmp_path / "log"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with reported_to(pipe):
        log = logging.getLogger("apps")
        for _ in range(1_000):
            log.info("x" * 1_000)
        while len(os.read(reading, 1 << 16)) == 1 << 16:
            pass
        log.info("after")
    found = os.read(reading, 1 << 16).decode().splitlines()
    os.close(reading)
    assert found[-1] == "INFO after"
    assert "lines left out" in found[-2]


def test_without_a_reader_a_worker_goes_on(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")
    before = list(logging.getLogger("apps").handlers)
    with reported_to(tmp_path / "log"), reported_to(tmp_path / "none"), reported_to(None):
        assert logging.getLogger("apps").handlers == before


def test_a_text_cannot_move_the_cursor() -> None:
    record = logging.makeLogRecord({"msg": "a\n\x1b[2Jb", "levelname": "INFO", "reason": "c\rd"})
    assert RunLogFormatter().format(record) == "INFO a  [2Jb (reason: c d)"
