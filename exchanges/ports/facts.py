"""What is known of an exchange, as data: one instance in the `facts` of each exchange's folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from exchanges.ports.codes import DatedCode
from exchanges.ports.limits import LimitRules
from exchanges.ports.order_terms import OrderDocument, OrderQuirks, OrderSocketTerms
from market.accounting.transfer_terms import TransferTerms
from market.instruments.markets import FeeSide

Json = Mapping[str, object]
First = Literal["base", "quote", "either"]


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where the exchange is, and where our simulated one has the same below its own address."""

    stream: str
    """The WebSocket of its public books."""
    rest: str
    simulated: Json
    """All addresses that ccxt has for it, as ccxt's `urls["api"]`; `{rest}` and `{ws}` stand for the simulated
    exchange's address by HTTP and by WebSocket."""
    stream_path: str = "/ws"
    """Path of the books, below the simulated exchange's address."""
    sandbox: tuple[str, str] | None = None
    """Stream and REST of its sandbox's public books, as ccxt's `urls["test"]` has them; None if it has no sandbox."""


@dataclass(frozen=True, slots=True)
class PaperListing:
    """What the simulated exchange lists for paper trading: bitcoin and the coins of `exchanges.simulated_coins` in one
    currency, with the exchange's own steps and least sizes."""

    region: str
    symbol: str
    tick_size: str
    minimum_amount: str
    minimum_notional: str
    fee_side: FeeSide
    price_decimals: str
    """Decimals of the prices of coins: `ETH:2 SOL:3`."""
    lot_step: str = "0.00000001"
    amount_decimals: str = ""
    """Decimals of the amounts of coins, likewise; empty: all have `lot_step`."""
    is_usual: bool = True
    """Whether paper sessions that name no exchange trade here."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an exchange writes the symbols of its spot markets.

    `quotes`: the currencies that it quotes in, by which a symbol without a separator is split; empty: not listed.
    """

    quotes: tuple[str, ...] = ()
    first: First = "base"
    """The one that comes first of the two codes of a symbol with a separator; "either": both orders were in use."""


def codes_of(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True, slots=True)
class ExchangeFacts:
    """One exchange; `name` is ccxt's and its folder's, `label` what people read."""

    name: str
    label: str
    addresses: Addresses
    limits: LimitRules
    feed_rest_seconds: float
    """Least seconds between two requests of the feeds, for all symbols together: below the rate limit, since orders and
    balances may count against the same one."""
    taker_fee: Decimal
    """Fraction of the notional, until the account's own is known."""
    paper: PaperListing
    order_document: OrderDocument
    order_quirks: OrderQuirks
    """What ccxt does not tell of orders through ccxt's unified methods, which sessions may choose here, too."""
    order_socket: OrderSocketTerms | None = None
    """None: orders go by REST alone."""
    key_fields: tuple[str, ...] = ("api_key", "secret")
    """Fields of an account's credentials."""
    has_transfers: bool = False
    """Whether its folder has `transfers` (TRANSFERS)."""
    signs_by_clock: bool = True
    """Whether a signature is good at the exchange's time alone."""
    has_own_codes_in_rows: bool = False
    """Whether its rows of markets have its codes of base and quote, which ccxt translates elsewhere."""
    closes_by: tuple[str, ...] = ()
    """Fields of its row of a market that keep immediate-or-cancel orders out although ccxt calls it active."""
    one_book_with: tuple[str, ...] = ()
    """Other exchanges of ccxt that show and trade the same order books."""
    spelling: Spelling = field(default_factory=Spelling)
    codes: Mapping[str, str] = field(default_factory=dict)
    """Its own codes of all that may be traded there → our ids of the assets (`market/instruments/assets.py`). Empty:
    ccxt's common ones count, and only symbols that a user names are traded."""
    symbol_codes: Mapping[str, str] = field(default_factory=dict)
    """A code of our symbols, which are ccxt's → what it calls that itself, if that differs."""
    dated_codes: tuple[DatedCode, ...] = ()
    """Codes that stood for something else at a time, or that count many coins."""
    transfers: tuple[TransferTerms, ...] = ()
    """What sending a currency away costs; sources are in each."""

    @property
    def has_client_ids(self) -> bool:
        """Whether an order can be found by an id of ours."""
        return self.order_document.client_id is not None
