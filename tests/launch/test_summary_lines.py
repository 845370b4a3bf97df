"""The end of a session in names and digits for people."""

import re

import pytest

from launch.sessions.summary_lines import summary_lines

PARTS = ("gross", "latency_decay", "slippage", "fees", "fx", "unwinding", "net")
SUMMARY: dict[str, object] = {
    "quotes": {"coinbaseexchange": 1204, "bitflyer": 2},
    "decisions": {"taken": 53, "rejected": 12_000, "expired": 278},
    "episodes": {"taken": 44, "rejected": 121, "expired": 6, "undecided": 0},
    "arbitrages": {"closed": 52, "residual": 1, "awaiting_second_leg": 1},
    "single_legs": 3,
    "rejections": {"a_new_one": 1, "pair_busy": 2273},
    "rejected_profit": {"a_new_one": "0", "pair_busy": "12.300000000000000000412", "stale": "1.5"},
    "pnl": {"currency": "USD"} | dict.fromkeys(PARTS, "-0.00000006") | {"net": "224.10512345678901234"},
    "latency_ms": {"opportunity": {"p50": 3.14159, "p95": 5.0, "p99": 12_345.678}, "shown": None},
    "step_ms": {"detected_to_sent": {"p50": 2.0, "p95": 4.0, "p99": 9.0}},
    "balanced": True,
    "balance_differences": [],
}


def test_the_end_of_a_session_is_said_in_words_and_short_figures() -> None:
    assert summary_lines(SUMMARY) == [
        "quotes since ready          Coinbase 1,204, bitFlyer 2",
        "opportunities               12,331: taken 53, rejected 12,000, expired before a decision 278",
        "episodes (price gaps)       171: taken 44, rejected 121, expired before a decision 6, undecided 0",
        "arbitrages by end state     54: closed 52, residual 1, awaiting second leg 1; a single leg completed or "
        "reversed in 3 (P&L part Unwinding)",
        "rejection reasons",
        "  Pair already has an open arbitrage  2,273  missed profit $12.30",
        "  A new one                               1  missed profit $0.00",
        "  Stale quote                             0  missed profit $1.50",
        "P&L attribution             Theoretical gross $0.00, Latency decay $0.00, Slippage $0.00, Fees $0.00, "
        "FX $0.00, Unwinding $0.00, Net +$224.11",
        "ms from tick to opportunity p50 3.1, p95 5.0, p99 12,345.7",
        "ms from tick to shown       not measured",
        "ms from opportunity to sent p50 2.0, p95 4.0, p99 9.0",
        "ledger reconciled",
    ]


def test_no_line_has_a_name_of_the_program_or_more_digits_than_a_cent() -> None:
    for line in summary_lines(SUMMARY):
        assert "_" not in line
        assert not re.search(r"\.\d{3}", line)


def test_nothing_is_said_to_be_nothing_and_books_that_differ_are_named() -> None:
    empty = SUMMARY | {
        "single_legs": 0,
        "quotes": {},
        "arbitrages": {},
        "rejections": {},
        "rejected_profit": {},
        "balanced": False,
    }
    both: dict[str, object] = {"kraken": {}, "bitflyer": {}}
    empty |= {"balances_before": both, "balances_after": both}
    lines = summary_lines(empty | {"balance_differences": [{"exchange": "kraken"}]})
    assert lines[0] == "quotes since ready          none"
    assert lines[3] == "arbitrages by end state     none"
    assert lines[-1] == "LEDGER NOT RECONCILED: [{'exchange': 'kraken'}]"
    lines = summary_lines(empty | {"balance_differences": [{"exchange": "kraken"}], "balances_after": {"kraken": {}}})
    assert lines[-1] == "LEDGER NOT RECONCILED: [{'exchange': 'kraken'}]; the balances of bitFlyer are unknown"


@pytest.mark.parametrize(
    ("before", "after", "unknown"),
    [
        ({"kraken": {}}, {}, "Kraken"),
        ({"kraken": {}}, {"kraken": {}, "bitflyer": {}}, "bitFlyer"),
        ({}, {}, "all exchanges"),
    ],
)
def test_books_that_could_not_be_compared_are_said_to_be_that(
    before: dict[str, object], after: dict[str, object], unknown: str
) -> None:
    silent = SUMMARY | {"balanced": False, "balances_before": before, "balances_after": after}
    assert summary_lines(silent)[-1] == f"LEDGER NOT CHECKED: the balances of {unknown} are unknown"
