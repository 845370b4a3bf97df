"""What is known of bitFlyer, read in autumn 2026; sources are beside each."""

from decimal import Decimal

from exchanges.ports.codes import alike
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import EarlierPage, OrderDocument, OrderQuirks
from exchanges.rate_counters import window
from market.accounting.transfer_terms import BANK_DAY, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES
from market.money import decimal_of

_SMALL_ORDER = Decimal("0.1")
_ORDER_PATHS = ("sendchildorder", "sendparentorder", "cancelallchildorders")


def _weights(asked: CountedRequest) -> Weights:
    if not asked.is_private:
        return {"address": 1}
    weights = {"address": 1, "private": 1}
    if asked.path not in _ORDER_PATHS:
        return weights
    weights["orders"] = 1
    if asked.path == "sendchildorder" and _is_small(asked.parameters.get("size")):
        weights["small orders"] = 1
    return weights


def _is_small(size: object) -> bool:
    """Tell if an order is small; an unreadable size counts as small."""
    try:
        return decimal_of(str(size)) <= _SMALL_ORDER
    except ValueError:
        return True


FACTS = ExchangeFacts(
    name="bitflyer",
    label="bitFlyer",
    addresses=Addresses(
        stream="wss://ws.lightstream.bitflyer.com/json-rpc",
        rest="https://api.bitflyer.com",
        simulated={"rest": "{rest}"},
    ),
    # https://lightning.bitflyer.com/docs, API Limits; small orders are those of 0.1 and less
    limits=LimitRules(
        limits={
            "address": window(500, 300),
            "private": window(500, 300),
            "orders": window(300, 300),
            "small orders": window(100, 60),
        },
        of_the_address=frozenset({"address"}),
        order={"address": 1, "private": 1, "orders": 1, "small orders": 1},
        leg={"address": 3, "private": 3, "orders": 1, "small orders": 1},
        count=_weights,
    ),
    # 500 in five minutes from one address, of which the bot has half; the rest is for restarted processes
    feed_rest_seconds=1.5,
    taker_fee=Decimal("0.0010"),
    paper=PaperListing(
        region="jp",
        symbol="BTC/JPY",
        tick_size="1",
        minimum_amount="0.001",
        minimum_notional="0",
        fee_side="base",
        price_decimals="""
        ETH:0 SOL:1 XRP:3 ADA:4 DOGE:4 LTC:1 LINK:2 DOT:3 AVAX:1 BCH:0 XLM:4 UNI:2 AAVE:1 ATOM:3 NEAR:3 ETC:1 FIL:3
        ALGO:4 HBAR:4 SUI:3 GRT:4 SAND:4 MANA:4 CRV:4 COMP:1 SNX:3 YFI:0 SUSHI:4 BAT:4 ZRX:4 ENJ:4 CHZ:5 LDO:3 APE:4
        AXS:3 GALA:5 IMX:4 INJ:2 RENDER:3 FET:4 ARB:4 OP:3 APT:2 SEI:4 TIA:3 STX:3 ICP:2 JASMY:6 MASK:2""",
    ),
    # it knows no ids of its clients, and has JSON numbers
    order_document=OrderDocument(
        source="https://lightning.bitflyer.com/docs#send-a-new-order",
        read="2026-11",
        paths=("/v1/me/sendchildorder",),
        client_id=None,
        side=("side", "BUY", "SELL"),
        symbol="product_code",
        amount="size",
        price="price",
        immediate=("time_in_force", "IOC"),
        words={"child_order_type": "LIMIT"},
        copy="https://rdrr.io/github/teramonagi/bitflyer/man/send_child_order.html",
    ),
    order_quirks=OrderQuirks(
        {"time_in_force": "IOC"},
        is_immediate=True,
        client_id_parameter=None,
        fee_field="commission",
        # the second as the others print bitcoin: its documents do not say it
        cost_steps={"JPY": Decimal(1), "BTC": SATOSHI},
        earlier_fills=EarlierPage("before", "ids"),
    ),
    codes=alike(*COMMON_CODES, "JPY", "USD", "EUR"),
    transfers=(
        TransferTerms(
            "bitflyer",
            "BTC",
            Decimal("0.0005"),
            Decimal("0.001"),
            SATOSHI,
            HOUR,
            "okwallet.jp/crypto20260202092739, May 2024; six blocks of ten minutes",
        ),
        TransferTerms(
            "bitflyer",
            "JPY",
            Decimal(770),
            Decimal(30_000),
            Decimal(1),
            BANK_DAY,
            "bitflyer.com/en-jp/commission, other banks, 30,000 JPY and more",
        ),
    ),
)
