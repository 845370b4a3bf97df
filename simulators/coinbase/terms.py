"""What the simulated Coinbase Advanced Trade is."""

from decimal import Decimal

from exchanges.coinbase.symbols import coinbase_product
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, SocketTerms, tiers

TERMS = ExchangeTerms(
    name="coinbase",
    market_id=coinbase_product,
    # no document says that costs are cut off: the finest product of price and amount
    cost_step=Decimal("0.0000000000000001"),
    fee_step=Decimal("0.0000000000000001"),
    money={"USD": Decimal(1_000_000)},
    tiers=tiers(
        (0, "60", "120"),
        (10_000, "25", "40"),
        (50_000, "15", "25"),
        (100_000, "10", "20"),
        (1_000_000, "8", "18"),
        (15_000_000, "6", "16"),
        (75_000_000, "3", "12"),
        (250_000_000, "0", "8"),
        (400_000_000, "0", "5"),
    ),
    volume=Decimal(250_000_000),
    quoting=Quoting(lag=0.06, half_spread=0.1, level_dollars=40_000),
    # docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/websocket/websocket-overview, read in November 2026
    sockets=SocketTerms(subscribe_within=5),
    signs_by_private_key=True,
    answers=OrderAnswers(
        fields={
            "ack": {"id": "success_response.order_id"},
            "order": {
                "id": "order_id",
                "client_id": "client_order_id",
                "symbol": "product_id",
                "side": "side",
                "amount": "order_configuration.sor_limit_ioc.base_size",
                "price": "order_configuration.sor_limit_ioc.limit_price",
                "status": "status",
                "filled": "filled_size",
                "average": "average_filled_price",
            },
            "fill": {
                "id": "trade_id",
                "order": "order_id",
                "symbol": "product_id",
                "side": "side",
                "amount": "size",
                "price": "price",
                "fee": "commission",
                "time": "trade_time",
            },
        },
        places=(
            ("POST", "/api/v3/brokerage/orders", "ack", ""),
            ("GET", "/api/v3/brokerage/orders/historical/fills", "fill", "fills"),
            ("GET", "/api/v3/brokerage/orders/historical/batch", "order", "orders"),
            ("GET", "/api/v3/brokerage/orders/historical/", "order", "order"),
        ),
        fill_lists=(("/api/v3/brokerage/orders/historical/fills", "fills"),),
    ),
)
