"""What is known of Coinbase Exchange, read in autumn 2026; sources are beside each."""

from decimal import Decimal

from exchanges.coinbaseexchange.symbols import SYMBOL_CODES
from exchanges.ports.codes import alike
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import OrderDocument, OrderQuirks
from exchanges.rate_counters import counter
from market.accounting.transfer_terms import BANK_DAY, CENT, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES
from market.money import ZERO

_UUID4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def _weights(asked: CountedRequest) -> Weights:
    if not asked.is_private:
        return {"public": 1}
    return {"private": 1, "fills": 1} if asked.path.startswith("fills") else {"private": 1}


FACTS = ExchangeFacts(
    name="coinbaseexchange",
    label="Coinbase",
    addresses=Addresses(
        stream="wss://ws-feed.exchange.coinbase.com",
        rest="https://api.exchange.coinbase.com",
        simulated={"public": "{rest}", "private": "{rest}", "ws": "{ws}/ws"},
        sandbox=(
            "wss://ws-feed-public.sandbox.exchange.coinbase.com",
            "https://api-public.sandbox.exchange.coinbase.com",
        ),
    ),
    # https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits: buckets, public by address, private by profile
    limits=LimitRules(
        limits={"public": counter(15, "10"), "private": counter(30, "15"), "fills": counter(20, "10")},
        of_the_address=frozenset({"public"}),
        order={"private": 1},
        leg={"private": 3, "fills": 1},
        count=_weights,
    ),
    feed_rest_seconds=0.2,
    taker_fee=Decimal("0.0010"),
    paper=PaperListing(
        region="us",
        symbol="BTC/USD",
        tick_size="0.01",
        minimum_amount="0.000016",
        minimum_notional="1",
        fee_side="quote",
        price_decimals="""
        ETH:2 SOL:2 XRP:4 ADA:4 DOGE:5 LTC:2 LINK:3 DOT:3 AVAX:2 BCH:2 XLM:6 UNI:3 AAVE:2 ATOM:3 NEAR:3 ETC:2 FIL:3
        ALGO:4 HBAR:5 SUI:4 GRT:4 SAND:4 MANA:4 CRV:4 COMP:2 SNX:3 YFI:2 SUSHI:4 BAT:4 ZRX:4 ENJ:4 CHZ:5 LDO:3 APE:4
        AXS:3 GALA:5 IMX:4 INJ:2 RENDER:3 FET:4 ARB:4 OP:3 APT:3 SEI:4 TIA:3 STX:3 ICP:3 JASMY:6 MASK:3""",
    ),
    order_document=OrderDocument(
        source="https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/orders/create-new-order",
        read="2026-11",
        paths=("/orders",),
        client_id="client_oid",
        side=("side", "buy", "sell"),
        symbol="product_id",
        amount="size",
        price="price",
        immediate=("time_in_force", "IOC"),
        words={"type": "limit"},
        # any other is accepted but not processed: its order is not found by it
        ids=_UUID4,
    ),
    order_quirks=OrderQuirks(is_immediate=True, finds_by_client_id=True),
    key_fields=("api_key", "secret", "password"),
    # GET /products
    closes_by=("cancel_only", "post_only", "trading_disabled", "auction_mode"),
    one_book_with=("coinbase",),
    codes=alike(*COMMON_CODES, "USD", "EUR", "GBP", "USDT", "USDC"),
    symbol_codes=SYMBOL_CODES,
    transfers=(
        TransferTerms(
            "coinbaseexchange",
            "BTC",
            ZERO,
            Decimal("0.0001"),
            SATOSHI,
            HOUR,
            "ccxt 4.5.90, coinbaseexchange, fees.funding.withdraw; six blocks of ten minutes",
        ),
        TransferTerms(
            "coinbaseexchange",
            "USD",
            Decimal(25),
            Decimal(50),
            CENT,
            BANK_DAY,
            "ccxt 4.5.90, coinbaseexchange, fees.funding.withdraw; a bank day",
        ),
    ),
)
