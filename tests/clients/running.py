"""Clients as programs of their own: the account they are given, what they print, what the journal has of it."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from simulators.matching.exchange_journal import read_journal
from simulators.web.account_keys import account_names
from tests.clients.serving import ServedExchanges

RUN_SECONDS = 180


@dataclass(frozen=True)
class Account:
    """One account of each exchange; `file` has its settings as if there were no others."""

    file: Path
    served: ServedExchanges
    number: int

    def journal(self, exchange: str) -> Path:
        return self.served.journal(account_names(exchange, self.number)[-1])


def said(command: list[str], env: Mapping[str, str], folder: Path) -> dict[str, object]:
    """Return the last line of what it prints, as JSON."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=RUN_SECONDS, env=dict(env), cwd=folder, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    answer: dict[str, object] = json.loads(lines[-1])
    return answer


def assert_placed_and_cancelled(answer: Mapping[str, object], journal: Path) -> None:
    assert answer["before"] == [answer["placed"]]
    assert answer["after"] == []
    entries = read_journal(journal)
    states = [order.state for entry in entries for order in entry.orders if order.order_id == answer["placed"]]
    assert states == ["open", "cancelled"]
