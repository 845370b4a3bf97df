"""What is known of Binance, read in autumn 2026; sources are beside each."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from exchanges.ports.codes import DatedCode, alike, counting_codes
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing, Spelling, codes_of
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import OrderDocument, OrderQuirks, OrderSocketTerms
from exchanges.rate_counters import window
from market.accounting.transfer_terms import ASSUMED, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES
from market.time_units import MICROSECONDS

# ccxt has many addresses for Binance; those other than spot return no markets, or nothing at all.
_REST = {
    "public": "/api/v3",
    "private": "/api/v3",
    "v1": "/api/v1",
    "sapi": "/sapi/v1",
    "sapiV2": "/sapi/v2",
    "sapiV3": "/sapi/v3",
    "sapiV4": "/sapi/v4",
    "fapiPublic": "/fapi/v1",
    "fapiPublicV2": "/fapi/v2",
    "fapiPublicV3": "/fapi/v3",
    "fapiPrivate": "/fapi/v1",
    "fapiPrivateV2": "/fapi/v2",
    "fapiPrivateV3": "/fapi/v3",
    "fapiData": "/futures/data",
    "dapiPublic": "/dapi/v1",
    "dapiPrivate": "/dapi/v1",
    "dapiPrivateV2": "/dapi/v2",
    "dapiData": "/futures/data",
    "eapiPublic": "/eapi/v1",
    "eapiPrivate": "/eapi/v1",
    "papi": "/papi/v1",
    "papiV2": "/papi/v2",
}
_STREAMS = ("spot", "margin", "linear", "inverse", "stock", "option", "optionMarket", "optionPrivate", "papi")
_WEIGHT_OF_A_UNIT = 5
"""ccxt counts in units of 50 ms, each worth five of Binance's weights."""
_NEW_LUNA = int(datetime(2022, 5, 31, 6, tzinfo=UTC).timestamp()) * MICROSECONDS
_SIGNING = frozenset({"timestamp", "recvWindow", "signature", "newOrderRespType"})
_ORDER_DOCUMENT = OrderDocument(
    source="https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints#new-order-trade",
    read="2026-11",
    paths=("/api/v3/order",),
    client_id="newClientOrderId",
    side=("side", "BUY", "SELL"),
    symbol="symbol",
    amount="quantity",
    price="price",
    immediate=("timeInForce", "IOC"),
    words={"type": "LIMIT"},
    # read on the same page of its test network, under /docs/zh-CN/binance-spot-api-docs/testnet; the pattern of its
    # ids is on neither, but in its error -1100:
    # https://github.com/binance/binance-spot-api-docs/pull/34
    others=_SIGNING,
)
_SOCKET_DOCUMENT = replace(
    _ORDER_DOCUMENT,
    source="https://developers.binance.com/docs/binance-spot-api-docs/websocket-api/trading-requests",
    paths=("/ws-api/v3",),
    client_id="params.newClientOrderId",
    side=("params.side", "BUY", "SELL"),
    symbol="params.symbol",
    amount="params.quantity",
    price="params.price",
    immediate=("params.timeInForce", "IOC"),
    words={"method": "order.place", "params.type": "LIMIT"},
    others=frozenset({"id", "params.timestamp", "params.recvWindow", "params.newOrderRespType"}),
)


_WITHDRAWALS = ("GET", "capital/withdraw/history")


def _weights(asked: CountedRequest) -> Weights:
    if (asked.method, asked.path) == _WITHDRAWALS:
        return {"withdrawals": 1}
    weight = {"weight": max(1, round(asked.cost * _WEIGHT_OF_A_UNIT))}
    return weight | {"orders": 1} if (asked.method, asked.path) == ("POST", "order") else weight


FACTS = ExchangeFacts(
    name="binance",
    label="Binance",
    addresses=Addresses(
        stream="wss://stream.binance.com:9443/ws",
        rest="https://api.binance.com",
        simulated={
            **{name: "{rest}" + path for name, path in _REST.items()},
            "ws": {
                **dict.fromkeys(_STREAMS, "{ws}/ws"),
                "ws-api": dict.fromkeys(("spot", "linear", "inverse"), "{ws}/ws-api/v3"),
            },
        },
        sandbox=("wss://stream.testnet.binance.vision/ws", "https://testnet.binance.vision"),
    ),
    # https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits and its exchangeInfo; a list of
    # withdrawals weighs 18,000 of the 180,000 that an account has a minute for that path alone:
    # https://developers.binance.com/docs/wallet/capital/withdraw-history
    limits=LimitRules(
        limits={"weight": window(6_000, 60), "orders": window(100, 10), "withdrawals": window(10, 60)},
        of_the_address=frozenset({"weight"}),
        order={"weight": 1, "orders": 1},
        leg={"weight": 25, "orders": 1},
        count=_weights,
    ),
    # 6,000 request weight a minute from one address, half of it for the bot; a snapshot has weight 50
    feed_rest_seconds=1.0,
    taker_fee=Decimal("0.0010"),
    paper=PaperListing(
        region="sg",
        symbol="BTC/USDT",
        tick_size="0.01",
        minimum_amount="0.00001",
        minimum_notional="5",
        fee_side="received",
        price_decimals="""
        ETH:2 SOL:2 XRP:5 ADA:4 DOGE:5 LTC:2 LINK:3 DOT:4 AVAX:2 BCH:1 XLM:5 UNI:4 AAVE:2 ATOM:4 NEAR:4 ETC:2 FIL:4
        ALGO:4 HBAR:5 SUI:4 GRT:4 SAND:4 MANA:4 CRV:4 COMP:2 SNX:3 YFI:2 SUSHI:4 BAT:4 ZRX:4 ENJ:4 CHZ:5 LDO:4 APE:4
        AXS:3 GALA:5 IMX:4 INJ:2 RENDER:3 FET:4 ARB:4 OP:3 APT:3 SEI:4 TIA:4 STX:4 ICP:3 JASMY:5 MASK:3""",
        lot_step="0.00001",
        amount_decimals="""
        ETH:4 SOL:3 XRP:1 ADA:1 DOGE:0 LTC:3 LINK:2 DOT:2 AVAX:2 BCH:3 XLM:0 UNI:2 AAVE:3 ATOM:2 NEAR:1 ETC:2 FIL:2
        ALGO:0 HBAR:0 SUI:1 GRT:0 SAND:0 MANA:0 CRV:1 COMP:3 SNX:1 YFI:5 SUSHI:1 BAT:1 ZRX:0 ENJ:1 CHZ:0 LDO:2 APE:2
        AXS:2 GALA:0 IMX:1 INJ:2 RENDER:2 FET:1 ARB:1 OP:2 APT:2 SEI:1 TIA:2 STX:1 ICP:2 JASMY:0 MASK:1""",
        is_usual=False,
    ),
    order_document=_ORDER_DOCUMENT,
    order_socket=OrderSocketTerms(_SOCKET_DOCUMENT, key_kind="Ed25519", simulated_key=".ed25519"),
    order_quirks=OrderQuirks(is_immediate=True, finds_by_client_id=True),
    codes=alike(*COMMON_CODES, "EUR", "JPY", "USDT", "USDC", "WBTC", "BTCB", "LUNA", "LUNC", "USTC")
    | {"NEIRO": "NEIROCTO"},
    spelling=Spelling(
        codes_of(
            """USDT USDC FDUSD TUSD BUSD USDP USDS USD1 DAI VAI UST PAX BTC ETH BNB XRP TRX DOGE DOT SOL
            EUR GBP AUD TRY BRL RUB UAH NGN ZAR JPY MXN ARS PLN RON CZK COP IDRT BIDR BVND BKRW EURI"""
        )
    ),
    # Its announcements of 26 and 28 May 2022: the old LUNA was suspended on the 26th, the new one opened on the 31st.
    dated_codes=(
        DatedCode("LUNA", "LUNC", until=_NEW_LUNA),
        DatedCode("UST", "USTC", until=_NEW_LUNA),
        *counting_codes("1000SATS 1000CAT 1000CHEEMS 1MBABYDOGE"),
    ),
    has_transfers=True,
    transfers=(
        TransferTerms(
            "binance",
            "BTC",
            Decimal("0.0005"),
            Decimal("0.001"),
            SATOSHI,
            HOUR,
            "cryptocurrencyexchanges.cc, Kraken Withdrawal Fees/15946; six blocks of ten minutes",
        ),
        TransferTerms("binance", "USDT", Decimal(1), Decimal(10), Decimal("0.000001"), HOUR, ASSUMED),
    ),
)
