"""One order for one leg, on real wire protocols, whatever the exchange's clock says and whatever becomes of its answer;
if there are two, the audit sees it."""

import asyncio
from collections.abc import Collection
from decimal import Decimal

import pytest

from bots.execute.leg_executor import LegExecutor
from bots.reconcile.reconciler import Reconciliation
from exchanges.ports.account import TradingAccount
from exchanges.ports.permits import ALWAYS_PERMITTED, Permit
from market.instruments.orders import AccountFill, LimitOrder, OpenOrder, OrderReport
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.leases import UNFENCED
from market.trade.unwinding import UNCONFIRMED, advancing
from runtime.clock import steady_now
from simulators.faults.fault_kinds import Fault
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from tests.bots.served_opportunity import MARKETS, TRADED
from tests.exchanges.served import Served
from tests.launch.test_audit_catches import (
    ANYTHING,
    ARBITRAGE,
    Stage,
    die_after_posting,
    reserve_both,
    stage,
    trader_of,
)
from tests.store.booking import book_reported

__all__ = ["stage"]
BUYERS = (
    ("bitflyer", -0.9),
    ("bitflyer", -0.4),
    ("bitflyer", 0.9),
    ("kraken", -0.9),
    ("coinbaseexchange", -0.9),
    ("bitstamp", 0.9),
)


class Blind:
    """An account whose search finds nothing, as a search does if its dates are misread."""

    def __init__(self, account: TradingAccount) -> None:
        self.account = account

    @property
    def exchange(self) -> str:
        return self.account.exchange

    async def place(self, order: LimitOrder, permit: Permit = ALWAYS_PERMITTED) -> OrderReport:
        raise AssertionError(f"{order} was to be looked up alone")

    async def look_up(self, order: LimitOrder, others: Collection[str] = ()) -> OrderReport | None:
        return None

    async def cancel(self, order: LimitOrder, exchange_order_id: str) -> None:
        await self.account.cancel(order, exchange_order_id)

    async def open_orders(self) -> list[OpenOrder]:
        return await self.account.open_orders()

    async def fills_since(self, since: int) -> list[AccountFill]:
        return await self.account.fills_since(since)

    async def balances(self) -> dict[str, Decimal]:
        return await self.account.balances()

    async def close(self) -> None:
        """Do nothing: the account is closed by whoever opened it."""


class Believed(Blind):
    """An account that is asked for nothing else either, as if a denial were enough: it answers what it had when it was
    made."""

    def __init__(self, account: TradingAccount, opening: dict[str, Decimal]) -> None:
        super().__init__(account)
        self.opening = opening

    async def open_orders(self) -> list[OpenOrder]:
        return []

    async def fills_since(self, since: int) -> list[AccountFill]:
        return []

    async def balances(self) -> dict[str, Decimal]:
        return self.opening


class Floor:
    """A database and the accounts of all exchanges, opened; `stage` has the audit."""

    def __init__(self, stage: Stage) -> None:
        session = stage.session
        self.stage = stage
        self.store = MongoTradeStore(connect(session.services.mongodb), session.services.database, session.session_id)
        self.accounts = {exchange: stage.account(exchange) for exchange in TRADED}

    async def __aenter__(self) -> "Floor":
        await self.store.prepare()
        await self.store.settings.create(ANYTHING)
        for exchange, account in self.accounts.items():
            await self.store.balances.replace(exchange, await account.balances(), "before", UNFENCED)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.close()
        for account in self.accounts.values():
            await account.close()

    async def execute(self, leg: Leg) -> None:
        trader = trader_of(self.store, self.accounts[leg.exchange], leg)
        await trader.execute(ARBITRAGE, leg)
        await book_reported(self.store, advancing(MARKETS))

    async def die_after_posting(self, leg: Leg) -> None:
        trader = trader_of(self.store, self.accounts[leg.exchange], leg)
        await die_after_posting(self.stage, trader, leg.exchange, leg)

    async def arbitrage(self) -> Arbitrage:
        found = await self.store.arbitrage(ARBITRAGE)
        assert found is not None
        return found

    async def denied(self, account: TradingAccount) -> Arbitrage:
        """Return what becomes of the buy leg, posted and never acknowledged, if only `account` is asked for it."""
        leg = (await self.arbitrage()).leg("buy")
        assert leg is not None
        # seconds pass at once for this clock
        looking = LegExecutor(self.store, account, steady_clock=lambda: steady_now() * 100, by=UNFENCED)
        await looking.lookup.resolve(ARBITRAGE, leg)
        await book_reported(self.store, advancing(MARKETS))
        return await self.arbitrage()

    async def reconciled(self, *exchanges: str, rounds: int = 3) -> list[str]:
        """Return the kinds that reconciliation acted on."""
        kinds: list[str] = []
        for name in exchanges:
            process = Reconciliation(
                self.store,
                self.accounts[name],
                advancing(MARKETS),
                lambda: ANYTHING,
                has_client_ids=name != "bitflyer",
                by=UNFENCED,
            )
            for _ in range(rounds):
                kinds += [one.kind for one in await process.round()]
                await book_reported(self.store, advancing(MARKETS))
        return kinds

    async def violations(self) -> set[str]:
        for exchange, account in self.accounts.items():
            await self.store.balances.replace(exchange, await account.balances(), "after", UNFENCED)
        return {one.kind for one in await self.stage.violations()}


def orders_at(world: Served, exchange: str) -> int:
    return len(world.world.gateways[exchange].exchange.customer.orders)


def role_states(arbitrage: Arbitrage) -> list[tuple[str, str]]:
    return [(leg.role, leg.state) for leg in arbitrage.legs]


@pytest.mark.parametrize(("buyer", "skew"), BUYERS)
async def test_a_lost_acknowledgement_is_one_order_whatever_the_clock_says(
    stage: Stage, buyer: str, skew: float
) -> None:
    seller = "kraken" if buyer == "bitflyer" else "bitflyer"
    stage.world.faults.switch_on(Fault(buyer, "clock_skew", seconds=3600, skew_seconds=skew))
    async with Floor(stage) as floor:
        buy, sell = await reserve_both(stage, floor.store, buyer, seller)
        stage.world.faults.switch_on(Fault(buyer, "lost_acknowledgement", count=1, manner="dropped"))
        await asyncio.gather(floor.execute(buy), floor.execute(sell))
        assert role_states(await floor.arbitrage()) == [("buy", "done"), ("sell", "done")]
        assert await floor.reconciled(buyer, seller) == []
        assert orders_at(stage.world, buyer) == 1
        assert await floor.violations() == set()


async def test_where_the_search_misses_it_nothing_is_sent_in_its_place(stage: Stage) -> None:
    """Held while the balances speak for an order; once it is found, the arbitrage ends as it should have."""
    async with Floor(stage) as floor:
        buy, sell = await reserve_both(stage, floor.store, "bitflyer", "kraken")
        await floor.die_after_posting(buy)
        await floor.execute(sell)
        held = await floor.denied(Blind(floor.accounts["bitflyer"]))
        assert (held.state, held.reason) == ("residual", UNCONFIRMED)
        assert role_states(held) == [("buy", "not_sent"), ("sell", "done")]
        assert orders_at(stage.world, "bitflyer") == 1
        assert "order_unbooked" in await floor.violations()
        assert "order_found" in await floor.reconciled("bitflyer")
        assert (await floor.arbitrage()).state == "closed"
        assert orders_at(stage.world, "bitflyer") == 1
        assert await floor.violations() == set()


async def test_the_audit_sees_an_order_in_the_place_of_one_that_had_filled(stage: Stage) -> None:
    """A bot that trusts the denial alone sends a second order of full size."""
    async with Floor(stage) as floor:
        opening = await floor.accounts["bitflyer"].balances()
        buy, sell = await reserve_both(stage, floor.store, "bitflyer", "kraken")
        await floor.die_after_posting(buy)
        await floor.execute(sell)
        denied = await floor.denied(Believed(floor.accounts["bitflyer"], opening))
        second: Leg = denied.legs[-1]
        assert (denied.state, second.role, second.exchange) == ("single_leg", "complete", "bitflyer")
        await floor.execute(second)
        assert orders_at(stage.world, "bitflyer") == 2
        found = await floor.violations()
        assert {"order_unbooked", "replaced_while_filled", "fill_missing"} <= found
        # once found it is booked, and what was bought twice is to be sold; the audit still shows that it was replaced
        kinds = await floor.reconciled("kraken", "bitflyer")
        assert "order_found" in kinds
        assert "balance_differs" not in kinds
        assert "replaced_while_filled" in await floor.violations()
