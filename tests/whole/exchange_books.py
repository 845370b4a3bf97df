"""The exchanges' own journals as the second source: what every arbitrage moved there, valued by plain arithmetic.

Nothing here uses the project's sums: fractions, the FX sides of the opportunity as REST tells them, one rounding.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.whole.running import Running

PARTS = ("gross", "latency_decay", "slippage", "fees", "fx", "unwinding")
OPEN = ("reserved", "single_leg")

Row = Mapping[str, Any]
Place = tuple[str, str]
"""Exchange and currency."""


@dataclass
class Told:
    """What REST said once nothing was open any more."""

    arbitrages: list[Row]
    pnl: Row
    lines: dict[str, list[Row]]
    exposures: dict[str, Decimal]
    details: list[Row] = field(default_factory=list)


@dataclass
class Journal:
    """One exchange's record: fills by the order that made them, and the two names of each order."""

    opening: dict[str, Decimal]
    fills: dict[str, list[Row]]
    by_client_id: dict[str, str]


def reported_at_the_end(paper: Running) -> Told:
    """Nothing new from now on; as soon as nothing is open, everything that was traded."""
    paper.patch_settings({"trading_state": "reduce_only"})
    states = "&".join(f"state={state}" for state in OPEN)
    paper.until(lambda: not paper.get(f"/arbitrages?{states}")["items"], 12, "an arbitrage stayed open")
    arbitrages: list[Row] = []
    cursor = ""
    while True:
        page = paper.get(f"/arbitrages?limit=500{cursor}")
        arbitrages += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    return Told(
        arbitrages,
        paper.get("/pnl"),
        {by: paper.get(f"/pnl?by={by}") for by in ("exchange", "asset", "day")},
        {row["currency"]: Decimal(row["change"]) for row in paper.get("/inventory")["exposures"]},
        [paper.get(f"/arbitrages/{row['arbitrage_id']}") for row in arbitrages[:20] if row["state"] == "closed"],
    )


def journals_of(home: Path) -> dict[str, Journal]:
    """By exchange; a torn last line was never acknowledged."""
    return {path.stem: _journal(path) for path in sorted((home / "exchanges").glob("*.jsonl"))}


def _journal(path: Path) -> Journal:
    journal = Journal({}, {}, {})
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            entry = json.loads(line)
            journal.opening |= {name: Decimal(amount) for name, amount in entry["opening"].items()}
            for order in entry["orders"]:
                if order["client_order_id"] is not None:
                    journal.by_client_id[order["client_order_id"]] = order["order_id"]
            for fill in entry["fills"]:
                journal.fills.setdefault(fill["order_id"], []).append(fill)
    return journal


def assert_profits_are_the_change_of_balances(told: Told, journals: Mapping[str, Journal], summary: Row) -> int:
    """How many arbitrages brought something: for each, its orders' fills in the journals, valued, are its net."""
    moved: dict[Place, Fraction] = {}
    used: set[tuple[str, str]] = set()
    traded = 0
    for row in told.arbitrages:
        fills = _fills_of(row, journals, used)
        flows = _flows(fills)
        for place, change in flows.items():
            moved[place] = moved.get(place, Fraction(0)) + change
        if fills and row.get("strategy") != "ma":
            traded += 1
            assert row["profit"] is not None, row
            assert Decimal(row["profit"]["net"]) == _valued(row, flows), row
            assert sum(Decimal(row["profit"][part]) for part in PARTS) == Decimal(row["profit"]["net"]), row
    _assert_nothing_is_left_over(journals, used)
    _assert_balances(journals, moved, summary)
    _assert_sums(told, moved, summary)
    return traded


def assert_times_are_in_order(told: Told) -> None:
    """Every closed arbitrage tells each step; the server's own are in order, and so is what came before them here."""
    assert told.details
    for row in told.details:
        steps = [step["step"] for step in row["timeline"]]
        assert set(steps) >= {"received", "detected", "reserved", "granted", "filled", "done", "ended"}, row
        assert steps == sorted(steps, key=_ORDER.index) or any(
            leg["role"] not in ("buy", "sell") for leg in row["legs"]
        )
        for clock in ("server", "local"):
            times = [step["at"] for step in row["timeline"] if step["clock"] == clock and step["step"] not in _BESIDE]
            assert times == sorted(times), row
        assert row["history"], row


_ORDER = ("quoted", "received", "detected", "reserved", "granted", "sent", "filled", "done", "ended")
_BESIDE = ("received", "reserved", "granted", "sent", "done")
"""Steps of both sides, which do not wait for each other."""


def _fills_of(row: Row, journals: Mapping[str, Journal], used: set[tuple[str, str]]) -> list[tuple[str, Row]]:
    """(exchange, fill) of all its orders; each order is of one leg."""
    found = []
    for leg in row["legs"]:
        journal = journals[leg["exchange"]]
        order_id = journal.by_client_id.get(leg["client_order_id"], leg["exchange_order_id"])
        if order_id in journal.fills:
            assert (leg["exchange"], order_id) not in used, row
            used.add((leg["exchange"], order_id))
            found += [(leg["exchange"], fill) for fill in journal.fills[order_id]]
    return found


def _flows(fills: Iterable[tuple[str, Row]]) -> dict[Place, Fraction]:
    flows: dict[Place, Fraction] = {}
    for exchange, fill in fills:
        base, _, quote = fill["symbol"].partition("/")
        sign = 1 if fill["side"] == "buy" else -1
        changes = (
            (base, sign * Fraction(fill["amount"])),
            (quote, -sign * Fraction(fill["cost"])),
            (fill["fee_currency"], -Fraction(fill["fee"])),
        )
        for currency, change in changes:
            flows[exchange, currency] = flows.get((exchange, currency), Fraction(0)) + change
    return flows


def _valued(row: Row, flows: Mapping[Place, Fraction]) -> Decimal:
    """Bought currency at the side paid, sold currency at the side received; base left over at the price seen."""
    by_currency: dict[str, Fraction] = {}
    for (_, currency), change in flows.items():
        by_currency[currency] = by_currency.get(currency, Fraction(0)) + change
    left = by_currency.pop(row["base"], Fraction(0))
    side = "buy" if left > 0 else "sell"
    price, symbol = Fraction(row[f"{side}_price"]), row[f"{side}_symbol"]
    rates = {rate["currency"]: rate for rate in row["fx"]}
    value = left * price * _mid(rates.get(symbol.partition("/")[2]))
    for currency, change in by_currency.items():
        value += change * _side(rates.get(currency), pays=change < 0)
    return Decimal(round(value * 10**8)).scaleb(-8)


def _mid(rate: Row | None) -> Fraction:
    if rate is None:
        return Fraction(1)
    middle = (Fraction(rate["bid"]) + Fraction(rate["ask"])) / 2
    return 1 / middle if rate["inverted"] else middle


def _side(rate: Row | None, pays: bool) -> Fraction:
    if rate is None:
        return Fraction(1)
    if rate["inverted"]:
        return 1 / Fraction(rate["bid"] if pays else rate["ask"])
    return Fraction(rate["ask"] if pays else rate["bid"])


def _assert_nothing_is_left_over(journals: Mapping[str, Journal], used: set[tuple[str, str]]) -> None:
    orders = {(exchange, order_id) for exchange, journal in journals.items() for order_id in journal.fills}
    assert orders == used, f"fills of no arbitrage: {orders - used}"


def _assert_balances(journals: Mapping[str, Journal], moved: Mapping[Place, Fraction], summary: Row) -> None:
    for moment, changes in (("balances_before", {}), ("balances_after", moved)):
        for exchange, reported in summary[moment].items():
            opening = journals[exchange].opening
            for currency in opening.keys() | reported.keys():
                expected = Fraction(opening.get(currency, 0)) + changes.get((exchange, currency), Fraction(0))
                assert Fraction(reported.get(currency, 0)) == expected, (moment, exchange, currency)


def _assert_sums(told: Told, moved: Mapping[Place, Fraction], summary: Row) -> None:
    """Check that the session's parts are those of its arbitrages, by every line too; exposure is what the journals
    moved."""
    profits = [row["profit"] for row in told.arbitrages if row["profit"] is not None]
    for part in (*PARTS, "net"):
        whole = sum(Decimal(profit[part]) for profit in profits)
        assert Decimal(told.pnl[part]) == Decimal(summary["pnl"][part]) == whole, part
        for by, lines in told.lines.items():
            assert sum(Decimal(line[part]) for line in lines) == whole, (by, part)
    for currency, change in told.exposures.items():
        assert Fraction(change) == sum(part for (_, name), part in moved.items() if name == currency), currency
