"""What an exchange's documents want of an order, and what ccxt does not tell of its orders: the types."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal
from uuid import UUID

IOC: Mapping[str, object] = {"timeInForce": "IOC"}
_BARE_UUID = re.compile("[0-9a-f]{32}")


def whole_id(sent: str) -> str:
    """Return an order id with its hyphens if it is a UUID that was sent without; another one stays as it is."""
    return sent if _BARE_UUID.fullmatch(sent) is None else str(UUID(sent))


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

    parameters: Mapping[str, object] = field(default_factory=lambda: IOC)
    """How an order is made immediate-or-cancel, and what else goes with it."""
    is_immediate: bool = False
    """Whether the exchange is known to end the order by itself. Otherwise one that still rests is cancelled: some
    exchanges of ccxt ignore `timeInForce`, whatever its `features` say."""
    client_id_parameter: str | None = "clientOrderId"
    """The parameter in which ccxt takes ours and sends it as it is; None if the exchange knows none."""
    order_parameters: Mapping[str, object] = field(default_factory=dict)
    """What ccxt's `fetch_order` needs besides."""
    options: Mapping[str, object] = field(default_factory=dict)
    """ccxt's own options by which it sends the request that the exchange documents for one order."""
    finds_by_client_id: bool = False
    """Whether ccxt's `fetch_order` takes ours. Otherwise the order is searched for among the account's orders."""
    fee_field: str | None = None
    """Field of the exchange's own fill that has the fee, if ccxt does not read it."""
    cost_steps: Mapping[str, Decimal] = field(default_factory=dict)
    """By quote currency: what the exchange rounds the cost of a fill down to, if its fills do not say the cost."""
    earlier_fills: EarlierPage = field(default_factory=EarlierPage)


@dataclass(frozen=True, slots=True)
class OrderDocument:
    """One exchange's page on new orders. Fields of nested objects have a dot between their names."""

    source: str
    """Address of the page."""
    read: str
    """Year and month when the page's words were read."""
    paths: tuple[str, ...]
    """The ends of the request's path; `{side}` and `{symbol}` stand for buy or sell and the market's id."""
    client_id: str | None
    """The field of the client's order id; None if the exchange has none."""
    side: tuple[str, str, str] | None
    """The field, and its words for a buy and a sell; None if the path has it."""
    symbol: str | None
    """The field of the market's id; None if the path has it."""
    amount: str
    """The field of the amount in base currency."""
    price: str
    immediate: tuple[str, str | None]
    """The field that makes the order immediate-or-cancel, and its word; None if an object of that name does."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Other fields that must be there."""
    others: frozenset[str] = frozenset()
    """Other fields that the page has, or the one on signing, and that change nothing of all this."""
    ids: str = r"[A-Za-z0-9_-]{1,36}"
    """Pattern of the client's order ids that the exchange takes."""
    has_hyphens: bool = True
    """Whether it takes hyphens in them; otherwise ours, which are UUIDs, leave without."""
    shown_as: str | None = None
    """The field of an order in the exchange's answers that has the client's order id."""
    account_answers: Mapping[str, object] = field(default_factory=dict)
    """By the end of their paths, answers to what ccxt asks of the account before an order: of the usual account."""
    copy: str | None = None
    """Where the page's words were read, if not on the page itself: others' copies, which may be older."""

    def sent_id(self, ours: str) -> str:
        """Return our order id as it is sent."""
        return ours if self.has_hyphens else ours.replace("-", "")

    def our_id(self, sent: str | None) -> str | None:
        """Return an order id of the exchange's answers as ours was before it was sent; another's stays as it is."""
        return sent if self.has_hyphens or sent is None else whole_id(sent)

    @property
    def seen(self) -> str:
        """When, and where, for people."""
        return f"read {self.read}" + ("" if self.copy is None else f" in the copy {self.copy}")


@dataclass(frozen=True, slots=True)
class OrderSocketTerms:
    """Orders over the exchange's WebSocket."""

    document: OrderDocument
    """Its page on new orders there; the fields are those of the message."""
    key_kind: str
    """Kind of the only keys that log on there."""
    simulated_key: str = ""
    """End of the name of the simulated account's key of that kind, if it has one beside the usual."""
