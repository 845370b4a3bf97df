"""Who changed what, in the units of everything else."""

import pytest

from ui.panels.audit import value_words
from ui.panels.settings_history import changes_text
from ui.rows.settings import ChangeRow, VersionRow


def version(*changes: ChangeRow) -> VersionRow:
    return VersionRow(version=2, changed_at=0, who="erika", changes=list(changes))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (["alpha", "beta"], "alpha, beta"),
        ({"BTC": "5000", "ETH": "700"}, "BTC 5000, ETH 700"),
        ([], "none"),
        ({}, "none"),
        (None, "none"),
        (5.0, "5.0"),
    ],
)
def test_lists_and_tables_are_written_as_people_write_them(value: object, words: str) -> None:
    assert value_words(value) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((), "defaults"),
        ((ChangeRow(field="min_net_bps", before=5.0, after=7.5),), "min_net_bps 5.0 → 7.5"),
        (
            (
                ChangeRow(
                    field="taker_fees",
                    before={"coinbaseexchange": "0.0010", "kraken": "0.001"},
                    after={"coinbaseexchange": "0.00075", "kraken": "0.001", "bitflyer": "0.002"},
                ),
                ChangeRow(field="cool_down_ms", before=1_000, after=0),
            ),
            "taker fee of Coinbase 10 bps → 7.5 bps; taker fee of bitFlyer – → 20 bps; cool_down_ms 1000 → 0",
        ),
        (
            (
                ChangeRow(field="asset_thresholds", before={"ETH": 9.0, "BTC": 4.0}, after={"BTC": 4.0, "SOL": 6.5}),
                ChangeRow(field="pair_thresholds", before={}, after={"kraken>bitflyer": 8.0}),
            ),
            "threshold of ETH 9 bps → –; threshold of SOL – → 6.5 bps; threshold of Kraken → bitFlyer – → 8 bps",
        ),
        (
            (ChangeRow(field="disabled_assets", before=["ETH", "SOL"], after=["SOL", "BTC"]),),
            "BTC paused; ETH resumed",
        ),
        (
            (
                ChangeRow(
                    field="close_now",
                    before={"old": {"price": "1", "asked_at": 5}},
                    after={"old": {"price": "1", "asked_at": 5}, "one": {"price": "80.5", "asked_at": 9}},
                ),
            ),
            "close arbitrage one at 80.5",
        ),
        ((ChangeRow(field="taker_fees", before=None, after={"kraken": "0.001"}),), "taker fee of Kraken – → 10 bps"),
    ],
)
def test_a_fee_is_in_bps_and_one_that_stayed_is_no_change(changes: tuple[ChangeRow, ...], words: str) -> None:
    assert changes_text(version(*changes)) == words
