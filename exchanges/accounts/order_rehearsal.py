"""An order that goes as far as orders go before they are sent, so that the first real one finds everything loaded."""

from dataclasses import dataclass

from exchanges.errors import NotPostedError
from exchanges.ports.permits import Permit, RequestCheck
from market.instruments.markets import Market
from market.instruments.order_rules import minimum_order
from market.instruments.orders import LimitOrder
from market.money import Amount, Price
from market.trade.unwinding import client_order_id
from runtime.clock import wall_now

REHEARSAL = client_order_id("rehearsal", "buy")


def _never() -> None:
    raise NotPostedError("it is a rehearsal")


NEVER = Permit(_never)
"""The permit of an order that is not to be sent: it is checked last, as any permit, right before that."""


@dataclass(slots=True)
class NotedRequest:
    """Where an order's request would have gone, which is checked like any other."""

    check_request: RequestCheck
    url: str | None = None

    def check(self, method: str, url: str, body: str | None) -> None:
        """Note the address. Raises AccountRejectedError, as the check does."""
        self.url = url
        self.check_request(method, url, body)


def rehearsed_order(market: Market) -> LimitOrder:
    """Return the smallest order to buy at the lowest price, which would fill nothing."""
    price = Price(market.tick_size)
    return LimitOrder(
        client_order_id=REHEARSAL,
        exchange=market.exchange,
        symbol=market.symbol,
        side="buy",
        amount=Amount(minimum_order(market, price)),
        price=price,
        intended_at=wall_now(),
    )
