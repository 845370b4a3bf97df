"""The local paper account keeps the contract of every trading account, whichever side its fee is taken on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest

from exchanges.paper.account import PaperAccount
from exchanges.paper.conditions import FillConditions
from exchanges.paper.journal import PaperJournal
from exchanges.ports.account import TradingAccount
from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import Amount, Price
from market.prices.quotes import Quote
from runtime.clock import SystemClock, wall_now
from tests.exchanges.account_contract import AccountContract, Bench
from tests.market.samples import JPY_MARKET, USD_MARKET, levels

ASKS = levels(("60000", "0.02"), ("60050", "0.05"), ("60100", "1"))
BIDS = levels(("59950", "0.02"), ("59900", "0.05"), ("59850", "1"))


@dataclass
class PaperBench:
    market: Market
    folder: Path

    def __post_init__(self) -> None:
        self.quote = self._quote(1)
        self.account: TradingAccount = self._opened(self.quote)

    @property
    def keeps_client_ids(self) -> bool:
        return True

    @asynccontextmanager
    async def reopened(self) -> AsyncIterator[TradingAccount]:
        yield self._opened(self._quote(2))

    def _quote(self, sequence: int) -> Quote:
        market = self.market
        place = (market.exchange, market.region, market.symbol, market.base, market.quote_currency)
        return Quote("quote", *place, BIDS, ASKS, None, wall_now(), sequence)

    def _opened(self, quote: Quote) -> PaperAccount:
        market = self.market
        account = PaperAccount(
            exchange=market.exchange,
            markets=(market,),
            opening={market.base: Decimal(10), market.quote_currency: Decimal(1_000_000)},
            journal=PaperJournal(self.folder / "account.jsonl"),
            clock=SystemClock(),
            fee_rate=lambda: Decimal("0.001"),
            latency_ms=2,
            conditions=FillConditions(latency_spread=0.5, max_quote_age=lambda: 60_000_000),
        )
        account.update_quote(quote)
        return account

    def best(self, side: Side) -> tuple[Price, Amount]:
        level = self.quote.bids[0] if side == "buy" else self.quote.asks[0]
        return level.price, level.amount


class TestPaperAccount(AccountContract):
    @pytest.fixture(params=[USD_MARKET, JPY_MARKET], ids=["fee in quote", "fee in base"])
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
        market = replace(
            cast(Market, request.param),
            lot_step=Decimal("0.001"),
            minimum_amount=Decimal("0.01"),
            tick_size=Decimal("0.01"),
        )
        return PaperBench(market, tmp_path)
