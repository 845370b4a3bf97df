"""What is known of Coinbase Advanced Trade, read in November 2026; sources are beside each.

It has the order book of Coinbase Exchange (`coinbaseexchange`), with accounts and keys of its own.
"""

from decimal import Decimal

from exchanges.coinbase.symbols import SYMBOL_CODES
from exchanges.ports.codes import alike
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing, Spelling, codes_of
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import OrderDocument, OrderQuirks
from exchanges.rate_counters import window
from market.accounting.transfer_terms import ASSUMED, BANK_DAY, CENT, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES


def _weights(asked: CountedRequest) -> Weights:
    return {"private": 1} if asked.is_private else {"public": 1}


FACTS = ExchangeFacts(
    name="coinbase",
    label="Coinbase Advanced",
    # https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/rest-api, websocket/websocket-overview. Its sandbox
    # has answers that never change, and no stream
    addresses=Addresses(
        stream="wss://advanced-trade-ws.coinbase.com",
        rest="https://api.coinbase.com",
        simulated={"rest": "{rest}", "ws": "{ws}/ws"},
    ),
    # https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/rest-api-rate-limits: in a second, public ones by
    # address, private ones by user
    limits=LimitRules(
        limits={"public": window(10, 1), "private": window(30, 1)},
        of_the_address=frozenset({"public"}),
        order={"private": 1},
        leg={"private": 3},
        count=_weights,
    ),
    # half of ten in a second
    feed_rest_seconds=0.2,
    # https://www.coinbase.com/advanced-fees, for 250 million dollars in 30 days; the first tier pays 1.2 %
    taker_fee=Decimal("0.0008"),
    # steps of bitcoin as in its list of products, GET /api/v3/brokerage/market/products
    paper=PaperListing(
        region="us",
        symbol="BTC/USD",
        tick_size="0.01",
        minimum_amount="0.00000001",
        minimum_notional="1",
        fee_side="quote",
        price_decimals="""
        ETH:2 SOL:2 XRP:4 ADA:4 DOGE:5 LTC:2 LINK:3 DOT:3 AVAX:2 BCH:2 XLM:6 UNI:3 AAVE:2 ATOM:3 NEAR:3 ETC:2 FIL:3
        ALGO:4 HBAR:5 SUI:4 GRT:4 SAND:4 MANA:4 CRV:4 COMP:2 SNX:3 YFI:2 SUSHI:4 BAT:4 ZRX:4 ENJ:4 CHZ:5 LDO:3 APE:4
        AXS:3 GALA:5 IMX:4 INJ:2 RENDER:3 FET:4 ARB:4 OP:3 APT:3 SEI:4 TIA:3 STX:3 ICP:3 JASMY:6 MASK:3""",
        is_usual=False,
    ),
    order_document=OrderDocument(
        source="https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/orders/create-order",
        read="2026-11",
        paths=("/api/v3/brokerage/orders",),
        client_id="client_order_id",
        side=("side", "BUY", "SELL"),
        symbol="product_id",
        amount="order_configuration.sor_limit_ioc.base_size",
        price="order_configuration.sor_limit_ioc.limit_price",
        immediate=("order_configuration.sor_limit_ioc", None),
        ids=r"\S+",
        shown_as="client_order_id",
    ),
    # ccxt drops `clientOrderId` and sends an id of its own, unless the exchange's own field overwrites that; balances
    # it asks an older interface for, which knows no holds
    order_quirks=OrderQuirks(
        client_id_parameter="client_order_id",
        options={"fetchBalance": "v3PrivateGetBrokerageAccounts"},
        is_immediate=True,
    ),
    # flags of a row of GET /api/v3/brokerage/market/products
    closes_by=("cancel_only", "post_only", "trading_disabled", "auction_mode", "view_only", "is_disabled"),
    one_book_with=("coinbaseexchange",),
    # not USDC: its markets have the books of dollars, under the dollars' names (websocket/websocket-channels)
    codes=alike(*COMMON_CODES, "USD", "EUR", "GBP", "USDT"),
    spelling=Spelling(codes_of("USD USDC EUR GBP USDT BTC ETH")),
    symbol_codes=SYMBOL_CODES,
    transfers=(
        TransferTerms("coinbase", "BTC", Decimal("0.0005"), Decimal("0.001"), SATOSHI, HOUR, ASSUMED),
        TransferTerms("coinbase", "USD", Decimal(25), Decimal(50), CENT, BANK_DAY, ASSUMED),
    ),
)
