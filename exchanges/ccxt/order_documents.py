"""What the exchanges' own documents want of an immediate-or-cancel limit order, as data: the requests that ccxt builds
are held to it before anything may be traded with money. An exchange that is not listed here is not traded on;
none is listed whose documents were not read: what ccxt's source says of an exchange is what is to be checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field


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
    shown_as: str | None = None
    """The field of an order in the exchange's answers that has the client's order id."""
    account_answers: Mapping[str, object] = field(default_factory=dict)
    """By the end of their paths, answers to what ccxt asks of the account before an order: of the usual account."""
    copy: str | None = None
    """Where the page's words were read, if not on the page itself: others' copies, which may be older."""

    @property
    def seen(self) -> str:
        """When, and where, for people."""
        return f"read {self.read}" + ("" if self.copy is None else f" in the copy {self.copy}")


_SIGNED_BY_BINANCE = frozenset({"timestamp", "recvWindow", "signature", "newOrderRespType"})
_CAPITALS = ("side", "BUY", "SELL")
_UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

ORDER_DOCUMENTS: Mapping[str, OrderDocument] = {
    "coinbaseexchange": OrderDocument(
        source="https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/orders/create-new-order",
        read="2026-11",
        paths=("/orders",),
        client_id="client_oid",
        side=("side", "buy", "sell"),
        symbol="product_id",
        amount="size",
        price="price",
        immediate=("time_in_force", "IOC"),
        words={"type": "limit"},
        # any other is accepted but not processed: its order is not found by it
        ids=_UUID4,
    ),
    "bitstamp": OrderDocument(
        source="https://www.bitstamp.net/api/#tag/Orders/operation/OpenLimitBuyOrder",
        read="2026-11",
        paths=("/api/v2/{side}/{symbol}/",),
        client_id="client_order_id",
        side=None,
        symbol=None,
        amount="amount",
        price="price",
        immediate=("ioc_order", "True"),
        # a text without further constraints
        ids=r"\S+",
        copy="https://github.com/Lolztech/CryptoCave/blob/a15b5040/bitstamp-api-client/docs/BuySellLimitOrderRequest.md",
    ),
    # it knows no ids of its clients, and has JSON numbers
    "bitflyer": OrderDocument(
        source="https://lightning.bitflyer.com/docs#send-a-new-order",
        read="2026-11",
        paths=("/v1/me/sendchildorder",),
        client_id=None,
        side=_CAPITALS,
        symbol="product_code",
        amount="size",
        price="price",
        immediate=("time_in_force", "IOC"),
        words={"child_order_type": "LIMIT"},
        copy="https://rdrr.io/github/teramonagi/bitflyer/man/send_child_order.html",
    ),
    "kraken": OrderDocument(
        # its ids are on https://docs.kraken.com/exchange/guides/general/clordid
        source="https://docs.kraken.com/api-reference/trading/add-order",
        read="2026-11",
        paths=("/0/private/AddOrder",),
        client_id="cl_ord_id",
        side=("type", "buy", "sell"),
        symbol="pair",
        amount="volume",
        price="price",
        immediate=("timeinforce", "IOC"),
        words={"ordertype": "limit"},
        others=frozenset({"nonce", "oflags", "deadline"}),
        # a UUID with or without hyphens, or a short text
        ids=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[!-~]{1,18}",
        shown_as="cl_ord_id",
        copy="https://github.com/api-evangelist/kraken/blob/main/json-schema/spot-rest-add-order-request-schema.json",
    ),
    "binance": OrderDocument(
        source="https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints#new-order-trade",
        read="2026-11",
        paths=("/api/v3/order",),
        client_id="newClientOrderId",
        side=_CAPITALS,
        symbol="symbol",
        amount="quantity",
        price="price",
        immediate=("timeInForce", "IOC"),
        words={"type": "LIMIT"},
        # read on the same page of its test network, under /docs/zh-CN/binance-spot-api-docs/testnet; the pattern of its
        # ids is on neither, but in its error -1100:
        # https://github.com/binance/binance-spot-api-docs/pull/34
        others=_SIGNED_BY_BINANCE,
    ),
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
    "bybit": OrderDocument(
        source="https://bybit-exchange.github.io/docs/v5/order/create-order",
        read="2026-11",
        paths=("/v5/order/create",),
        client_id="orderLinkId",
        side=("side", "Buy", "Sell"),
        symbol="symbol",
        amount="qty",
        price="price",
        immediate=("timeInForce", "IOC"),
        words={"category": "spot", "orderType": "Limit"},
        shown_as="orderLinkId",
        account_answers={
            "/v5/user/query-api": {"retCode": 0, "result": {"unified": 0, "uta": 1}},
            "/v5/account/info": {"retCode": 0, "result": {"unifiedMarginStatus": 6}},
        },
    ),
    # "Coinbase Advanced"
    "coinbase": OrderDocument(
        source="https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/orders/create-order",
        read="2026-11",
        paths=("/api/v3/brokerage/orders",),
        client_id="client_order_id",
        side=_CAPITALS,
        symbol="product_id",
        amount="order_configuration.sor_limit_ioc.base_size",
        price="order_configuration.sor_limit_ioc.limit_price",
        immediate=("order_configuration.sor_limit_ioc", None),
        ids=r"\S+",
        shown_as="client_order_id",
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
