"""What the simulated bitFlyer is."""

from decimal import Decimal

from exchanges.bitflyer.symbols import bitflyer_product
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, tiers

TERMS = ExchangeTerms(
    name="bitflyer",
    market_id=bitflyer_product,
    cost_step=Decimal(1),
    fee_step=Decimal("0.00000001"),
    money={"JPY": Decimal(150_000_000)},
    # it charges makers and takers alike
    tiers=tiers(
        (0, "15", "15"),
        (100_000, "14", "14"),
        (500_000, "12", "12"),
        (2_000_000, "10", "10"),
        (10_000_000, "7", "7"),
        (100_000_000, "2", "2"),
        (500_000_000, "1", "1"),
    ),
    volume=Decimal(2_000_000),
    quoting=Quoting(lag=0.4, half_spread=1.2, level_dollars=6_000),
    faults={"duplicate_fill_report": "getexecutions has its newest row twice: ccxt has no order stream"},
    answers=OrderAnswers(
        fields={
            "ack": {"id": "child_order_acceptance_id"},
            "order": {
                "id": "child_order_acceptance_id",
                "symbol": "product_code",
                "side": "side",
                "amount": "size",
                "price": "price",
                "status": "child_order_state",
                "filled": "executed_size",
                "average": "average_price",
            },
            "fill": {
                "id": "id",
                "order": "child_order_acceptance_id",
                "side": "side",
                "amount": "size",
                "price": "price",
                "fee": "commission",
                "time": "exec_date",
            },
        },
        places=(
            ("POST", "/v1/me/sendchildorder", "ack", ""),
            ("GET", "/v1/me/getchildorders", "order", ""),
            ("GET", "/v1/me/getexecutions", "fill", ""),
        ),
        fill_lists=(("/v1/me/getexecutions", None),),
    ),
)
