"""The simulated exchanges as `arbitrage exchanges` serves them: TLS, a port for each, several accounts."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from simulators.catalogue import EXCHANGES

_START_SECONDS = 60


@dataclass(frozen=True)
class ServedExchanges:
    """`file` is the JSON that the command writes."""

    home: Path
    file: Path

    @property
    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = json.loads(self.file.read_text())
        return settings

    @property
    def environment(self) -> dict[str, str]:
        """With it the usual HTTP libraries trust the exchanges' certificate."""
        ca = next((settings["cafile"] for settings in self.settings.values() if "cafile" in settings), None)
        return dict(os.environ) if ca is None else {**os.environ, "SSL_CERT_FILE": ca, "REQUESTS_CA_BUNDLE": ca}

    def journal(self, account: str) -> Path:
        return self.home / "exchanges-alone" / f"{account}.jsonl"


@contextmanager
def serving(home: Path, *words: str) -> Iterator[ServedExchanges]:
    file = home / "exchanges.json"
    command = [
        sys.executable,
        "-m",
        "launch.commands.main",
        "exchanges",
        "--port",
        str(free_ports()),
        "--json",
        str(file),
    ]
    with subprocess.Popen(
        [*command, *words], stdout=subprocess.PIPE, text=True, env={**os.environ, "ARBITRAGE_HOME": str(home)}
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the exchanges did not start"
            yield ServedExchanges(home, file)
        finally:
            process.terminate()
            process.wait(_START_SECONDS)


def free_ports() -> int:
    """Return a free port that is followed by one for each exchange."""
    for first in range(21_000, 32_000, 10):
        with ExitStack() as probes:
            try:
                for port in range(first, first + 1 + len(EXCHANGES)):
                    probes.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    pytest.fail("no ports are free")
