"""One scripted list of orders through our own order API and through ccxt's unified methods: the same fills, balances
and books, to the last digit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import pytest

from exchanges.accounts.exchange_account import open_account
from exchanges.errors import ExchangeError
from market.instruments.markets import Market
from market.instruments.orders import Fill, LimitOrder, Side
from market.money import floor_to_step
from runtime.clock import wall_now
from tests.exchanges.served import TRADED, Served, order_on, served

SCRIPT: tuple[tuple[Side, str, str], ...] = (
    # side, multiple of what the best level shows, how far beyond it
    ("buy", "0.5", "0"),
    ("buy", "2.5", "0.002"),
    ("sell", "0.3", "0.001"),
    ("sell", "3.7", "0.004"),
    ("buy", "1000000", "0.002"),
    ("sell", "1", "-0.01"),
    ("buy", "1.1", "0.0005"),
)
_SIDES: tuple[Side, Side] = ("buy", "sell")


@dataclass(frozen=True, slots=True)
class Ending:
    """What the account and the exchange say after the script; ids and times are each run's own."""

    reports: list[tuple[bool, Decimal, list[Fill]] | str]
    listed: list[Fill]
    balances: dict[str, Decimal]
    books: list[list[tuple[int, int]]]


@pytest.fixture
def homes(tmp_path: Path) -> list[Path]:
    """One for each run."""
    found = [tmp_path / name for name in ("verified", "generic")]
    for home in found:
        home.mkdir()
    return found


@pytest.mark.parametrize("market", TRADED, ids=lambda market: market.exchange)
async def test_both_end_alike(market: Market, homes: list[Path]) -> None:
    own, generic = [await _played(market, home, is_generic=home.name == "generic") for home in homes]
    assert any(isinstance(one, tuple) and len(one[2]) > 1 for one in own.reports)
    assert any(isinstance(one, str) for one in own.reports)
    assert generic == own


async def _played(market: Market, home: Path, *, is_generic: bool) -> Ending:
    async with served(home, only=(market.exchange,)) as outside:
        account = open_account(outside.config(market.exchange, is_generic=is_generic), [market])
        reports: list[tuple[bool, Decimal, list[Fill]] | str] = []
        began = wall_now()
        try:
            for side, multiple, reach in SCRIPT:
                order = _order(outside, market, side, Decimal(multiple), Decimal(reach))
                try:
                    report = await account.place(order)
                    reports.append((report.is_final, report.filled, _plain(report.fills)))
                except ExchangeError as error:
                    reports.append(type(error).__name__)
            listed = _plain([one.fill for one in await account.fills_since(began)])
            balances = await account.balances()
        finally:
            await account.close()
        book = outside.world.gateways[market.exchange].exchange.books[market.symbol]
        return Ending(reports, listed, balances, [list(book.levels(side, 50)) for side in _SIDES])


def _order(outside: Served, market: Market, side: Side, multiple: Decimal, reach: Decimal) -> LimitOrder:
    price, shown = outside.best(market, "sell" if side == "buy" else "buy")
    amount = max(floor_to_step(shown * multiple, market.lot_step), market.minimum_amount)
    limit = price * (1 + reach if side == "buy" else 1 - reach)
    return order_on(market, side, amount, floor_to_step(limit, market.tick_size))


def _plain(fills: Sequence[Fill]) -> list[Fill]:
    """Without ids and times, in an order of their own: an exchange lists those of one moment in any order."""
    return sorted((replace(fill, fill_id="", filled_at=0) for fill in fills), key=repr)
