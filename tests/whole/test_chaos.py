"""The crash fuzzer on the whole system: one schedule here, ten in the soak test; the audit must find no violation."""

import json
from pathlib import Path
from typing import Any

import pytest

from exchanges.catalogue import EXCHANGES
from launch.chaos.schedule import FAULT_EVERY, PROCESS_ROLES
from tests.whole.running import new_home, ours_running, run_command, with_cycles

SECONDS = 180
SHORT_SECONDS, SHORT_SEED = 90, 15
"""A schedule that has every kind of kill and pause, and kills each bot."""
LIMIT_SECONDS = 960
"""The chaos run, and the time a loaded machine needs to start and to recover."""
MIN_ORDERS = 20
"""Minimum orders of each run of the soak test."""
MIN_ORDERS_OF_ALL = 100
RARE = {
    "lost_acknowledgement",
    "disconnect_during_order",
    "rejected_order",
    "partial_fill_then_nothing",
    "maintenance",
    "silent_stream",
    "dropped_message",
    "clock_skew",
    "http_429",
    "http_5xx",
    "duplicate_fill_report",
    "lie",
}
"""Faults that take effect only with a request, an order or a fill at that moment. A run on a slow machine may lack
them; the soak test has them all."""


def chaos_document_of(folder: Path, seed: int, seconds: int = SECONDS, *more: str) -> dict[str, Any]:
    """Return the document of a run without violations."""
    home = new_home(folder / "home")
    out = home / "out.json"
    words = ("chaos", "--seconds", str(seconds), "--seed", str(seed), "--json", str(out), *more)
    done = run_command(home, *words, seconds=LIMIT_SECONDS)
    assert out.exists(), done.stdout + done.stderr
    document: dict[str, Any] = json.loads(out.read_text())
    # on their own: behind hundreds of lines of injected faults they would be cut off
    violations = [f"{one['kind']}: {one['detail']} [{one['arbitrage_id']}]" for one in document["violations"]]
    assert violations == [], "\n".join(violations)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ours_running(home) == []
    return document


@pytest.mark.whole
def test_injected_faults_of_every_kind_leave_the_ledger_right(tmp_path: Path) -> None:
    document = chaos_document_of(tmp_path, SHORT_SEED, SHORT_SECONDS)
    assert (document["seed"], document["seconds"]) == (SHORT_SEED, SHORT_SECONDS)
    faults = document["faults"]
    assert {f"kill {role}" for role in PROCESS_ROLES if role != "cep"} <= faults.keys()
    assert {"kill cep python", "kill cep jvm"} & faults.keys()
    assert {f"pause {role}" for role in PROCESS_ROLES} <= faults.keys()
    assert set(FAULT_EVERY) - RARE <= faults.keys()
    assert "settings trading_state" in faults
    assert document["result"] == "no violations"
    # every lease was taken over at least once
    assert all(count > 0 for count in document["takeovers"].values())
    assert document["settings_by_rest"] > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_ten_schedules_leave_the_ledger_right(tmp_path: Path, seed: int) -> None:
    document = chaos_document_of(tmp_path, seed)
    assert document["orders"] >= MIN_ORDERS
    assert document["arbitrages"].get("closed", 0) > 0
    assert "lost_acknowledgement" in document["faults"]


@pytest.mark.soak
def test_all_exchanges_at_once_leave_the_ledger_right(tmp_path: Path) -> None:
    document = chaos_document_of(tmp_path, 1, SECONDS, "--exchanges", *EXCHANGES)
    assert document["orders"] >= MIN_ORDERS_OF_ALL
    assert document["takeovers"].keys() >= set(EXCHANGES)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_cycles_under_injected_faults_leave_the_ledger_right(tmp_path: Path, seed: int) -> None:
    document = chaos_document_of(tmp_path, seed, SECONDS, *with_cycles(tmp_path))
    assert document["orders"] >= MIN_ORDERS
    assert document["cycles"].get("closed", 0) > 0
    assert "lost_acknowledgement" in document["faults"]
