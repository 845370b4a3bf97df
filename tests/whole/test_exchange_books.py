"""The check of profits against the exchanges' journals sees each kind of difference; light, without the system."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.whole.exchange_books import Told, assert_profits_are_the_change_of_balances, journals_of

NOTHING = {"latency_decay": "0", "slippage": "0", "fx": "0", "unwinding": "0"}
PROFIT = {"currency": "USD", "gross": "3", "fees": "-1", **NOTHING, "net": "2"}


@dataclass
class Books:
    """One arbitrage: 1 BTC bought for 100 on alpha, sold for 103 on beta, whose orders have no client id."""

    rows: list[dict[str, Any]]
    entries: dict[str, list[dict[str, Any]]]
    summary: dict[str, Any]
    lines: dict[str, list[dict[str, Any]]]

    def check(self, home: Path) -> int:
        (home / "exchanges").mkdir()
        for exchange, entries in self.entries.items():
            lines = "".join(json.dumps(entry) + "\n" for entry in entries)
            (home / "exchanges" / f"{exchange}.jsonl").write_text(lines + '{"orders": [')
        reported = Told(list(self.rows), PROFIT, {by: list(rows) for by, rows in self.lines.items()}, {})
        return assert_profits_are_the_change_of_balances(reported, journals_of(home), self.summary)


def fill(order_id: str, side: str, cost: str, fee: str) -> dict[str, Any]:
    return {
        "order_id": order_id, "symbol": "BTC/USD", "side": side, "amount": "1", "cost": cost, "fee": fee,
        "fee_currency": "USD",
    }  # fmt: skip


def entry(order_id: str, client_id: str | None, *fills: dict[str, Any]) -> dict[str, Any]:
    return {"opening": {}, "orders": [{"order_id": order_id, "client_order_id": client_id}], "fills": list(fills)}


def books() -> Books:
    leg = {"exchange": "alpha", "client_order_id": "c-1", "exchange_order_id": None, "role": "buy"}
    row = {
        "arbitrage_id": "one", "base": "BTC", "state": "closed", "profit": dict(PROFIT), "fx": [],
        "buy_price": "100", "buy_symbol": "BTC/USD", "sell_price": "103", "sell_symbol": "BTC/USD",
        "legs": [leg, {"exchange": "beta", "client_order_id": "c-2", "exchange_order_id": "b-1", "role": "sell"}],
    }  # fmt: skip
    first = {"opening": {"USD": "1000", "BTC": "5"}, "orders": [], "fills": []}
    return Books(
        [row],
        {
            "alpha": [first, entry("a-1", "c-1", fill("a-1", "buy", "100", "0.5"))],
            "beta": [first, entry("b-1", None, fill("b-1", "sell", "103", "0.5"))],
        },
        {
            "pnl": PROFIT,
            "balances_before": {name: {"USD": "1000", "BTC": "5"} for name in ("alpha", "beta")},
            "balances_after": {"alpha": {"USD": "899.5", "BTC": "6"}, "beta": {"USD": "1102.5", "BTC": "4"}},
        },
        {"exchange": [PROFIT]},
    )


def test_books_that_agree_pass(tmp_path: Path) -> None:
    assert books().check(tmp_path) == 1


def higher_fee(made: Books) -> None:
    made.entries["beta"][1]["fills"][0]["fee"] = "0.6"


def more_fills(made: Books) -> None:
    made.entries["alpha"].append(entry("a-2", "c-9", fill("a-2", "buy", "1", "0")))


def other_parts(made: Books) -> None:
    made.rows[0]["profit"]["slippage"] = "0.00000001"


def no_profit(made: Books) -> None:
    made.rows[0]["profit"] = None


def forgotten(made: Books) -> None:
    made.rows.clear()


def other_balance(made: Books) -> None:
    made.summary["balances_after"]["alpha"]["BTC"] = "6.00000001"


def other_opening(made: Books) -> None:
    made.summary["balances_before"]["beta"]["USD"] = "999"


def other_lines(made: Books) -> None:
    made.lines["exchange"] = [PROFIT, PROFIT]


@pytest.mark.parametrize(
    "spoil",
    [higher_fee, more_fills, other_parts, no_profit, forgotten, other_balance, other_opening, other_lines],
)
def test_books_that_do_not_agree_are_found(tmp_path: Path, spoil: Callable[[Books], None]) -> None:
    made = books()
    spoil(made)
    with pytest.raises(AssertionError):
        made.check(tmp_path)
