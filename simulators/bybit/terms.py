"""What the simulated Bybit is."""

from decimal import Decimal

from exchanges.bybit.symbols import bybit_symbol
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, tiers

TERMS = ExchangeTerms(
    name="bybit",
    market_id=bybit_symbol,
    cost_step=Decimal("0.00000001"),
    fee_step=Decimal("0.00000001"),
    money={"USDT": Decimal(1_000_000)},
    tiers=tiers(
        (0, "10", "10"),
        (1_000_000, "6.75", "8"),
        (2_500_000, "6.5", "7.75"),
        (5_000_000, "6.25", "7.5"),
        (10_000_000, "5", "6"),
    ),
    volume=Decimal(0),
    quoting=Quoting(lag=0.05, half_spread=0.08, level_dollars=30_000),
    faults={
        "http_429": "HTTP 200 with retCode 10006, as Bybit answers; `status` 429 forces that status",
        "ban": "HTTP 403 with retCode 10018",
    },
    answers=OrderAnswers(
        fields={
            "ack": {"id": "orderId"},
            "order": {
                "id": "orderId",
                "client_id": "orderLinkId",
                "symbol": "symbol",
                "side": "side",
                "amount": "qty",
                "price": "price",
                "status": "orderStatus",
                "filled": "cumExecQty",
                "average": "avgPrice",
            },
            "fill": {
                "id": "execId",
                "order": "orderId",
                "symbol": "symbol",
                "side": "side",
                "amount": "execQty",
                "price": "execPrice",
                "cost": "execValue",
                "fee": "execFee",
                "fee_currency": "feeCurrency",
                "time": "execTime",
            },
        },
        places=(
            ("POST", "/v5/order/create", "ack", "result"),
            ("GET", "/v5/order/realtime", "order", "result.list"),
            ("GET", "/v5/order/history", "order", "result.list"),
            ("GET", "/v5/execution/list", "fill", "result.list"),
        ),
        fill_lists=(("/v5/execution/list", "result.list"),),
    ),
)
