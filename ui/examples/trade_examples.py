"""Example responses about trades, for the OpenAPI document."""

from typing import Any

PARTS = {
    "currency": "USD",
    "gross": "41.73059268",
    "latency_decay": "-1.8",
    "slippage": "-0.60215",
    "fees": "-21.37",
    "fx": "-0.9584",
    "unwinding": "-2.1",
    "net": "14.90004268",
}
TRADE = {
    "arbitrage_id": "5f0c2f9d3b1e4a67",
    "role": "buy",
    "fill_id": "8812345",
    "exchange": "kraken",
    "symbol": "BTC/USD",
    "side": "buy",
    "price": "97250.1",
    "amount": "0.05",
    "cost": "4862.505",
    "fee": "12.642513",
    "fee_currency": "USD",
    "filled_at": 1_763_741_234_567_890,
    "base": "BTC",
    "state": "closed",
    "outcome": "closed_by_third_order",
    "strategy": "arbitrage",
    "net": "-2.1",
}
LINE = {"name": "kraken → bitstamp", "arbitrages": 12, **PARTS}
EQUITY = {
    "currency": "USD",
    "net": "14.90004268",
    "ended": 3,
    "wins": 2,
    "losses": 1,
    "even": 0,
    "win_rate": 0.6666666666666666,
    "largest_win": "12",
    "largest_loss": "-2.1",
    "drawdown": {"depth": "2.1", "start": 1_763_741_234_567_890, "end": 1_763_741_300_000_000},
    "current_drawdown": {"depth": "0", "start": None, "end": None},
    "points": [{"at": 1_763_741_234_567_890, "number": 1, "net": "12"}],
    "marks": [
        {
            "at": 1_763_741_300_000_000,
            "arbitrage_id": "5f0c2f9d3b1e4a67",
            "state": "unwound",
            "outcome": "unwound",
            "net": "-2.1",
            "equity": "9.9",
        }
    ],
    "thinning": "All figures are exact.",
}


def shown(**examples: object) -> dict[int | str, dict[str, Any]]:
    """Return the examples in the form of a route's `responses`."""
    named = {name: {"value": value} for name, value in examples.items()}
    return {200: {"content": {"application/json": {"examples": named}}}}


TRADES_EXAMPLE = shown(page={"items": [TRADE], "next_cursor": "WzE3NjM3NDEyMzQ1Njc4OTAsIm9uZSJd"})
PNL_EXAMPLE = shown(whole={**PARTS, "arbitrages": {"closed": 12, "unwound": 1}}, by_pair=[LINE])
EQUITY_EXAMPLE = shown(session=EQUITY)
