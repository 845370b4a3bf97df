"""The whole system, once: started by the user's command, trading for half a minute, its ledger checked."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.launch.left_behind import found_in, keys_in, passwords_in
from tests.whole.exchange_books import (
    assert_profits_are_the_change_of_balances,
    assert_times_are_in_order,
    journals_of,
    reported_at_the_end,
)
from tests.whole.open_doors import command_lines, doors_of, knock, tried_by_a_stranger, untold
from tests.whole.running import new_home, ours_running, running_paper, traces_in

pytestmark = pytest.mark.whole

SECONDS = 13
"""How long it trades; then nothing new is begun, REST tells everything, and Ctrl-C ends it."""
LOOKS = 12


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = new_home(tmp_path_factory.mktemp("paper"))
    out = home / "out.json"
    with running_paper(home, "--json", str(out)) as paper:
        paper.wait_for("trading on paper", 240)
        looks = []
        for _ in range(LOOKS):
            # more than one: some sockets of Spark's were open for parts of a second only
            paper.pause(SECONDS / LOOKS)
            looks.append(doors_of(home))
        doors, lines, secrets = looks[-1], command_lines(home), passwords_in(home)
        stranger = tried_by_a_stranger(paper)
        for door in doors:
            if door.part in ("cep", "kafka", "mongodb"):
                knock(door)
        reported = reported_at_the_end(paper)
        assert paper.stop(120) == 0, paper.said
        assert ours_running(home) == []
    document: dict[str, Any] = json.loads(out.read_text())
    seen = {
        "doors": doors,
        "untold": [door for look in looks for door in untold(look)],
        "lines": lines,
        "secrets": secrets,
        "stranger": stranger,
    }
    return document | {"home": home, "told": reported, **seen}


def test_quotes_flow_from_every_exchange(summary: dict[str, Any]) -> None:
    assert set(summary["quotes"]) == {"coinbaseexchange", "bitstamp", "bitflyer", "kraken"}
    assert all(count > 0 for count in summary["quotes"].values())
    assert sum(summary["quotes"].values()) >= 1_000


def test_opportunities_are_found_and_traded_on_both_legs(summary: dict[str, Any]) -> None:
    assert summary["opportunities"] >= 20
    assert summary["arbitrages"]["closed"] >= 5
    assert summary["fills"]


def test_the_books_balance_to_the_last_digit(summary: dict[str, Any]) -> None:
    assert summary["balance_differences"] == []
    assert summary["balanced"] is True
    assert summary["balances_before"] != summary["balances_after"]


def test_profit_and_loss_adds_up(summary: dict[str, Any]) -> None:
    pnl = summary["pnl"]
    parts = {"gross", "latency_decay", "slippage", "fees", "fx", "unwinding"}
    assert set(pnl) == parts | {"currency", "net"}
    assert sum(Decimal(pnl[part]) for part in parts) == Decimal(pnl["net"])


def test_every_profit_is_the_change_of_balances_by_the_exchanges_own_journals(summary: dict[str, Any]) -> None:
    journals = journals_of(summary["home"])
    assert assert_profits_are_the_change_of_balances(summary["told"], journals, summary) >= 5


def test_every_step_has_its_time(summary: dict[str, Any]) -> None:
    assert_times_are_in_order(summary["told"])


def test_every_stage_was_measured(summary: dict[str, Any]) -> None:
    for stage in ("opportunity", "reserved", "sent", "filled", "shown"):
        assert set(summary["latency_ms"][stage]) == {"p50", "p95", "p99"}
    for step in ("detected_to_sent", "filled_to_shown"):
        assert set(summary["step_ms"][step]) == {"p50", "p95", "p99"}
    assert summary["seconds_to_first_opportunity"] > 0


def test_no_key_of_an_exchange_account_is_left_in_the_files_of_the_run(summary: dict[str, Any]) -> None:
    home: Path = summary["home"]
    keys = keys_in(home)
    assert len(keys) >= 8
    assert found_in(home, keys) == []


def test_no_part_met_what_it_did_not_expect(summary: dict[str, Any]) -> None:
    assert traces_in(summary["home"]) == []


def test_every_listening_socket_is_in_the_table_of_the_docs(summary: dict[str, Any]) -> None:
    assert {door.part for door in summary["doors"]} == {"cep", "kafka", "mongodb", "ui", "exchanges"}
    assert summary["untold"] == []


def test_strange_frames_to_every_service_end_nothing(summary: dict[str, Any]) -> None:
    assert summary["restarts"] == {}


def test_another_user_of_the_machine_is_rejected(summary: dict[str, Any]) -> None:
    if not summary["stranger"]:
        pytest.skip("only root may become another user")
    assert [tried for tried, outcome in summary["stranger"].items() if not outcome.startswith("rejected")] == []
    assert "requires authentication" in summary["stranger"]["halt"]


def test_no_password_is_in_a_command_line_or_in_a_file_but_its_own(summary: dict[str, Any]) -> None:
    assert len(summary["secrets"]) >= 10
    assert [line for line in summary["lines"] for secret in summary["secrets"] if secret in line] == []
    assert found_in(summary["home"], summary["secrets"]) == []
