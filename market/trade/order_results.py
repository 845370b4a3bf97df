"""What became of the order of one leg, reported once by the bot of its exchange and booked once by the decider."""

from dataclasses import dataclass, replace
from hashlib import sha256

from pydantic import TypeAdapter

from market.instruments.orders import Fill, OrderReport
from market.trade.arbitrages import Leg, LegRole


@dataclass(frozen=True, slots=True)
class OrderResult:
    """`report` None: the exchange does not know the order. A report that is not final only says that it does."""

    arbitrage_id: str
    base: str
    role: LegRole
    exchange: str
    client_order_id: str
    report: OrderReport | None
    unresolved: str | None = None
    """Why nobody can say what became of it: the arbitrage then ends without a further order."""
    instead_of: tuple[Fill, ...] | None = None
    """The booked fills that those of the report replace, as long as the leg has these: the exchange's own list and
    balances contradict what it reported first."""

    @property
    def is_final(self) -> bool:
        """Whether the leg ends with it."""
        return self.report is None or self.report.is_final

    @property
    def result_id(self) -> str:
        """The same for the same result, so that a repeated one is booked once."""
        digest = sha256(_RESULT.dump_json(self, exclude_defaults=True)).hexdigest()
        return f"{self.client_order_id}|{digest[:16]}"


def result_of(arbitrage_id: str, leg: Leg, report: OrderReport | None, unresolved: str | None = None) -> OrderResult:
    """Return what became of the order of `leg`; the caller has checked the report."""
    names = arbitrage_id, leg.base, leg.role, leg.exchange, leg.client_order_id
    checked = report if report is None or report.stated is None else replace(report, stated=None)
    return OrderResult(*names, checked, unresolved)


_RESULT = TypeAdapter(OrderResult)
