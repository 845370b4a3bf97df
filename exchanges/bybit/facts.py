"""What is known of Bybit, read in November 2026; sources are beside each."""

from dataclasses import replace
from decimal import Decimal

from exchanges.ports.codes import alike, counting_codes
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing, Spelling, codes_of
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import OrderDocument, OrderQuirks, OrderSocketTerms
from exchanges.rate_counters import window
from market.accounting.transfer_terms import ASSUMED, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES

_PUBLIC = ("spot", "inverse", "option", "linear")
_COUNTED = {
    "v5/order/create": "orders",
    # as many again may be cancelled; one count for both leaves no way to exceed either
    "v5/order/cancel": "orders",
    "v5/order/realtime": "states",
    "v5/order/history": "histories",
    "v5/execution/list": "fills",
    "v5/account/fee-rate": "fees",
}


def _weights(asked: CountedRequest) -> Weights:
    own = _COUNTED.get(asked.path) if asked.is_private else None
    return {"address": 1} if own is None else {"address": 1, own: 1}


_ORDER_DOCUMENT = OrderDocument(
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
)
_SOCKET_DOCUMENT = replace(
    _ORDER_DOCUMENT,
    source="https://bybit-exchange.github.io/docs/v5/websocket/trade/guideline",
    paths=("/v5/trade",),
    client_id="args.0.orderLinkId",
    side=("args.0.side", "Buy", "Sell"),
    symbol="args.0.symbol",
    amount="args.0.qty",
    price="args.0.price",
    immediate=("args.0.timeInForce", "IOC"),
    words={"op": "order.create", "args.0.category": "spot", "args.0.orderType": "Limit"},
    others=frozenset({"reqId", "header.X-BAPI-TIMESTAMP", "header.X-BAPI-RECV-WINDOW"}),
)

FACTS = ExchangeFacts(
    name="bybit",
    label="Bybit",
    addresses=Addresses(
        # https://bybit-exchange.github.io/docs/v5/ws/connect
        stream="wss://stream.bybit.com/v5/public/spot",
        rest="https://api.bybit.com",
        simulated={
            **dict.fromkeys(("spot", "futures", "v2", "public", "private"), "{rest}"),
            "ws": {
                # ccxt finds out by the address that a message is of a spot market
                "public": {name: "{ws}/v5/public/" + name for name in _PUBLIC},
                "private": {
                    "spot": {"unified": "{ws}/v5/private", "nonUnified": "{ws}/spot/private/v3"},
                    "contract": "{ws}/v5/private",
                    "usdc": "{ws}/trade/option/usdc/private/v1",
                    "trade": "{ws}/v5/trade",
                },
            },
        },
        stream_path="/v5/public/spot",
        sandbox=("wss://stream-testnet.bybit.com/v5/public/spot", "https://api-testnet.bybit.com"),
    ),
    # https://bybit-exchange.github.io/docs/v5/rate-limit: 600 requests in five seconds from one address; the others by
    # the second and account, each path for itself
    limits=LimitRules(
        limits={
            "address": window(600, 5),
            "orders": window(20, 1),
            "states": window(50, 1),
            "histories": window(50, 1),
            "fills": window(50, 1),
            "fees": window(5, 1),
        },
        of_the_address=frozenset({"address"}),
        order={"address": 1, "orders": 1},
        leg={"address": 3, "orders": 1, "states": 1, "fills": 1},
        count=_weights,
    ),
    # half of 600 requests in five seconds is for the bot
    feed_rest_seconds=0.1,
    # https://www.bybit.com/en/help-center/article/Trading-Fee-Structure, spot without VIP level
    taker_fee=Decimal("0.0010"),
    # steps of bitcoin as in its list of instruments, docs/v5/market/instrument
    paper=PaperListing(
        region="sg",
        symbol="BTC/USDT",
        tick_size="0.1",
        minimum_amount="0.000011",
        minimum_notional="5",
        fee_side="received",
        price_decimals="""
        ETH:2 SOL:2 XRP:4 ADA:4 DOGE:5 LTC:2 LINK:3 DOT:3 AVAX:3 BCH:1 XLM:5 UNI:3 AAVE:2 ATOM:3 NEAR:3 ETC:3 FIL:3
        ALGO:4 HBAR:5 SUI:4 GRT:5 SAND:5 MANA:4 CRV:4 COMP:2 SNX:3 YFI:0 SUSHI:4 BAT:4 ZRX:4 ENJ:4 CHZ:5 LDO:4 APE:4
        AXS:3 GALA:5 IMX:4 INJ:3 RENDER:3 FET:4 ARB:4 OP:4 APT:3 SEI:5 TIA:4 STX:4 ICP:3 JASMY:6 MASK:3""",
        lot_step="0.000001",
        amount_decimals="""
        ETH:5 SOL:4 XRP:2 ADA:2 DOGE:1 LTC:5 LINK:3 DOT:3 AVAX:3 BCH:4 XLM:1 UNI:3 AAVE:4 ATOM:3 NEAR:2 ETC:2 FIL:2
        ALGO:2 HBAR:2 SUI:2 GRT:2 SAND:2 MANA:2 CRV:2 COMP:4 SNX:2 YFI:6 SUSHI:2 BAT:2 ZRX:2 ENJ:2 CHZ:1 LDO:2 APE:2
        AXS:2 GALA:1 IMX:2 INJ:2 RENDER:2 FET:2 ARB:2 OP:2 APT:2 SEI:2 TIA:2 STX:2 ICP:3 JASMY:1 MASK:2""",
        is_usual=False,
    ),
    order_document=_ORDER_DOCUMENT,
    order_socket=OrderSocketTerms(_SOCKET_DOCUMENT, key_kind="HMAC"),
    # of unified accounts, ccxt reads an order only if one knows that older ones than the last 500 are not found
    order_quirks=OrderQuirks(order_parameters={"acknowledged": True}, is_immediate=True),
    # two coins have had the ticker NEIRO (ccxt 25500)
    codes=alike(*COMMON_CODES, "EUR", "USDT", "USDC", "WBTC", "LUNA", "LUNC", "USTC")
    | {"NEIRO": "NEIROETH", "NEIROCTO": "NEIROCTO"},
    spelling=Spelling(codes_of("USDT USDC USDE DAI BTC ETH EUR BRL PLN TRY MNT SOL")),
    # "Underlying asset" of its announcements of each contract
    dated_codes=tuple(
        counting_codes(
            "SHIB1000 10000COQ 10000ELON 10000LADYS 10000QUBIC 10000SATS 10000WEN 10000WHY 1000APU 1000BONK 1000BTT "
            "1000CATS 1000CAT 1000FLOKI 1000LUNC 1000MUMU 1000NEIROCTO 1000PEPE 1000RATS 1000TURBO 1000XEC "
            "1000000BABYDOGE 1000000MOG"
        )
    ),
    transfers=(
        TransferTerms("bybit", "BTC", Decimal("0.0005"), Decimal("0.001"), SATOSHI, HOUR, ASSUMED),
        TransferTerms("bybit", "USDT", Decimal(1), Decimal(10), Decimal("0.000001"), HOUR, ASSUMED),
    ),
)
