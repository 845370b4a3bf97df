"""What the simulated Kraken is."""

from decimal import Decimal

from exchanges.kraken.symbols import kraken_market_id
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, tiers

_CENT = Decimal("0.01")

TERMS = ExchangeTerms(
    name="kraken",
    market_id=kraken_market_id,
    cost_step=Decimal("0.0001"),
    fee_step=Decimal("0.0001"),
    steps_of={"USD/JPY": (_CENT, _CENT)},
    money={"USD": Decimal(1_000_000)},
    tiers=tiers(
        (0, "25", "40"),
        (10_000, "20", "35"),
        (100_000, "12", "22"),
        (1_000_000, "4", "14"),
        (5_000_000, "2", "12"),
        (10_000_000, "0", "10"),
        (100_000_000, "0", "8"),
    ),
    volume=Decimal(10_000_000),
    quoting=Quoting(lag=0.12, half_spread=0.15, level_dollars=11_000),
    faults={
        "http_429": "HTTP 200 with EAPI:Rate limit exceeded, as Kraken answers; `status` 429 forces that status",
        "clock_skew": "only Kraken's server time is off; Kraken checks nonces, which do not depend on the clock",
        "duplicate_fill_report": "the executions channel reports it twice: lists are mappings without duplicates",
    },
    answers=OrderAnswers(
        fields={
            "ack": {"id": "txid.0"},
            "order": {
                "client_id": "cl_ord_id",
                "symbol": "descr.pair",
                "side": "descr.type",
                "amount": "vol",
                "price": "descr.price",
                "status": "status",
                "filled": "vol_exec",
                "average": "price",
            },
            "fill": {
                "order": "ordertxid",
                "symbol": "pair",
                "side": "type",
                "amount": "vol",
                "price": "price",
                "cost": "cost",
                "fee": "fee",
                "time": "time",
            },
        },
        places=(
            ("POST", "/0/private/AddOrder", "ack", "result"),
            ("POST", "/0/private/QueryOrders", "order", "result.*"),
            ("POST", "/0/private/OpenOrders", "order", "result.open.*"),
            ("POST", "/0/private/ClosedOrders", "order", "result.closed.*"),
            ("POST", "/0/private/QueryTrades", "fill", "result.*"),
            ("POST", "/0/private/TradesHistory", "fill", "result.trades.*"),
        ),
    ),
)
