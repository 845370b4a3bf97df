"""Dry runs, and what is asked of recordings: queued, run one at a time as processes of low priority, cancelled, and
kept for a while.

A run is a folder of the data folder, so that those that wait outlive the dashboard; one that it interrupted runs again.
"""

import asyncio
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import orjson

from runtime.clock import wall_now
from ui.auth.private_files import replace_file

FOLDER = "dry-runs"
MOST_WAITING = 20
MOST_KEPT = 20
MOST_SECONDS = 600.0
MOST_ATTEMPTS = 2
ENDED = frozenset(("done", "failed", "cancelled"))
Row = dict[str, Any]


class DryRunsFullError(Exception):
    """So many wait that another would only wait longer."""


@dataclass(slots=True)
class DryRuns:
    """The dry runs of one data folder. Call it on the server's loop. `command`: of a run's process, to which its folder
    is added."""

    home: Path
    command: tuple[str, ...]
    name: str = FOLDER
    """Of the folder with the runs."""
    advice: str = "choose less of the log"
    """What to do about a run that takes too long."""
    seconds: float = MOST_SECONDS
    """That a run may take."""
    _running: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    _worker: "asyncio.Task[None] | None" = None

    @property
    def folder(self) -> Path:
        return self.home / self.name

    def begin(self) -> None:
        """Go on with the runs that a dashboard before left."""
        for state in self._states():
            if state["state"] == "running":
                is_last = state["attempts"] >= MOST_ATTEMPTS
                reason = {"reason": "it ended the dashboard with it twice"} if is_last else {}
                self._note(state | {"state": "failed" if is_last else "queued"} | reason)
        self._wake()

    def ask(self, request: Row, who: str) -> Row:
        """Queue a run. Raises DryRunsFullError."""
        states = self._states()
        if sum(one["state"] == "queued" for one in states) >= MOST_WAITING:
            raise DryRunsFullError
        for old in [one for one in states if one["state"] in ENDED][MOST_KEPT - 1 :]:
            shutil.rmtree(self.folder / old["id"], ignore_errors=True)
        state: Row = {"id": uuid4().hex, "state": "queued", "who": who, "asked_at": wall_now(), "attempts": 0}
        place = self.folder / state["id"]
        place.mkdir(parents=True, mode=0o700)
        replace_file(place / "request.json", lambda: orjson.dumps(request))
        self._note(state)
        self._wake()
        return self.view(state["id"])

    def view(self, run_id: str) -> Row:
        """Return what is known of a run. Raises KeyError."""
        state = self._state(run_id)
        place = self.folder / run_id
        more = _read(place / "result.json") if state["state"] == "done" else _read(place / "progress.json")
        return {**more, **state, **({"progress": 1.0} if state["state"] == "done" else {})}

    def listed(self) -> list[Row]:
        """Return all runs with what was asked and how far they are, without their results, newest first."""
        return [
            self._asked(one["id"]) | _read(self.folder / one["id"] / "progress.json") | one for one in self._states()
        ]

    def asked(self, run_id: str) -> Row:
        """Return what was asked. Raises KeyError."""
        return self._asked(self._state(run_id)["id"])

    def rows(self, run_id: str, offset: int, limit: int) -> list[Row]:
        """Return rows of a run that is done, oldest first. Reads the file: call it in a thread. Raises KeyError."""
        self._state(run_id)
        path = self.folder / run_id / "rows.jsonl"
        if not path.is_file():
            return []
        with path.open("rb") as file:
            return [orjson.loads(line) for line in islice(file, offset, offset + limit)]

    async def end(self, run_id: str) -> Row | None:
        """Cancel a run that waits or runs, and return it; remove one that has ended. Raises KeyError."""
        state = self._state(run_id)
        if state["state"] in ENDED:
            shutil.rmtree(self.folder / run_id, ignore_errors=True)
            return None
        self._note(state | {"state": "cancelled", "ended_at": wall_now()})
        if run_id in self._running:
            await _kill(self._running[run_id])
        return self.view(run_id)

    async def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)

    def _wake(self) -> None:
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._run_all())

    async def _run_all(self) -> None:
        while waiting := [one for one in reversed(self._states()) if one["state"] == "queued"]:
            await self._run(waiting[0])

    async def _run(self, state: Row) -> None:
        run_id, place = state["id"], self.folder / state["id"]
        self._note(state | {"state": "running", "started_at": wall_now(), "attempts": state["attempts"] + 1})
        environment = os.environ | {"ARBITRAGE_HOME": str(self.home)}
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command, str(place), stdin=pipe, stdout=asyncio.subprocess.DEVNULL, stderr=pipe, env=environment
            )
        except OSError as error:
            # those that wait have their turn all the same
            reason = f"its process did not start: {error.strerror or error}"
            self._note(self._state(run_id) | {"state": "failed", "reason": reason, "ended_at": wall_now()})
            return
        self._running[run_id] = process
        reason = f"it took longer than {self.seconds:g} s; {self.advice}"
        try:
            async with asyncio.timeout(self.seconds):
                # not `communicate`, which would close the pipe by whose end the process knows of ours
                reported = await process.stderr.read() if process.stderr is not None else b""
                await process.wait()
            reason = _reason(reported, process.returncode)
        except TimeoutError:
            pass
        finally:
            await _kill(process)
            del self._running[run_id]
        with suppress(KeyError):
            if self._state(run_id)["state"] == "running":
                is_done = process.returncode == 0 and (place / "result.json").is_file()
                ended: Row = {"state": "done"} if is_done else {"state": "failed", "reason": reason}
                self._note(self._state(run_id) | ended | {"ended_at": wall_now()})

    def _note(self, state: Row) -> None:
        replace_file(self.folder / state["id"] / "state.json", lambda: orjson.dumps(state))

    def _asked(self, run_id: str) -> Row:
        return _read(self.folder / run_id / "request.json")

    def _state(self, run_id: str) -> Row:
        is_id = len(run_id) == 32 and run_id.isascii() and run_id.isalnum()
        found = _read(self.folder / run_id / "state.json") if is_id else {}
        if not found:
            raise KeyError(run_id)
        return found

    def _states(self) -> list[Row]:
        """Return all runs, newest first."""
        found = [_read(path) for path in self.folder.glob("*/state.json")]
        return sorted((one for one in found if one), key=lambda one: one["asked_at"], reverse=True)


def _read(path: Path) -> Row:
    try:
        found: Row = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    return found


def _reason(reported: bytes, code: int | None) -> str:
    lines = reported.decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else f"it ended with exit code {code}"


async def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
