"""A first trade, gone through before the bot reports that it is ready: a message is read, an opportunity decided on,
both legs are reserved and booked in transactions that are rolled back, and an order is made up to the moment at which
it would be sent. What a first trade loads, connects or compiles is loaded then.

Its exchanges exist in no session, and the rows that all trades share are not written, so it meets no real trade.
"""

import logging
from decimal import Decimal
from functools import partial
from typing import Protocol

from bots.decide.order_decision import decide
from bots.errors import BotError
from exchanges.accounts.exchange_account import ExchangeAccount
from exchanges.errors import AccountRejectedError, ExchangeError
from exchanges.ports.account import TradingAccount
from market.decide.decision_context import DecisionContext, RiskState, recorded_context
from market.decide.settings import Settings
from market.instruments.fees import fee_currency
from market.instruments.markets import Market
from market.instruments.orders import Fill, OrderReport
from market.money import ZERO
from market.prices.opportunities import Opportunity
from market.trade import leg_lifecycle, reservations
from market.trade.arbitrages import Arbitrage, Leg
from market.trade.decision_record import StepRequest, reserve_request
from market.trade.fast_replace import replace
from market.trade.leases import Actor
from market.trade.order_results import OrderResult, result_of
from market.trade.reservation_state import BalanceRow, ReservationState
from market.trade.reservations import Reservation
from market.trade.unwinding import advancing, markets_by_symbol
from store.errors import StoreUnavailableError
from store.unit_of_work import UnitOfWork, Work
from streams.message_format import opportunity_of, row_of

log = logging.getLogger(__name__)

BUY, SELL = "rehearsal-one", "rehearsal-two"
MESSAGE = b"""{"kind": "opportunity", "opportunity_id": "rehearsal", "base": "BTC",
 "buy": {"exchange": "rehearsal-one", "symbol": "BTC/USD", "quote_currency": "USD", "price": "60000", "amount": "1",
  "levels": "[[\\"60000\\",\\"1\\"],[\\"60001\\",\\"1\\"]]", "quote_id": "rehearsal-one:BTC/USD:1", "age": 0,
  "exchange_time": null, "received_time": 1000000},
 "sell": {"exchange": "rehearsal-two", "symbol": "BTC/EUR", "quote_currency": "EUR", "price": "56000", "amount": "1",
  "levels": "[[\\"56000\\",\\"1\\"],[\\"55999\\",\\"1\\"]]", "quote_id": "rehearsal-two:BTC/EUR:1", "age": 0,
  "exchange_time": null, "received_time": 1000000},
 "fx": [{"currency": "EUR", "symbol": "EUR/USD", "inverted": false, "bid": "1.0999", "ask": "1.1001",
  "quote_id": "fx:EUR/USD:1"}],
 "settings_version": 1, "gross_bps": 265.7, "fee_bps": 20.0, "net_bps": 245.7, "expected_profit": 1470.0,
 "currency": "USD", "event_time": 1000000, "expires_at": 2000000, "offset": 1}"""
"""As detection writes one."""
_STEPS = Decimal("0.01"), Decimal("0.0001"), Decimal("0.0001"), Decimal(1)
MARKETS = (
    Market(BUY, "us", "BTC/USD", "BTC", "USD", *_STEPS, "quote"),
    Market(SELL, "eu", "BTC/EUR", "BTC", "EUR", *_STEPS, "quote"),
)
SETTINGS = Settings(
    enabled_exchanges=(BUY, SELL), taker_fees={BUY: Decimal("0.001"), SELL: Decimal("0.001")}, quarantine_deviations=0
)
MUCH = Decimal(1_000_000)
TIMES = 3
"""How often it is gone through: the interpreter makes its own short cuts only after a few."""


class DiscardingStore(Protocol):
    """A store that can go through a step and keep nothing of it."""

    async def in_discarded_unit_of_work(self, work: Work[object]) -> None:
        """Run `work` and discard what it writes. Raises StoreUnavailableError, FencedOutError."""
        ...


async def rehearse(store: DiscardingStore, account: TradingAccount, by: Actor) -> None:
    """Go through a trade. What fails is logged: the first trades will be slower, and meet the same. Raises
    FencedOutError; AccountRejectedError, also if the order was sent after all."""
    for part in (partial(_rehearse_steps_often, store, by), partial(_rehearse_order, account)):
        try:
            await part()
        except AccountRejectedError:
            raise
        except (StoreUnavailableError, ExchangeError) as error:
            log.warning("not rehearsed, the first trades may be slow: %s", error, extra={"exchange": account.exchange})


async def _rehearse_steps_often(store: DiscardingStore, by: Actor) -> None:
    for _ in range(TIMES):
        await rehearse_steps(store, by)


async def _rehearse_order(account: TradingAccount) -> None:
    if isinstance(account, ExchangeAccount):
        await account.rehearse()


async def rehearse_steps(store: DiscardingStore, by: Actor) -> None:
    """Decide, reserve and book, and keep nothing. Raises StoreUnavailableError, FencedOutError."""
    reservation = rehearsed_reservation(by.name)
    begun: list[ReservationState] = []

    def reserve(unit: UnitOfWork) -> None:
        before = _with_balances(unit.rows(reservation.opportunity, by))
        after, _ = reservations.reserved(before, reservation)
        begun.append(after)
        unit.write(before, _without_shared_rows(after, before), reserve_request(reservation))

    def book(unit: UnitOfWork) -> None:
        read = unit.rows(reservation.opportunity, by)
        before = replace(begun[0], now=read.now, by=by)
        results = filled(before.arbitrage)
        after = leg_lifecycle.booked(before, results, SETTINGS, advancing(MARKETS))
        unit.write(before, _without_shared_rows(after, before), StepRequest("book", results=results))

    await store.in_discarded_unit_of_work(reserve)
    await store.in_discarded_unit_of_work(book)


def rehearsed_reservation(process: str) -> Reservation:
    """Return what is decided on the message, with ids that no process but this one writes at the same time. Raises
    BotError if that is a rejection."""
    read = opportunity_of(row_of(MESSAGE), detected_time=1_000_000)
    if not isinstance(read, Opportunity):
        raise BotError("the rehearsal's message is no opportunity")
    opportunity = replace(read, opportunity_id=f"rehearsal-{process}")
    free = {(BUY, "USD"): MUCH, (SELL, "BTC"): MUCH}
    context = DecisionContext(opportunity, SETTINGS, _quiet(opportunity), now=opportunity.event_time, free=free)
    decision = decide(context, markets_by_symbol(MARKETS))
    if not isinstance(decision, Reservation):
        raise BotError(f"the rehearsal is rejected: {decision.reason}")
    return replace(decision, context=recorded_context(context))


def filled(arbitrage: Arbitrage | None) -> tuple[OrderResult, ...]:
    """Return the reports of both orders, each filled whole."""
    if arbitrage is None:
        return ()
    return tuple(result_of(arbitrage.arbitrage_id, leg, _report(leg)) for leg in arbitrage.legs)


def _report(leg: Leg) -> OrderReport:
    market = markets_by_symbol(MARKETS)[leg.exchange, leg.symbol]
    fill = Fill(
        fill_id=leg.client_order_id,
        exchange=leg.exchange,
        symbol=leg.symbol,
        side=leg.side,
        price=leg.limit_price,
        amount=leg.amount,
        cost=leg.limit_price * leg.amount,
        fee=ZERO,
        fee_currency=fee_currency(market, leg.side),
        filled_at=leg.times["granted"],
    )
    return OrderReport(leg.client_order_id, is_final=True, filled=leg.amount, fills=(fill,))


def _quiet(opportunity: Opportunity) -> RiskState:
    """Return that nothing is open."""
    return RiskState(
        now=opportunity.event_time,
        reservations_open=True,
        open_arbitrages=0,
        notional={},
        paused_until={},
        pair_busy=False,
        pair_reserved_at=0,
    )


def _with_balances(read: ReservationState) -> ReservationState:
    """Return rows under which both legs are granted, in place of those that no such exchange has."""
    rows = (BalanceRow(BUY, "USD", MUCH, ZERO), BalanceRow(SELL, "BTC", MUCH, ZERO))
    return replace(
        read,
        settings=SETTINGS,
        reservations_open=True,
        open_arbitrages=0,
        notional={},
        day_net=ZERO,
        leases=None,
        balances={(row.exchange, row.currency): row for row in rows},
    )


def _without_shared_rows(after: ReservationState, before: ReservationState) -> ReservationState:
    """Return the same, less what is counted over all arbitrages: a real trade would have to wait for it."""
    return replace(after, open_arbitrages=before.open_arbitrages, notional=before.notional, day_net=before.day_net)
