"""What the simulated Bitstamp is."""

from decimal import Decimal

from exchanges.bitstamp.symbols import bitstamp_pair
from simulators.exchange_terms import ExchangeTerms, OrderAnswers, Quoting, SocketTerms, tiers

TERMS = ExchangeTerms(
    name="bitstamp",
    market_id=bitstamp_pair,
    cost_step=Decimal("0.01"),
    fee_step=Decimal("0.00001"),
    money={"EUR": Decimal(925_000)},
    tiers=tiers(
        (0, "30", "40"),
        (10_000, "20", "30"),
        (100_000, "10", "20"),
        (1_500_000, "6", "16"),
        (5_000_000, "3", "12"),
        (20_000_000, "2", "10"),
        (100_000_000, "0", "6"),
    ),
    volume=Decimal(5_000_000),
    quoting=Quoting(lag=0.25, half_spread=0.8, level_dollars=8_000),
    # `bts:request_reconnect` leaves "a few seconds": www.bitstamp.net/websocket/v2. When it comes is not known.
    sockets=SocketTerms(notice_before=5),
    key_fields=("uid",),
    faults={"socket_ended": "`bts:request_reconnect` is sent; about a second later the connection is closed"},
    answers=OrderAnswers(
        fields={
            "ack": {"id": "id"},
            "order": {
                "id": "id",
                "client_id": "client_order_id",
                "symbol": "market",
                "side": "type",
                "status": "status",
                "filled": "amount_remaining",
            },
            "fill": {"id": "tid", "price": "price", "fee": "fee", "time": "datetime"},
        },
        places=(
            ("POST", "/api/v2/buy/", "ack", ""),
            ("POST", "/api/v2/sell/", "ack", ""),
            ("POST", "/api/v2/order_status/", "order", ""),
            ("POST", "/api/v2/order_status/", "fill", "transactions"),
        ),
        fill_lists=(("/api/v2/user_transactions/", None), ("/api/v2/order_status/", "transactions")),
        says_remaining=True,
        names_currencies=True,
    ),
)
