"""All parts of a session, each started by the command of its manifest, with a data folder and a login of its own, as
containers have them."""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx

from exchanges.exchange_credentials import credentials_path
from launch.chaos.audit_records import Violation
from launch.chaos.books_audit import account_of, evidence_of, violations_of
from launch.cli.apart_command import STORE
from launch.setup.data_dir import bot_name, read_session, ready_file, write_atomically
from launch.setup.login_files import FOLDER as LOGINS
from launch.setup.login_files import OWN, with_logins
from launch.setup.login_rights import SUPERVISOR
from market.time_units import MICROSECONDS
from session.clock import wall_now
from session.session import Session
from simulators.matching.exchange_journal import read_journal
from store.queries.store_snapshot import read_snapshot
from tests.deploy.manifests import ROLE_OF, container_of, kind_of_part, parts
from tests.whole.running import COMMAND, ROOT, new_home

HOST = "127.0.0.2"
"""Of this machine, and not the address at which simulated exchanges look for detection in their own data folder."""
WITH_KEYS = ("exchanges", "feed", "bot")
STOP_SECONDS = 60


@dataclass(frozen=True)
class Part:
    """One container. `words`: of its command."""

    name: str
    kind: str
    words: tuple[str, ...]

    @property
    def ready_name(self) -> str:
        """Of its ready file."""
        match self.kind:
            case "bot":
                return bot_name(self.words[1], 1)
            case "feed":
                return f"feed-{self.words[1]}"
            case kind:
                return kind


@dataclass
class RunningApart:
    """Started parts: their processes by their names."""

    made: Path
    """What `arbitrage apart make` wrote."""
    folder: Path
    """With a data folder for each part."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def session(self) -> Session:
        return read_session(self.made)

    def home(self, part: Part) -> Path:
        return self.folder / part.name

    def said(self, part: Part) -> str:
        return (self.folder / f"{part.name}.out").read_text()

    def give(self, part: Part) -> None:
        """A data folder with what the manifest mounts there."""
        home, role = new_home(self.home(part)), ROLE_OF[part.kind]
        write_atomically(home / "run.json", replace(self.session, home=home).to_json())
        # who makes the users has all passwords
        files = [] if role is None else [f"{role}.json"]
        if role == SUPERVISOR:
            files = [path.name for path in (self.made / LOGINS).iterdir()]
        if part.kind == "prepare" and (self.made / STORE).exists():
            shutil.copytree(self.made / STORE, home / STORE)
        for name in files:
            write_atomically(home / LOGINS / name, (self.made / LOGINS / name).read_bytes())
        assert (OWN in files) == (part.kind == "prepare")
        if part.kind in WITH_KEYS:
            shutil.copy2(credentials_path(self.made), credentials_path(home))

    def start(self, part: Part) -> subprocess.Popen[bytes]:
        self.give(part)
        with (self.folder / f"{part.name}.out").open("wb") as said:
            variables = os.environ | {"ARBITRAGE_HOME": str(self.home(part))}
            process = subprocess.Popen((*COMMAND, *part.words), stdout=said, stderr=said, cwd=ROOT, env=variables)
        self.processes[part.name] = process
        return process

    def run(self, part: Part, seconds: float) -> None:
        """One that ends by itself."""
        assert self.start(part).wait(timeout=seconds) == 0, self.said(part)
        del self.processes[part.name]

    def violations(self, journals: Path) -> list[Violation]:
        """Of what is at rest: the store's books against the exchanges' own journals."""
        session = with_logins(replace(self.session, home=self.made), SUPERVISOR)
        accounts = [account_of(name, read_journal(journals / f"{name}.jsonl")) for name in session.exchanges]
        snapshot = asyncio.run(read_snapshot(session))
        found = violations_of(evidence_of(accounts, snapshot, session.markets))
        # nobody ends such a session, so no exchange is asked for its closing balances
        return [one for one in found if one.kind != "balance_missing"]

    def until(self, done: Any, seconds: float, otherwise: str) -> None:
        deadline = wall_now() + int(seconds * MICROSECONDS)
        first = next(iter(self.processes.values()))
        while not done():
            assert not self.ended(), f"{self.ended()} ended: {otherwise}"
            assert wall_now() < deadline, otherwise
            try:
                first.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                continue

    def ended(self) -> dict[str, str]:
        """The end of what each part said that is no longer there."""
        return {
            name: (self.folder / f"{name}.out").read_text()[-1500:]
            for name, process in self.processes.items()
            if process.poll() is not None
        }

    def until_ready(self, started: Sequence[Part], seconds: float) -> None:
        """As their probes see it; the page has no such file."""
        files = {part.name: ready_file(self.home(part), part.ready_name) for part in started if part.kind != "ui"}

        def lacking() -> list[str]:
            return [name for name, file in files.items() if not file.exists()]

        self.until(lambda: not lacking(), seconds, f"not all of {', '.join(files)} became ready")

    def get(self, path: str) -> Any:
        """Of the page's REST."""
        session = self.session
        return (
            httpx.get(f"http://{session.web_host}:{session.web_port}/api{path}", timeout=10).raise_for_status().json()
        )

    def stop(self, beginning: str = "") -> dict[str, int]:
        """SIGTERM to all whose names begin so, at once, as Kubernetes sends it; their exit codes."""
        stopped = {name: one for name, one in self.processes.items() if name.startswith(beginning)}
        for process in stopped.values():
            process.send_signal(signal.SIGTERM)
        codes = {name: process.wait(timeout=STOP_SECONDS) for name, process in stopped.items()}
        for name in codes:
            del self.processes[name]
        return codes


def deployed_parts(config: Path, replicas: int | None = None) -> list[Part]:
    """Those of the manifests, in their order; `prepare`, which reads the configuration at `config`, makes the users."""
    found = []
    for manifest in parts():
        words = [HOST if word == "0.0.0.0" else word for word in container_of(manifest)["args"]]
        if kind_of_part(manifest) == "prepare":
            words = [*words[:2], "--users", "--config", str(config)]
        name, count = manifest["metadata"]["name"], replicas or manifest["spec"].get("replicas", 1)
        found += [
            Part(name if number == 0 else f"{name}-{number}", kind_of_part(manifest), tuple(words))
            for number in range(count)
        ]
    return found


@contextmanager
def running_apart(made: Path, folder: Path) -> Iterator[RunningApart]:
    """Nothing is started yet; whatever still runs at the end is killed."""
    running = RunningApart(made, folder)
    try:
        yield running
    finally:
        for process in running.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def closed(running: RunningApart) -> int:
    return int(running.get("/pnl")["arbitrages"].get("closed", 0))
