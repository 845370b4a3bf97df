"""Profit by exchange, asset and day, summed from what arbitrages brought; old documents without shares too."""

from dataclasses import replace
from decimal import Decimal

import pytest

from market.accounting.profit_groups import NOT_SPLIT, GroupedBy, profit_by
from market.decide.settings import Settings
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, ProfitAndLoss, ProfitShare
from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from store.queries.trade_reader import TradeReader
from store.server.documents import ARBITRAGES
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, opportunity, reserved

DAY = 86_400 * MICROSECONDS
FIRST_DAY = 1_700_006_400 * MICROSECONDS
"""2023-11-15, midnight."""


def share(exchange: str, gross: str, fees: str) -> ProfitShare:
    nothing = Decimal(0)
    net = Decimal(gross) + Decimal(fees)
    return ProfitShare(exchange, Decimal(gross), nothing, nothing, Decimal(fees), nothing, nothing, net)


def profit(*shares: ProfitShare) -> ProfitAndLoss:
    nothing = Decimal(0)
    gross, fees = sum(one.gross for one in shares), sum(one.fees for one in shares)
    net = Decimal(gross) + Decimal(fees)
    return ProfitAndLoss("USD", Decimal(gross), nothing, Decimal(fees), nothing, nothing, net, shares=shares)


async def close_one(store: MongoTradeStore, identity: str, earned: ProfitAndLoss, ended: int) -> None:
    """Close an arbitrage. Its time `ended` is by the server's clock, which no test can set, and so is overwritten."""

    def close(arbitrage: Arbitrage, _: Settings, now: int) -> Arbitrage:
        return replace(arbitrage, state="closed", profit=earned)

    await reserved(store, opportunity(identity, sequence=int(identity)), "0.01")
    for leg in (await granted(store, identity, "buy"), await granted(store, identity, "sell")):
        await finish_leg(store, identity, leg.role, filled(leg), close, UNFENCED)
    await store._database[ARBITRAGES].update_one({"_id": identity}, {"$set": {"times.ended": ended}})


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("exchange", {"alpha": (2, "3.3"), "beta": (2, "2.8"), NOT_SPLIT: (1, "0.5")}),
        ("asset", {"BTC": (3, "6.6")}),
        ("pair", {"alpha → beta": (3, "6.6")}),
        ("strategy", {"arbitrage": (3, "6.6")}),
        ("day", {"2023-11-14": (1, "0.5"), "2023-11-15": (2, "6.1")}),
    ],
)
async def test_what_each_exchange_asset_and_day_earned(
    reader: TradeReader, mongo_store: MongoTradeStore, by: GroupedBy, expected: dict[str, tuple[int, str]]
) -> None:
    await close_one(mongo_store, "1", profit(share("alpha", "2", "-0.2"), share("beta", "2", "-0.3")), FIRST_DAY)
    last = FIRST_DAY + DAY - 1_000
    await close_one(mongo_store, "2", profit(share("alpha", "1.5", "0"), share("beta", "1.5", "-0.4")), last)
    await close_one(mongo_store, "3", profit(), FIRST_DAY - 1_000)
    old = {"profit.gross": "0.5", "profit.net": "0.5"}
    changed = {"$set": old, "$unset": {"profit.shares": "", "profit.latency_decay": ""}}
    await mongo_store._database[ARBITRAGES].update_one({"_id": "3"}, changed)
    groups = await reader.profit_groups("USD")
    assert {line.name: (line.arbitrages, str(line.profit.net)) for line in profit_by(groups, by)} == expected
    assert (await reader.totals("USD")).groups == groups
    assert await reader.profit_groups("EUR") == ()


async def test_what_is_open_brings_nothing_yet(reader: TradeReader, mongo_store: MongoTradeStore) -> None:
    await reserved(mongo_store, opportunity("7", sequence=7), "0.01")
    assert await reader.profit_groups("USD") == ()
