"""What is known of OKX, read in November 2026; sources are beside each."""

from decimal import Decimal

from exchanges.ports.codes import alike
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing, Spelling, codes_of
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import OrderDocument, OrderQuirks
from exchanges.rate_counters import window
from market.accounting.transfer_terms import ASSUMED, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES

_COUNTED = {
    ("POST", "trade/order"): "orders",
    # as many again may be cancelled; one count for both leaves no way to exceed either
    ("POST", "trade/cancel-order"): "orders",
    ("GET", "trade/order"): "states",
    ("GET", "trade/orders-pending"): "lists",
    ("GET", "trade/fills"): "fills",
    ("GET", "trade/fills-history"): "old fills",
    ("GET", "account/balance"): "balances",
    ("GET", "account/trade-fee"): "fees",
    ("GET", "account/config"): "configurations",
    ("GET", "public/time"): "times",
    ("GET", "public/instruments"): "instruments",
    ("GET", "market/books"): "books",
}


def _weights(asked: CountedRequest) -> Weights:
    counted = _COUNTED.get((asked.method, asked.path))
    return {} if counted is None else {counted: 1}


FACTS = ExchangeFacts(
    name="okx",
    label="OKX",
    # https://www.okx.com/docs-v5/en/#overview-production-trading-services. Its demo wants a header in each request,
    # which readers of books do not send: no sandbox
    addresses=Addresses(
        stream="wss://ws.okx.com:8443/ws/v5/public",
        rest="https://www.okx.com",
        simulated={"rest": "{rest}", "ws": "{ws}/ws/v5"},
        stream_path="/ws/v5/public",
    ),
    # beside each request in https://www.okx.com/docs-v5/en: so many in two seconds, public ones by address. Orders are
    # counted by market there; one count for all is below that
    limits=LimitRules(
        limits={
            "orders": window(60, 2),
            "states": window(60, 2),
            "lists": window(60, 2),
            "fills": window(60, 2),
            "old fills": window(10, 2),
            "balances": window(10, 2),
            "fees": window(5, 2),
            "configurations": window(5, 2),
            "times": window(10, 2),
            "instruments": window(20, 2),
            "books": window(40, 2),
        },
        of_the_address=frozenset({"times", "instruments", "books"}),
        order={"orders": 1},
        leg={"orders": 1, "states": 1, "fills": 1},
        count=_weights,
    ),
    # half of 40 books in two seconds
    feed_rest_seconds=0.1,
    # https://www.okx.com/fees, spot, regular user of level 1
    taker_fee=Decimal("0.0010"),
    # steps of bitcoin as in its list of instruments, GET /api/v5/public/instruments, which has no least notional
    paper=PaperListing(
        region="hk",
        symbol="BTC/USDT",
        tick_size="0.1",
        minimum_amount="0.00001",
        minimum_notional="0",
        fee_side="received",
        price_decimals="""
        ETH:2 SOL:2 XRP:4 ADA:4 DOGE:5 LTC:2 LINK:3 DOT:3 AVAX:2 BCH:1 XLM:5 UNI:3 AAVE:2 ATOM:3 NEAR:3 ETC:2 FIL:3
        ALGO:4 HBAR:5 SUI:4 GRT:5 SAND:4 MANA:4 CRV:4 COMP:2 SNX:3 YFI:0 SUSHI:4 BAT:4 ZRX:4 ENJ:4 CHZ:5 LDO:4 APE:4
        AXS:3 GALA:5 IMX:4 INJ:3 RENDER:3 FET:4 ARB:4 OP:4 APT:3 SEI:4 TIA:3 STX:4 ICP:3 JASMY:6 MASK:3""",
        amount_decimals="""
        ETH:6 SOL:6 XRP:6 ADA:6 DOGE:6 LTC:6 LINK:6 DOT:6 AVAX:6 BCH:8 XLM:6 UNI:6 AAVE:6 ATOM:6 NEAR:6 ETC:6 FIL:6
        ALGO:6 HBAR:6 SUI:6 GRT:6 SAND:6 MANA:6 CRV:6 COMP:6 SNX:6 YFI:8 SUSHI:6 BAT:6 ZRX:6 ENJ:6 CHZ:6 LDO:6 APE:6
        AXS:6 GALA:6 IMX:6 INJ:6 RENDER:6 FET:6 ARB:6 OP:6 APT:6 SEI:6 TIA:6 STX:6 ICP:6 JASMY:6 MASK:6""",
        is_usual=False,
    ),
    order_document=OrderDocument(
        source="https://www.okx.com/docs-v5/en/#order-book-trading-trade-post-place-order",
        read="2026-11",
        paths=("/api/v5/trade/order",),
        client_id="clOrdId",
        side=("side", "buy", "sell"),
        symbol="instId",
        amount="sz",
        price="px",
        immediate=("ordType", "ioc"),
        words={"tdMode": "cash"},
        # of orders at the market alone
        others=frozenset({"tgtCcy"}),
        ids="[A-Za-z0-9]{1,32}",
        has_hyphens=False,
        shown_as="clOrdId",
    ),
    # otherwise ccxt sends a batch of one order
    order_quirks=OrderQuirks(
        options={"createOrder": "privatePostTradeOrder"}, is_immediate=True, finds_by_client_id=True
    ),
    key_fields=("api_key", "secret", "password"),
    codes=alike(*COMMON_CODES, "USD", "EUR", "USDT", "USDC", "WBTC", "LUNA", "LUNC", "USTC"),
    spelling=Spelling(codes_of("USDT USDC USD EUR BTC ETH OKB DAI")),
    transfers=(
        TransferTerms("okx", "BTC", Decimal("0.0005"), Decimal("0.001"), SATOSHI, HOUR, ASSUMED),
        TransferTerms("okx", "USDT", Decimal(1), Decimal(10), Decimal("0.000001"), HOUR, ASSUMED),
    ),
)
