"""The exchanges that have a folder of their own: one line each.

A folder is named as ccxt names the exchange, and has `facts` (FACTS), `book` (WIRE) and `orders` (ORDERS). Each is
imported when it is asked for: orders bring ccxt, which costs a feed or a page a second and a hundred megabytes.
"""

from functools import cache
from importlib import import_module
from typing import cast

from exchanges.books.errors import FeedRejectedError
from exchanges.books.port import WireExchange
from exchanges.ports.facts import ExchangeFacts
from exchanges.ports.orders import ExchangeOrders
from exchanges.ports.withdrawals import MakeTransferApi
from market.accounting.transfer_terms import TransferTerms

EXCHANGES = (
    "coinbaseexchange",
    "bitstamp",
    "bitflyer",
    "kraken",
    "binance",
    "bybit",
    "okx",
    "coinbase",
)
"""In the order in which sessions and reports name them."""


@cache
def own_facts(ccxt_id: str) -> ExchangeFacts:
    """Raise KeyError if the exchange has no folder."""
    if ccxt_id not in EXCHANGES:
        raise KeyError(ccxt_id)
    return cast(ExchangeFacts, import_module(f"exchanges.{ccxt_id}.facts").FACTS)


def facts_of(ccxt_id: str) -> ExchangeFacts | None:
    """None if the exchange has no folder."""
    return own_facts(ccxt_id) if ccxt_id in EXCHANGES else None


def all_facts() -> tuple[ExchangeFacts, ...]:
    """Return the facts of all, in the order of EXCHANGES."""
    return tuple(map(own_facts, EXCHANGES))


def known_transfers() -> tuple[TransferTerms, ...]:
    """Return what sending a currency away costs, at all of them."""
    return tuple(terms for facts in all_facts() for terms in facts.transfers)


@cache
def wire_of(ccxt_id: str) -> WireExchange:
    """Return its reader of books. Raises FeedRejectedError if the exchange has none."""
    if ccxt_id not in EXCHANGES:
        raise FeedRejectedError(f"no feed for {ccxt_id}; there are feeds for {', '.join(sorted(EXCHANGES))}")
    return cast(WireExchange, import_module(f"exchanges.{ccxt_id}.book").WIRE)


@cache
def orders_of(ccxt_id: str) -> ExchangeOrders | None:
    """None if the exchange has no folder. Imports ccxt."""
    if ccxt_id not in EXCHANGES:
        return None
    return cast(ExchangeOrders, import_module(f"exchanges.{ccxt_id}.orders").ORDERS)


def can_transfer(ccxt_id: str) -> bool:
    """Whether its withdrawals and deposits can be asked for and followed from here."""
    facts = facts_of(ccxt_id)
    return facts is not None and facts.has_transfers


def transfers_of(ccxt_id: str) -> MakeTransferApi | None:
    """None if nothing is transferred there. Imports ccxt."""
    if not can_transfer(ccxt_id):
        return None
    return cast(MakeTransferApi, import_module(f"exchanges.{ccxt_id}.transfers").TRANSFERS)


def sandboxes() -> tuple[str, ...]:
    """Return the exchanges with a sandbox by ccxt's addresses; its set_sandbox_mode raises TypeError on the others."""
    return tuple(sorted(facts.name for facts in all_facts() if facts.addresses.sandbox is not None))


def without_client_ids() -> frozenset[str]:
    """Return the exchanges that find an order only by its content and time."""
    return frozenset(facts.name for facts in all_facts() if not facts.has_client_ids)
