"""What ccxt does not tell of an exchange's orders, as data. Read in ccxt 4.5.90; an exchange that is not listed here
is taken to be as ccxt's unified API says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

_IOC: Mapping[str, object] = {"timeInForce": "IOC"}


@dataclass(frozen=True, slots=True)
class EarlierPage:
    """How the exchange is asked for what came before a page."""

    parameter: str = "until"
    """ccxt's own; if ccxt does not translate it, the exchange's."""
    counts: Literal["milliseconds", "ids", "rows", "account rows"] = "milliseconds"
    """What the parameter's number is: of rows, it says how many to pass over, of the symbol or of the whole account."""


@dataclass(frozen=True, slots=True)
class OrderQuirks:
    """One exchange's orders."""

    parameters: Mapping[str, object] = field(default_factory=lambda: _IOC)
    """How an order is made immediate-or-cancel, and what else goes with it."""
    is_immediate: bool = False
    """Whether the exchange is known to end the order by itself. Otherwise one that still rests is cancelled: some
    exchanges of ccxt ignore `timeInForce`, whatever its `features` say."""
    client_id_parameter: str | None = "clientOrderId"
    """The parameter in which ccxt takes ours and sends it as it is; None if the exchange knows none."""
    order_parameters: Mapping[str, object] = field(default_factory=dict)
    """What ccxt's `fetch_order` needs besides."""
    finds_by_client_id: bool = False
    """Whether ccxt's `fetch_order` takes ours. Otherwise the order is searched for among the account's orders."""
    fee_field: str | None = None
    """Field of the exchange's own fill that has the fee, if ccxt does not read it."""
    cost_steps: Mapping[str, Decimal] = field(default_factory=dict)
    """By quote currency: what the exchange rounds the cost of a fill down to, if its fills do not say the cost."""
    earlier_fills: EarlierPage = field(default_factory=EarlierPage)


ORDER_QUIRKS: Mapping[str, OrderQuirks] = {
    "coinbaseexchange": OrderQuirks(is_immediate=True, finds_by_client_id=True),
    # a limit order's `timeInForce` is passed on as it is, which Bitstamp does not know
    "bitstamp": OrderQuirks(
        {"ioc_order": "True"},
        is_immediate=True,
        finds_by_client_id=True,
        # its times are whole seconds, and one may have more fills than a page
        earlier_fills=EarlierPage("offset", "rows"),
    ),
    "bitflyer": OrderQuirks(
        {"time_in_force": "IOC"},
        is_immediate=True,
        client_id_parameter=None,
        fee_field="commission",
        cost_steps={"JPY": Decimal(1)},
        earlier_fills=EarlierPage("before", "ids"),
    ),
    # fciq: the fee in quote currency. ccxt's fetch_order takes a client order id for a `userref`, which is another one.
    # Its times are whole seconds, within which a page may end; an offset passes over them.
    "kraken": OrderQuirks(
        {**_IOC, "oflags": "fciq"}, is_immediate=True, earlier_fills=EarlierPage("ofs", "account rows")
    ),
    "binance": OrderQuirks(is_immediate=True, finds_by_client_id=True),
    # ccxt drops `clientOrderId` and sends an id of its own, unless the exchange's own field overwrites that
    "coinbase": OrderQuirks(client_id_parameter="client_order_id"),
    # of unified accounts, ccxt reads an order only if one knows that older ones than the last 500 are not found
    "bybit": OrderQuirks(order_parameters={"acknowledged": True}),
}


def order_quirks(ccxt_id: str) -> OrderQuirks:
    return ORDER_QUIRKS.get(ccxt_id) or OrderQuirks()
