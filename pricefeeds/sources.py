"""Which stream a symbol's books come from: ccxt.pro, or our own reader where ccxt has none."""

from typing import Any

from exchanges.client import make_exchange, simulated_config
from exchanges.errors import AccountRefusedError
from market.markets import Market
from market.session import Session
from pricefeeds.ccxtbooks import CcxtBooks
from pricefeeds.errors import FeedRefusedError
from pricefeeds.lightstream import lightstream_books
from pricefeeds.watching import OpenBooks

BITFLYER = "bitflyer"
BITFLYER_URL = "wss://ws.lightstream.bitflyer.com/json-rpc"


def books_of(session: Session, market: Market) -> OpenBooks:
    """Opens one connection for one symbol each time it is called."""
    if market.exchange == BITFLYER:
        url = lightstream_url(session)
        product_code = f"{market.base}_{market.quote_currency}"
        return lambda: lightstream_books(url, product_code)
    return CcxtBooks(lambda: _client(session, market.exchange), market.symbol).open


def _client(session: Session, exchange: str) -> Any:
    """Untyped, as ccxt is. Raises FeedRefusedError where keys are missing: Coinbase's books need a signature."""
    if session.exchanges_url is None:
        raise FeedRefusedError(f"this session has no exchanges to watch; {exchange} cannot be fed")
    try:
        return make_exchange(simulated_config(exchange, session.exchanges_url, session.home))
    except AccountRefusedError as error:
        raise FeedRefusedError(str(error)) from error


def lightstream_url(session: Session) -> str:
    """The simulated exchange's address in paper mode, the real one otherwise."""
    if session.exchanges_url is None:
        return BITFLYER_URL
    return session.exchanges_url.replace("http://", "ws://", 1) + f"/{BITFLYER}/ws"
