"""What each rejection of each exchange means, in ccxt's own words; a table of the traps."""

import aiohttp
import ccxt
import pytest
from aiohttp.client_reqrep import ConnectionKey

from exchanges.credentials import Credentials
from exchanges.errors import (
    AccountRejectedError,
    ExchangeError,
    ExchangeUnavailableError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from exchanges.ports.error_mapping import is_not_found, post_error, read_error

URL = "https://www.bitstamp.net/api/v2/buy/btceur/"

POSTS: list[tuple[ccxt.BaseError, type[ExchangeError]]] = [
    (ccxt.InsufficientFunds("coinbaseexchange Insufficient funds"), OrderRejectedError),
    (ccxt.InvalidOrder("kraken EOrder:Order minimum not met"), OrderRejectedError),
    (ccxt.BadSymbol("kraken EQuery:Invalid asset pair"), OrderRejectedError),
    (ccxt.RateLimitExceeded("kraken EOrder:Rate limit exceeded"), OrderRejectedError),
    (ccxt.OnMaintenance("kraken EService:Market in cancel_only mode"), OrderRejectedError),
    (ccxt.ExchangeNotAvailable(f"bitstamp POST {URL} 400 Bad Request "), OrderRejectedError),
    (ccxt.ExchangeNotAvailable(f"bitstamp POST {URL} 404 Not Found "), OrderRejectedError),
    (
        ccxt.ExchangeError('bitflyer {"status":-200,"error_message":"Insufficient funds","data":null}'),
        OrderRejectedError,
    ),
    (ccxt.ExchangeNotAvailable(f"bitstamp POST {URL} 502 Bad Gateway "), OutcomeUnknownError),
    (ccxt.ExchangeNotAvailable(f"bitstamp POST {URL} 408 Request Timeout "), OutcomeUnknownError),
    (ccxt.RequestTimeout("kraken POST https://api.kraken.com/0/private/AddOrder"), OutcomeUnknownError),
    (ccxt.ExchangeNotAvailable("kraken POST https://api.kraken.com/0/private/AddOrder"), OutcomeUnknownError),
    (ccxt.BadResponse("coinbaseexchange <html>"), OutcomeUnknownError),
    (ccxt.DuplicateOrderId("twice"), OutcomeUnknownError),
    (ccxt.ExchangeError("coinbaseexchange Duplicate client_oid"), OutcomeUnknownError),
    (ccxt.ExchangeError('bitstamp "Order with this client_order_id already exists."'), OutcomeUnknownError),
    (ccxt.InvalidOrder("kraken EOrder:Invalid order:cl_ord_id already in use"), OutcomeUnknownError),
    (ccxt.AuthenticationError("bitstamp API key not found"), AccountRejectedError),
    (ccxt.PermissionDenied("kraken EGeneral:Permission denied"), AccountRejectedError),
    (ccxt.AccountSuspended("kraken ETrade:User Locked"), AccountRejectedError),
    (ccxt.ExchangeError('kraken {"error":["EAPI:Invalid signature"]}'), AccountRejectedError),
    (ccxt.ExchangeError('bitflyer {"status":-500,"error_message":"Key not found"}'), AccountRejectedError),
    (ccxt.ExchangeError("coinbaseexchange request timestamp expired"), OrderRejectedError),
    (ccxt.ExchangeError('bitflyer {"status":-500,"error_message":"Timestamp is out of range"}'), OrderRejectedError),
    (ccxt.InvalidNonce('binance {"code":-1021,"msg":"Timestamp for this request is outside"}'), OrderRejectedError),
    (ccxt.ExchangeError('kraken {"error":["EGeneral:Internal error"]}'), OutcomeUnknownError),
    (ccxt.ExchangeError('bitstamp {"code":"500.002","response_explanation":"failed"}'), OutcomeUnknownError),
    (ccxt.InvalidOrder('binance {"code":-2010,"msg":"Duplicate order sent."}'), OutcomeUnknownError),
    # an order that was rejected for a reason of that number elsewhere
    (ccxt.InvalidOrder('kucoin {"code":"50026","msg":"Too small"}'), OrderRejectedError),
    (ccxt.InvalidOrder('okx {"code":"50026","msg":"System error"}'), OutcomeUnknownError),
    (ccxt.InvalidOrder('myokx {"code":"1","data":[{"sCode":"51016"}]}'), OutcomeUnknownError),
    (ccxt.InvalidOrder('bitget {"code":"1","data":[{"sCode":"51016"}]}'), OrderRejectedError),
    (ccxt.InvalidOrder('bybit {"retCode":170141,"retMsg":"Duplicate"}'), OutcomeUnknownError),
    (ccxt.InvalidOrder('gate {"retCode":170141,"retMsg":"Too small"}'), OrderRejectedError),
    (ccxt.NetworkError('binance {"code":-1007,"msg":"execution status unknown"}'), OutcomeUnknownError),
]


@pytest.mark.parametrize(("error", "expected"), POSTS, ids=lambda value: str(value)[:50])
def test_of_a_posted_order(error: ccxt.BaseError, expected: type[ExchangeError]) -> None:
    assert type(post_error("kraken", error)) is expected


def test_a_connection_that_never_was_sent_nothing() -> None:
    key = ConnectionKey("localhost", 9, False, True, None, None, None)
    error = ccxt.ExchangeNotAvailable("kraken POST https://api.kraken.com/0/private/AddOrder")
    error.__cause__ = aiohttp.ClientConnectorError(key, OSError(111, "rejected"))
    assert type(post_error("kraken", error)) is OrderRejectedError


def test_an_answer_that_broke_off_says_nothing() -> None:
    """ccxt calls it a plain ExchangeError, as it calls a rejection."""
    error = ccxt.ExchangeError("bitstamp POST https://www.bitstamp.net/api/v2/buy/btceur/")
    error.__cause__ = aiohttp.ClientPayloadError("not enough data")
    assert type(post_error("bitstamp", error)) is OutcomeUnknownError


def test_neither_keys_nor_signatures_are_repeated() -> None:
    keys = Credentials("a-key", "a-secret", "a-password", "a-uid")
    text = "GET https://x/y?timestamp=1&signature=abc123 key a-key a-secret a-password a-uid"
    for error in (post_error("binance", ccxt.BadResponse(text), keys), read_error("x", ccxt.BadSymbol(text), keys)):
        assert "signature=*** key *** *** *** ***" in str(error)


@pytest.mark.parametrize(("error", "_expected"), POSTS, ids=lambda value: str(value)[:50])
def test_of_a_read_only_the_account_is_final(error: ccxt.BaseError, _expected: type[ExchangeError]) -> None:
    expected = AccountRejectedError if _expected is AccountRejectedError else ExchangeUnavailableError
    assert type(read_error("kraken", error)) is expected


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (ccxt.OrderNotFound("bitstamp Order not found."), False),
        (ccxt.ExchangeError('bitstamp {"error":"Order not found"}'), False),
        (ccxt.InvalidOrder('kraken {"error":["EOrder:Unknown order"]}'), False),
        (ccxt.OrderNotFound("coinbaseexchange NotFound"), False),
        (ccxt.ExchangeNotAvailable(f"bitstamp POST {URL} 404 Not Found <html>"), True),
        (ccxt.RequestTimeout("bitstamp"), True),
    ],
)
def test_only_the_exchange_itself_says_not_found(error: ccxt.BaseError, found: bool) -> None:
    assert is_not_found(error) is not found
