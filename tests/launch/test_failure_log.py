"""The explanation of a part that does not become ready."""

import json
from pathlib import Path

import pytest

from launch.supervisor.failure_log import busy_machine, end_reason, last_log_lines
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

LAST_FAILED = "exit code 1; last logged: process failed (no jars)"


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"WARN old\nSpark is up\n\n", "cep last logged: Spark is up"),
        (json.dumps({"event": "opening", "level": "INFO"}).encode(), "cep last logged: opening"),
        (json.dumps({"event": "failed", "error": "no jars"}).encode(), "cep last logged: failed (no jars)"),
        (b'{"a": 1}', 'cep last logged: {"a": 1}'),
        (b"[1]", "cep last logged: [1]"),
        (b"x" * 20_000, f"cep last logged: {'x' * 200}"),
        (b"\n\n", "cep has logged nothing yet"),
        (None, "cep has logged nothing yet"),
    ],
)
def test_the_end_of_a_log(tmp_path: Path, log: bytes | None, words: str) -> None:
    if log is not None:
        (tmp_path / "cep.log").write_bytes(log)
    assert last_log_lines(tmp_path, ["cep"], 0).split("; ")[0] == words


def test_what_another_session_said_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "cep.log").write_text("stopped\n")
    reported = last_log_lines(tmp_path, ["cep", "ui"], wall_now() + 60 * MICROSECONDS)
    assert reported.split("; ")[:2] == ["cep has logged nothing yet", "ui has logged nothing yet"]


@pytest.mark.parametrize(
    ("code", "log", "words"),
    [
        (1, json.dumps({"event": "process failed", "error": "no jars", "trace": "x" * 20_000}), LAST_FAILED),
        (3, None, "exit code 3"),
        (0, "over\n", "exit code 0; last logged: over"),
        (-15, "over\n", "killed by SIGTERM"),
        (-40, "over\n", "killed by signal 40"),
        (-9, "over\n", "killed by SIGKILL (by hand, or by a system out of memory)"),
    ],
)
def test_a_restart_comes_with_its_reason(tmp_path: Path, code: int, log: str | None, words: str) -> None:
    if log is not None:
        (tmp_path / "cep.log").write_text(log)
    assert end_reason(code, tmp_path / "cep.log", 0) == words


@pytest.mark.parametrize(("load", "is_busy"), [(0.3, False), (3.0, False), (3.1, True), (25.4, True)])
def test_a_busy_machine_is_named_as_one(load: float, is_busy: bool) -> None:
    reported = busy_machine(load, 2)
    assert bool(reported) == is_busy
    assert not reported or reported[0].startswith(f"the machine is busy (load {load:.0f} on 2 cores)")
