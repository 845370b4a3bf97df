"""The whole system with cycles of three legs, within an exchange and across, until some of each have closed."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.whole.running import Running, new_home, ours_running, running_paper, traces_in

pytestmark = pytest.mark.whole

SECONDS = 240
CONFIGURATION = "assets = ['BTC', 'ETH']\n[cycles]\nwithin = true\nacross = true\n"


def closed(paper: Running) -> Counter[str]:
    """Count the closed ones by whether all legs were at one exchange."""
    rows = paper.get("/cycles?state=closed&limit=200")["items"]
    return Counter("across" if len({leg["exchange"] for leg in row["legs"]}) > 1 else "within" for row in rows)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a session in which one of each kind closed."""
    home = new_home(tmp_path_factory.mktemp("cycles"))
    (home / "arbitrage.toml").write_text(CONFIGURATION)
    words = ("--config", str(home / "arbitrage.toml"), "--json", str(home / "out.json"))
    # a storm has no crosses, so no cycles within an exchange
    with running_paper(home, *words, market="busy") as paper:
        paper.wait_for("trading on paper", 240)
        paper.until(
            lambda: min(closed(paper)[kind] for kind in ("within", "across")) >= 1, SECONDS, "one of each did not close"
        )
        assert paper.stop(120) == 0, paper.said
    assert ours_running(home) == []
    return home


@pytest.fixture(scope="module")
def summary(home: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((home / "out.json").read_text())
    return document


def test_cycles_are_counted_beside_pairs(summary: dict[str, Any]) -> None:
    assert summary["arbitrages_by_legs"]["3"]["closed"] >= 2
    assert summary["arbitrages_by_legs"]["2"] == summary["arbitrages"]


def test_the_books_balance_with_them(summary: dict[str, Any]) -> None:
    assert summary["balance_differences"] == []
    assert summary["balanced"] is True


def test_no_exchange_failed_at_an_order_or_a_look_up_of_theirs(home: Path) -> None:
    assert traces_in(home) == []
