"""Starts the `arbitrage` command as a user would, in a data folder of its own, and talks to it from outside."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Session
from streams.broker.embedded_broker import free_ports

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "launch.commands.main")


@dataclass(slots=True)
class Running:
    """A running `arbitrage paper` and what it said so far."""

    home: Path
    port: int
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def session(self) -> Session:
        """As its supervisor uses it."""
        return with_logins(read_session(self.home), SUPERVISOR)

    @property
    def said(self) -> str:
        return (self.home / "said.txt").read_text()

    @property
    def key(self) -> str:
        return (self.home / "api_key").read_text().strip()

    def get(self, path: str) -> Any:
        return httpx.get(f"{self.url}/api{path}", timeout=10).raise_for_status().json()

    def patch_settings(self, change: dict[str, object]) -> dict[str, Any]:
        version = self.get("/settings")["version"]
        answer = httpx.patch(
            f"{self.url}/api/settings",
            json=change,
            headers={"X-API-Key": self.key, "If-Match": f'"{version}"'},
            timeout=10,
        )
        settings: dict[str, Any] = answer.raise_for_status().json()
        return settings

    def switch(self, state: str) -> None:
        """Set the kill switch."""
        headers = {"X-API-Key": self.key}
        url = f"{self.url}/api/trading-state"
        httpx.put(url, json={"state": state}, headers=headers, timeout=10).raise_for_status()

    def wait_for(self, text: str, seconds: float) -> None:
        """Until the command has said `text`."""
        self.until(lambda: text in self.said, seconds, f"{text!r} was not said")

    def until(self, done: Any, seconds: float, otherwise: str) -> None:
        deadline = wall_now() + int(seconds * MICROSECONDS)
        while not done():
            assert self.process.poll() is None, f"the command ended: {self.said}"
            assert wall_now() < deadline, f"{otherwise} within {seconds} s: {self.said}"
            self.pause(0.1)

    def pause(self, seconds: float) -> None:
        """Let the system work for a while; ends early only if the command does."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return

    def process_of(self, name: str) -> int:
        """Process id of a part's own process."""
        noted = json.loads((self.home / "processes.json").read_text())
        return int(noted[name][0])

    def is_started_again(self, name: str, before: int) -> bool:
        """Whether a part is another process than `before`; meanwhile it has none."""
        noted = json.loads((self.home / "processes.json").read_text())
        return name in noted and int(noted[name][0]) != before

    def stop(self, seconds: float = 90) -> int:
        """Ctrl-C, then the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=seconds)


def new_home(folder: Path) -> Path:
    """Return a data folder with nothing in it but the jars that the set-up fetched."""
    folder.mkdir(parents=True, exist_ok=True)
    jars = Path(os.environ.get("ARBITRAGE_HOME") or ROOT / ".data") / "jars"
    (folder / "jars").symlink_to(jars.resolve())
    return folder


def traces_in(home: Path) -> list[str]:
    """Return the lines of logs with a stack trace: what a part did not expect."""
    logs = sorted((home / "logs").glob("*.log"))
    assert logs
    return [f"{log.name}: {line}" for log in logs for line in log.read_text().splitlines() if "Traceback" in line]


def with_cycles(folder: Path) -> tuple[str, ...]:
    """Return the options of a run that trades cycles too, in a market that has prices for their crosses."""
    file = folder / "cycles.toml"
    file.write_text("[cycles]\nwithin = true\nacross = true\n")
    return "--market", "busy", "--config", str(file)


@contextmanager
def running_paper(
    home: Path,
    *words: str,
    environment: Mapping[str, str] | None = None,
    market: str | None = "storm",
    before: tuple[str, ...] = (),
) -> Iterator[Running]:
    """`arbitrage paper`, in a storm, which trades most; `market` None if none is simulated; `before`: words before
    the command. Killed with all it started if the test leaves it running."""
    variables = os.environ | {"ARBITRAGE_HOME": str(home)} | dict(environment or {})
    (port,) = free_ports(1)
    chosen = () if market is None else ("--market", market)
    command = (*before, *COMMAND, "paper", "--port", str(port), *chosen, *words)
    with (home / "said.txt").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, text=True, cwd=ROOT, env=variables)
    try:
        yield Running(home, port, process)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def running_command(home: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """One that goes on until it is stopped, beside others; leaves once it has said something."""
    home.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        (*COMMAND, *words),
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"ARBITRAGE_HOME": str(home)},
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline(), f"{words} said nothing"
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


def run_command(
    home: Path, *words: str, seconds: float = 60, before: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """One command to its end; `before`: words before it."""
    return subprocess.run(
        (*before, *COMMAND, *words),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"ARBITRAGE_HOME": str(home)},
        timeout=seconds,
        check=False,
    )


def ours_running(home: Path) -> list[str]:
    """Command lines of living processes that work in this data folder."""
    found = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            reported = process.environ().get("ARBITRAGE_HOME", "")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        is_ours = home in (Path(reported), *Path(reported).parents) or str(home) in line
        if is_ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found
