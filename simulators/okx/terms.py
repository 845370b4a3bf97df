"""What the simulated OKX is."""

from decimal import Decimal

from exchanges.okx.symbols import okx_instrument
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, tiers

TERMS = ExchangeTerms(
    name="okx",
    market_id=okx_instrument,
    # no document says that costs are cut off: the finest product of price and amount
    cost_step=Decimal("0.00000000000001"),
    fee_step=Decimal("0.00000000000001"),
    money={"USDT": Decimal(1_000_000)},
    tiers=tiers(
        (0, "8", "10"),
        (5_000_000, "6.75", "8"),
        (10_000_000, "6", "7"),
        (20_000_000, "5.5", "6.5"),
        (100_000_000, "3", "4.5"),
    ),
    volume=Decimal(0),
    quoting=Quoting(lag=0.05, half_spread=0.08, level_dollars=30_000),
    key_fields=("password",),
    faults={"ban": "HTTP 403 with code 403, as of the firewall in front of it"},
    answers=OrderAnswers(
        fields={
            "ack": {"id": "ordId"},
            "order": {
                "id": "ordId",
                "client_id": "clOrdId",
                "symbol": "instId",
                "side": "side",
                "amount": "sz",
                "price": "px",
                "status": "state",
                "filled": "accFillSz",
                "average": "avgPx",
            },
            "fill": {
                "id": "tradeId",
                "order": "ordId",
                "symbol": "instId",
                "side": "side",
                "amount": "fillSz",
                "price": "fillPx",
                "fee": "fee",
                "fee_currency": "feeCcy",
                "time": "ts",
            },
        },
        places=(
            ("POST", "/api/v5/trade/order", "ack", "data"),
            ("GET", "/api/v5/trade/order", "order", "data"),
            ("GET", "/api/v5/trade/fills", "fill", "data"),
        ),
        fill_lists=(("/api/v5/trade/fills", "data"),),
    ),
)
