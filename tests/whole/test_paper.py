"""The whole system, once: started by the user's command, trading for a minute, its books checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.launch.left_behind import found_in, keys_in
from tests.whole.running import new_home, ours_running, running_paper

pytestmark = pytest.mark.whole

SECONDS = 60


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = new_home(tmp_path_factory.mktemp("paper"))
    out = home / "out.json"
    with running_paper(home, "--seconds", str(SECONDS), "--json", str(out)) as paper:
        code = paper.process.wait(timeout=SECONDS + 240)
        assert code == 0, paper.said
        assert ours_running(home) == []
    document: dict[str, Any] = json.loads(out.read_text())
    return document | {"home": home}


def test_quotes_flow_from_every_exchange(summary: dict[str, Any]) -> None:
    assert set(summary["quotes"]) == {"coinbaseexchange", "bitstamp", "bitflyer", "kraken"}
    assert all(count > 0 for count in summary["quotes"].values())
    assert sum(summary["quotes"].values()) >= 5_000


def test_opportunities_are_found_and_traded_on_both_legs(summary: dict[str, Any]) -> None:
    assert summary["opportunities"] >= 20
    assert summary["arbitrages"]["closed"] >= 5
    assert summary["fills"]


def test_the_books_balance_to_the_last_digit(summary: dict[str, Any]) -> None:
    assert summary["balance_differences"] == []
    assert summary["balanced"] is True
    assert summary["balances_before"] != summary["balances_after"]


def test_profit_and_loss_adds_up(summary: dict[str, Any]) -> None:
    assert {"gross", "fees", "fx", "slippage", "net"} <= set(summary["pnl"])


def test_every_stage_was_measured(summary: dict[str, Any]) -> None:
    for stage in ("opportunity", "reserved", "sent", "filled", "shown"):
        assert set(summary["latency_ms"][stage]) == {"p50", "p95", "p99"}
    assert summary["seconds_to_first_opportunity"] > 0


def test_no_key_of_an_exchange_account_is_left_in_the_files_of_the_run(summary: dict[str, Any]) -> None:
    home: Path = summary["home"]
    keys = keys_in(home)
    assert len(keys) >= 8
    assert found_in(home, keys) == []
