"""What the exchanges' own documents want of an immediate-or-cancel limit order, as data: the requests that ccxt builds
are held to it before anything may be traded with money. An exchange that is not listed here is not traded on;
none is listed whose documents were not read: what ccxt's source says of an exchange is what is to be checked."""

from collections.abc import Mapping

from exchanges.catalogue import EXCHANGES, facts_of
from exchanges.ports.order_terms import OrderDocument

_SIGNED_BY_BINANCE = frozenset({"timestamp", "recvWindow", "signature", "newOrderRespType"})
_CAPITALS = ("side", "BUY", "SELL")

_OTHERS: Mapping[str, OrderDocument] = {
    "binanceus": OrderDocument(
        source="https://github.com/binance-us/binance-us-api-docs/blob/master/rest-api.md#new-order--trade",
        read="2026-11",
        paths=("/api/v3/order",),
        client_id="newClientOrderId",
        side=_CAPITALS,
        symbol="symbol",
        amount="quantity",
        price="price",
        immediate=("timeInForce", "IOC"),
        words={"type": "LIMIT"},
        others=_SIGNED_BY_BINANCE,
        shown_as="clientOrderId",
    ),
    "cryptocom": OrderDocument(
        source="https://exchange-developer.crypto.com/exchange/v1/docs/api/rest/private-create-order",
        read="2026-11",
        paths=("/private/create-order",),
        client_id="params.client_oid",
        side=("params.side", "BUY", "SELL"),
        symbol="params.instrument_name",
        amount="params.quantity",
        price="params.price",
        immediate=("params.time_in_force", "IMMEDIATE_OR_CANCEL"),
        words={"params.type": "LIMIT"},
        others=frozenset({"id", "method", "nonce", "api_key", "sig", "params.spot_margin"}),
        ids=r"\S{1,36}",
        shown_as="client_oid",
        copy="https://github.com/api-evangelist/crypto-com/blob/main/openapi/crypto-com-trading-api-openapi.yml",
    ),
    "kucoin": OrderDocument(
        # the page of the older endpoint is https://kucoin.com/apidoc/project-6000000/3470333e0
        source="https://www.kucoin.com/docs-new/rest/spot-trading/orders/add-order",
        read="2026-11",
        paths=("/api/v1/orders", "/api/v1/hf/orders"),
        client_id="clientOid",
        side=("side", "buy", "sell"),
        symbol="symbol",
        amount="size",
        price="price",
        immediate=("timeInForce", "IOC"),
        words={"type": "limit"},
        ids=r"[A-Za-z0-9_-]{1,40}",
        shown_as="clientOid",
        account_answers={"/api/ua/v1/account/mode": {"code": "200000", "data": {"selfAccountMode": "CLASSIC"}}},
    ),
}


def order_document(ccxt_id: str) -> OrderDocument | None:
    """Return what is held here or in the facts of the exchange's own folder; None if its documents were not read."""
    facts = facts_of(ccxt_id)
    return _OTHERS.get(ccxt_id) if facts is None else facts.order_document


def socket_document(ccxt_id: str) -> OrderDocument | None:
    """Return what the exchange's documents want of an order over its WebSocket; None if none goes there."""
    facts = facts_of(ccxt_id)
    return None if facts is None or facts.order_socket is None else facts.order_socket.document


def sent_id(ccxt_id: str, ours: str) -> str:
    """Return our order id as it is sent: not every exchange takes the form of ours."""
    document = order_document(ccxt_id)
    return ours if document is None else document.sent_id(ours)


def our_id(ccxt_id: str, sent: str | None) -> str | None:
    """Return an order id of an exchange's answers as ours was before it was sent."""
    document = order_document(ccxt_id)
    return sent if document is None else document.our_id(sent)


def documented_exchanges() -> tuple[str, ...]:
    """Return ccxt's names of all whose documents were read."""
    return (*EXCHANGES, *_OTHERS)
