"""What the simulated Coinbase Exchange is."""

from decimal import Decimal

from exchanges.coinbaseexchange.symbols import coinbaseexchange_product
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, SocketTerms, tiers

TERMS = ExchangeTerms(
    name="coinbaseexchange",
    market_id=coinbaseexchange_product,
    cost_step=Decimal("0.0000000000000001"),
    fee_step=Decimal("0.0000000000000001"),
    money={"USD": Decimal(1_000_000)},
    tiers=tiers(
        (0, "40", "60"),
        (10_000, "25", "40"),
        (100_000, "10", "20"),
        (1_000_000, "8", "18"),
        (15_000_000, "6", "16"),
        (75_000_000, "3", "12"),
        (250_000_000, "0", "10"),
        (400_000_000, "0", "5"),
    ),
    volume=Decimal(250_000_000),
    quoting=Quoting(lag=0.06, half_spread=0.1, level_dollars=40_000),
    # docs.cloud.coinbase.com/exchange/docs/websocket-overview, read in November 2026
    sockets=SocketTerms(subscribe_within=5, messages_a_second=100),
    key_fields=("password",),
    answers=OrderAnswers(
        fields={
            "ack": {"id": "id"},
            "order": {
                "id": "id",
                "client_id": "client_oid",
                "symbol": "product_id",
                "side": "side",
                "amount": "size",
                "price": "price",
                "status": "status",
                "filled": "filled_size",
            },
            "fill": {
                "id": "trade_id",
                "order": "order_id",
                "symbol": "product_id",
                "side": "side",
                "amount": "size",
                "price": "price",
                "cost": "usd_volume",
                "fee": "fee",
                "time": "created_at",
            },
        },
        places=(
            ("POST", "/orders", "ack", ""),
            ("GET", "/orders/", "order", ""),
            ("GET", "/fills", "fill", ""),
        ),
        fill_lists=(("/fills", None),),
    ),
)
