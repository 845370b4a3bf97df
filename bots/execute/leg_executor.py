"""Executes one granted leg: posts its order once, follows it to its end, and reports what became of it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from bots.execute.order_lookup import (
    UNKNOWN_AFTER_SECONDS,
    OrderLookup,
    RecordFailure,
    ignore_failure,
    leg_ids,
    order_of,
    usual_seconds,
)
from bots.server_clock import ServerClock
from exchanges.errors import (
    AccountRejectedError,
    NotPostedError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.ports.account import TradingAccount
from exchanges.ports.permits import Permit
from market.instruments.orders import OrderReport
from market.money import ZERO, Amount
from market.trade.arbitrages import Leg
from market.trade.fast_replace import replace
from market.trade.leases import Actor
from market.trade.report_checks import ReportRules
from market.trade.reservations import SEND_WITHIN
from runtime.clock import steady_now
from store.ports.trading import OrderStore

log = logging.getLogger(__name__)

NOTHING_FILLED = OrderReport(exchange_order_id="", is_final=True, filled=Amount(ZERO), fills=())

SendBlock = Callable[[], str | None]
"""Returns why no order may be sent right now; None if it may."""


def _never_blocked() -> str | None:
    """Default: nothing blocks sending."""
    return None


@dataclass(slots=True)
class LegExecutor:
    """Executes the legs of one exchange. The caller ensures that no leg is executed twice at a time in one process."""

    store: OrderStore
    account: TradingAccount
    by: Actor
    unknown_after: float = UNKNOWN_AFTER_SECONDS
    """Seconds for which an order must be unknown to the exchange before it counts as not sent."""
    steady_clock: Callable[[], int] = steady_now
    """Keeps running while the process is suspended."""
    record_failure: RecordFailure = ignore_failure
    send_block: SendBlock = _never_blocked
    """Checked in the last step before an order is posted."""
    server_clock: ServerClock = field(default_factory=ServerClock)
    rules: ReportRules = field(default_factory=ReportRules)
    """What the exchange's reports are checked by."""
    final_within: Callable[[], float] = usual_seconds
    lookup: OrderLookup = field(init=False)

    def __post_init__(self) -> None:
        self.lookup = OrderLookup(
            self.store,
            self.account,
            self.by,
            self.record_failure,
            self.unknown_after,
            self.steady_clock,
            self.rules,
            self.final_within,
        )

    async def execute(self, arbitrage_id: str, leg: Leg) -> None:
        """Post the order of a leg that was granted to this process, and follow it to its end. To be called once for
        each leg: nothing here knows whether it was posted before.

        Raises StoreUnavailableError, AccountRejectedError; the leg is then left to `OrderLookup.resolve`.
        """
        posting = _Posting(self, leg)
        try:
            # before anything that takes time, and again when the request is written
            posting.check()
            report = await self.account.place(order_of(leg), Permit(posting.check))
        except NotPostedError as error:
            log.warning("order not posted: %s", error, extra=leg_ids(arbitrage_id, leg))
            await self.lookup.report(arbitrage_id, leg, replace(NOTHING_FILLED, is_posted=False, reason=str(error)))
        except OrderRejectedError as error:
            self.record_failure("order_rejected", leg.client_order_id)
            log.warning("order rejected: %s", error, extra=leg_ids(arbitrage_id, leg))
            await self.lookup.report(arbitrage_id, leg, NOTHING_FILLED)
        except OutcomeUnknownError as error:
            self.record_failure("outcome_unknown", leg.client_order_id)
            log.warning("order outcome unknown: %s", error, extra=leg_ids(arbitrage_id, leg))
            await self.lookup.resolve(arbitrage_id, leg)
        except AccountRejectedError:
            await self.lookup.report(arbitrage_id, leg, None)
            raise
        else:
            await self._follow(arbitrage_id, leg, replace(report, posted_at=posting.posted_at))

    async def _follow(self, arbitrage_id: str, leg: Leg, report: OrderReport) -> None:
        if report.is_final:
            await self.lookup.report(arbitrage_id, leg, report)
        else:
            await self.lookup.acknowledge(arbitrage_id, leg, report)
            await self.lookup.resolve(arbitrage_id, leg)


@dataclass(slots=True)
class _Posting:
    """The post of one order: whether it may happen now, and when it did."""

    executor: LegExecutor
    leg: Leg
    posted_at: int | None = None

    def check(self) -> None:
        """Raise NotPostedError if the order must not be posted any more."""
        executor, leg = self.executor, self.leg
        if leg.token != executor.by.token:
            raise NotPostedError("it was granted to another process")
        now = executor.server_clock.latest()
        # far ahead of it: the store's clock was set forward since it was last read, so the age of the grant is unknown
        if now is None or abs(now - leg.times["granted"]) > SEND_WITHIN:
            raise NotPostedError("too late: the order was held up on its way")
        reason = executor.send_block()
        if reason is not None:
            raise NotPostedError(reason)
        self.posted_at = executor.server_clock.about()
