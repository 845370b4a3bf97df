"""What the simulated Binance is."""

from decimal import Decimal

from exchanges.binance.symbols import binance_symbol
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, SocketTerms, tiers

TERMS = ExchangeTerms(
    name="binance",
    market_id=binance_symbol,
    cost_step=Decimal("0.00000001"),
    fee_step=Decimal("0.00000001"),
    money={"USDT": Decimal(1_000_000)},
    tiers=tiers(
        (0, "10", "10"),
        (1_000_000, "9", "10"),
        (5_000_000, "8", "10"),
        (20_000_000, "4.2", "6"),
    ),
    volume=Decimal(1_000_000),
    quoting=Quoting(lag=0.03, half_spread=0.05, level_dollars=50_000),
    # developers.binance.com, WebSocket Streams, General information and Websocket Limits, and WebSocket API, read in
    # November 2026. Until 2026 they said that the notice comes ten minutes before, and now "about to shut down".
    sockets=SocketTerms(ping_every=20, pong_within=60, lifetime=86_400, notice_before=600, messages_a_second=5),
    # https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits
    sends_retry_after=True,
    faults={
        "socket_ended": "`serverShutdown` is sent; about a second later the connection is closed",
        "http_418": "Binance's own answer to a banned address, with Retry-After",
        "http_429": "HTTP 429 with code -1003 and Retry-After",
    },
    answers=OrderAnswers(
        fields={
            "ack": {"id": "orderId"},
            "order": {
                "id": "orderId",
                "client_id": "clientOrderId",
                "symbol": "symbol",
                "side": "side",
                "amount": "origQty",
                "price": "price",
                "status": "status",
                "filled": "executedQty",
            },
            "fill": {
                "id": "id",
                "order": "orderId",
                "symbol": "symbol",
                "side": "isBuyer",
                "amount": "qty",
                "price": "price",
                "cost": "quoteQty",
                "fee": "commission",
                "fee_currency": "commissionAsset",
                "time": "time",
            },
        },
        places=(
            ("POST", "/api/v3/order", "ack", ""),
            ("GET", "/api/v3/order", "order", ""),
            ("GET", "/api/v3/myTrades", "fill", ""),
        ),
        fill_lists=(("/api/v3/myTrades", None),),
    ),
)
