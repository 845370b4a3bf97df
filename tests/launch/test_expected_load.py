"""How many partitions the markets of a configuration need."""

import pytest

from exchanges.catalogue import EXCHANGES
from exchanges.simulated_markets import simulated_bases, simulated_markets
from launch.commands.doctor import load_finding
from launch.config.expected_load import ExpectedLoad, expected_load

COUNT = len(EXCHANGES)
PAIRS = COUNT * (COUNT - 1) // 2
"""Of an asset that all exchanges list."""


@pytest.mark.parametrize(("assets", "partitions"), [(1, 1), (5, 1), (50, 3)])
def test_of_so_many_assets_on_all_exchanges(assets: int, partitions: int) -> None:
    found = expected_load(simulated_markets(simulated_bases()[:assets]))
    assert found == ExpectedLoad(assets, COUNT, assets * COUNT, assets * PAIRS)
    assert found.partitions == partitions


def test_an_asset_lives_in_one_partition() -> None:
    assert ExpectedLoad(assets=2, exchanges=400, markets=800, pairs=1).partitions == 2


@pytest.mark.parametrize(
    ("partitions", "bots", "state", "said"),
    [
        (1, 1, "advice", "one partition of the log carries some 4,000: set partitions = 3"),
        (2, 1, "advice", "2 partitions carry some 8,000: set partitions = 3"),
        (3, 1, "ok", "3 partitions of the log carry some 12,000"),
        (8, 1, "ok", "8 partitions of the log carry some 32,000"),
        (64, 1, "advice", "64 partitions, but 50 assets, each of which lives in one: set partitions = 3"),
    ],
)
def test_the_doctors_line(partitions: int, bots: int, state: str, said: str) -> None:
    finding = load_finding(expected_load(simulated_markets(simulated_bases()[:50])), partitions, bots)
    assert (finding.state, finding.subject) == (state, "load")
    told = f"{50 * COUNT} markets of 50 assets on {COUNT} exchanges, {50 * PAIRS} pairs, some {1_250 * COUNT:,} quotes"
    assert f"{told} a second" in finding.text
    assert said in finding.text


@pytest.mark.parametrize(
    ("bots", "said"), [(1, "5 bot processes, 1 per exchange"), (2, "10 bot processes, 2 per exchange")]
)
def test_the_number_of_bot_processes_is_said(bots: int, said: str) -> None:
    assert said in load_finding(ExpectedLoad(1, 5, 5, 10), 1, bots).text
