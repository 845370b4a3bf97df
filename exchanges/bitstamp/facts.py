"""What is known of Bitstamp, read in autumn 2026; sources are beside each."""

from decimal import Decimal

from exchanges.bitstamp.symbols import SYMBOL_CODES
from exchanges.ports.codes import alike
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing, Spelling, codes_of
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import EarlierPage, OrderDocument, OrderQuirks
from exchanges.rate_counters import window
from market.accounting.transfer_terms import BANK_DAY, CENT, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES


def _weights(_asked: CountedRequest) -> Weights:
    return {"second": 1, "all": 1}


FACTS = ExchangeFacts(
    name="bitstamp",
    label="Bitstamp",
    addresses=Addresses(
        stream="wss://ws.bitstamp.net",
        rest="https://www.bitstamp.net",
        simulated={"public": "{rest}/api", "private": "{rest}/api", "ws": "{ws}/ws"},
    ),
    # https://www.bitstamp.net/api/, Request limits: 400 a second and 10,000 in ten minutes, of all requests
    limits=LimitRules(
        limits={"second": window(400, 1), "all": window(10_000, 600)},
        of_the_address=frozenset({"second", "all"}),
        order={"second": 1, "all": 1},
        leg={"second": 2, "all": 2},
        count=_weights,
    ),
    feed_rest_seconds=0.2,
    taker_fee=Decimal("0.0012"),
    paper=PaperListing(
        region="eu",
        symbol="BTC/EUR",
        tick_size="1",
        minimum_amount="0.00000001",
        minimum_notional="10",
        fee_side="quote",
        price_decimals="""
        ETH:1 SOL:2 XRP:5 ADA:5 DOGE:5 LTC:2 LINK:3 DOT:4 AVAX:2 BCH:2 XLM:5 UNI:4 AAVE:2 ATOM:4 NEAR:4 ETC:2 FIL:4
        ALGO:5 HBAR:5 SUI:4 GRT:5 SAND:5 MANA:5 CRV:5 COMP:2 SNX:4 YFI:1 SUSHI:5 BAT:5 ZRX:5 ENJ:5 CHZ:5 LDO:4 APE:5
        AXS:4 GALA:5 IMX:5 INJ:3 RENDER:4 FET:5 ARB:5 OP:4 APT:3 SEI:5 TIA:4 STX:4 ICP:3 JASMY:5 MASK:4""",
    ),
    order_document=OrderDocument(
        source="https://www.bitstamp.net/api/#tag/Orders/operation/OpenLimitBuyOrder",
        read="2026-11",
        paths=("/api/v2/{side}/{symbol}/",),
        client_id="client_order_id",
        side=None,
        symbol=None,
        amount="amount",
        price="price",
        immediate=("ioc_order", "True"),
        # a text without further constraints
        ids=r"\S+",
        copy="https://github.com/Lolztech/CryptoCave/blob/a15b5040/bitstamp-api-client/docs/BuySellLimitOrderRequest.md",
    ),
    # a limit order's `timeInForce` is passed on as it is, which Bitstamp does not know
    order_quirks=OrderQuirks(
        {"ioc_order": "True"},
        is_immediate=True,
        finds_by_client_id=True,
        # its times are whole seconds, and one may have more fills than a page
        earlier_fills=EarlierPage("offset", "rows"),
    ),
    codes=alike(*COMMON_CODES, "USD", "EUR", "GBP", "USDT", "USDC", "WBTC") | {"UST": "USTC"},
    symbol_codes=SYMBOL_CODES,
    spelling=Spelling(codes_of("USD EUR GBP USDT USDC BTC ETH PAX PYUSD RLUSD")),
    transfers=(
        TransferTerms(
            "bitstamp",
            "BTC",
            Decimal("0.0005"),
            Decimal("0.001"),
            SATOSHI,
            HOUR,
            "nexo.meiganglian.com/post/133865, January 2025; six blocks of ten minutes",
        ),
        TransferTerms("bitstamp", "EUR", Decimal("0.90"), Decimal(10), CENT, 3 * BANK_DAY, "bithub.pl, Bitstamp, SEPA"),
    ),
)
