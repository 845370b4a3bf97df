"""Records of the customer's orders, and reject reasons."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, Literal, TypeVar

from market.instruments.orders import Side
from market.money import ZERO, BoundedDecimal

Code = TypeVar("Code", int, str)
OrderState = Literal["open", "done", "cancelled"]
Liquidity = Literal["taker", "maker"]

Reason = Literal[
    "signature",
    "unknown_key",
    "passphrase",
    "clock",
    "nonce",
    "insufficient_funds",
    "amount_too_small",
    "amount_invalid",
    "price_invalid",
    "too_precise",
    "client_id_invalid",
    "client_id_used",
    "unknown_order",
    "order_ended",
    "unknown_market",
    "unknown_path",
    "invalid_request",
    "misused",
    "rate_limited",
    "banned",
    "maintenance",
    "market_closed",
    "unavailable",
    "order_rejected",
    "too_late",
]


SelfTrade = Literal["taker", "maker", "both", "smaller"]
"""Which of two crossing orders of one account ends: the newer, the older, both, or the smaller one and as much of the
other."""


class RequestRejectedError(Exception):
    """The exchange rejects the request; each gateway maps `reason` to the exchange's own error body.

    `unit`: the currency of an amount in `detail`.
    """

    def __init__(self, reason: Reason, detail: str = "", unit: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
        self.unit = unit


class CodedError(RequestRejectedError, Generic[Code]):
    """A rejection with a code and words of the exchange's own."""

    def __init__(self, code: Code, text: str, status: int = 200) -> None:
        super().__init__("misused", text)
        self.code: Code = code
        self.status = status


@dataclass(frozen=True, slots=True)
class Trigger:
    """A stop order waits until the last trade's price is at least this one, or at most it if not `rises`."""

    price: BoundedDecimal
    rises: bool

    def is_reached(self, last: Decimal) -> bool:
        return last >= self.price if self.rises else last <= self.price


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """`price` None: at the market. `immediate`: what does not fill at once is cancelled. `whole`: nothing or all.

    `user_reference`: the client's number of any number of orders. `expires_at` in microseconds.
    """

    symbol: str
    side: Side
    amount: BoundedDecimal
    price: BoundedDecimal | None
    immediate: bool
    client_order_id: str | None = None
    whole: bool = False
    trigger: Trigger | None = None
    user_reference: int | None = None
    expires_at: int | None = None
    self_trade: SelfTrade = "taker"


@dataclass(frozen=True, slots=True)
class RejectedOrder:
    """A rejected order; `at` in microseconds."""

    request: OrderRequest
    reason: Reason
    at: int


@dataclass(frozen=True, slots=True)
class SimulatedOrder:
    """One order of the test account; times in microseconds."""

    order_id: str
    number: int
    client_order_id: str | None
    symbol: str
    side: Side
    amount: BoundedDecimal
    price: BoundedDecimal | None
    immediate: bool
    placed_at: int
    state: OrderState = "open"
    filled: BoundedDecimal = ZERO
    ended_at: int | None = None
    whole: bool = False
    """Nothing or all of it at once."""
    trigger: Trigger | None = None
    triggered_at: int | None = None
    user_reference: int | None = None
    expires_at: int | None = None
    self_trade: SelfTrade = "taker"
    prevented: BoundedDecimal = ZERO
    """What ended because it would have traded with the account itself."""

    @property
    def remaining(self) -> Decimal:
        """Return what may still fill; of an order that has ended, what did not."""
        return self.amount - self.filled - (self.prevented if self.state == "open" else ZERO)

    @property
    def is_prevented(self) -> bool:
        """Return whether it ended because the rest of it would have traded with the account itself."""
        return self.state == "cancelled" and 0 < self.prevented == self.amount - self.filled

    @property
    def is_waiting(self) -> bool:
        """Return whether it is a stop order that was not triggered yet, and so is in no book."""
        return self.state == "open" and self.trigger is not None and self.triggered_at is None

    @property
    def is_cut_short(self) -> bool:
        """Return whether the exchange cancelled what did not fill at once; what still waits is cancelled by its
        owner."""
        is_sent = self.trigger is None or self.triggered_at is not None
        return self.state == "cancelled" and self.immediate and is_sent

    @property
    def is_expired(self) -> bool:
        """Return whether it ended because its time was over."""
        is_over = self.expires_at is not None and self.ended_at is not None and self.ended_at >= self.expires_at
        return self.state == "cancelled" and is_over


@dataclass(frozen=True, slots=True)
class SimulatedFill:
    """One execution as the exchange books it: `cost` in quote currency, `fee` in `fee_currency`."""

    fill_id: str
    number: int
    order_id: str
    symbol: str
    side: Side
    price: BoundedDecimal
    amount: BoundedDecimal
    cost: BoundedDecimal
    fee: BoundedDecimal
    fee_currency: str
    liquidity: Liquidity
    filled_at: int


@dataclass(frozen=True, slots=True)
class PreventedTrade:
    """Two orders of the account that met and did not trade; amounts are what ended of each."""

    number: int
    symbol: str
    taker_id: str
    maker_id: str
    price: BoundedDecimal
    taker_amount: BoundedDecimal
    maker_amount: BoundedDecimal
    self_trade: SelfTrade
    at: int


@dataclass(frozen=True, slots=True)
class PublicTrade:
    """A public trade; `number` grows over the exchange's life, `side` is the taker's."""

    number: int
    symbol: str
    side: Side
    price: Decimal
    amount: Decimal
    traded_at: int


@dataclass(frozen=True, slots=True)
class SimulatedAccountEvent:
    """One step of one order of the test account; `order` in its new state, `fill` if the step is one."""

    kind: Literal["opened", "triggered", "amended", "filled", "prevented", "ended"]
    order: SimulatedOrder
    fill: SimulatedFill | None = None
    prevented: PreventedTrade | None = None
