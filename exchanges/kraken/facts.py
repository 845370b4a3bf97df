"""What is known of Kraken, read in autumn 2026; sources are beside each."""

from decimal import Decimal
from fractions import Fraction

from exchanges.kraken.symbols import SYMBOL_CODES
from exchanges.ports.codes import alike
from exchanges.ports.facts import Addresses, ExchangeFacts, PaperListing, Spelling, codes_of
from exchanges.ports.limits import CountedRequest, LimitRules, Weights
from exchanges.ports.order_terms import IOC, EarlierPage, OrderDocument, OrderQuirks
from exchanges.rate_counters import counter
from market.accounting.transfer_terms import ASSUMED, BANK_DAY, CENT, HOUR, SATOSHI, TransferTerms
from market.instruments.assets import COMMON_CODES

# https://docs.kraken.com/exchange/guides/general/ratelimits: what changing an order costs beside depends on its age,
# which a request does not show. These are the costs of the youngest.
_COUNTED_BY_THE_ENGINE = {"AddOrder": 1, "AmendOrder": 4, "EditOrder": 7, "CancelOrder": 8}
_COUNTED_TWICE = ("Ledgers", "QueryLedgers", "TradesHistory")


def _weights(asked: CountedRequest) -> Weights:
    if not asked.is_private:
        return {"public": 1}
    if asked.path in _COUNTED_BY_THE_ENGINE:
        return {"engine": _COUNTED_BY_THE_ENGINE[asked.path]}
    return {"private": 2 if asked.path in _COUNTED_TWICE else 1}


FACTS = ExchangeFacts(
    name="kraken",
    label="Kraken",
    addresses=Addresses(
        stream="wss://ws.kraken.com/v2",
        rest="https://api.kraken.com",
        # ccxt derives the protocol's version from the address
        simulated={
            **dict.fromkeys(("public", "private", "zendesk"), "{rest}"),
            "ws": dict.fromkeys(("public", "private", "beta", "beta-private"), "{ws}/ws")
            | dict.fromkeys(("publicV2", "privateV2"), "{ws}/ws/v2"),
        },
        stream_path="/ws/v2",
    ),
    # https://docs.kraken.com/exchange/guides/rest/ratelimits and /general/ratelimits, tier Intermediate (Starter: 15,
    # 0.33 and 60, 1; Pro: 20, 1 and 180, 3.75). Its support allows one public call a second.
    limits=LimitRules(
        limits={"public": counter(15, "1"), "private": counter(20, "0.5"), "engine": counter(125, "2.34")},
        of_the_address=frozenset({"public"}),
        order={"engine": 1},
        leg={"private": 2, "engine": 1},
        count=_weights,
        bots_share=Fraction(1, 5),
        # orders are counted apart, and comparisons need more: four reads every 15 s
        polls_share=Fraction(3, 5),
    ),
    # one public request a second from one address; a fifth is reserved for the bot
    feed_rest_seconds=1.25,
    taker_fee=Decimal("0.0010"),
    paper=PaperListing(
        region="us",
        symbol="BTC/USD",
        tick_size="0.1",
        minimum_amount="0.00005",
        minimum_notional="0.5",
        fee_side="quote",
        price_decimals="""
        ETH:2 SOL:2 XRP:5 ADA:6 DOGE:7 LTC:2 LINK:3 DOT:4 AVAX:2 BCH:2 XLM:6 UNI:3 AAVE:2 ATOM:4 NEAR:3 ETC:2 FIL:3
        ALGO:5 HBAR:5 SUI:4 GRT:5 SAND:5 MANA:5 CRV:5 COMP:2 SNX:4 YFI:0 SUSHI:4 BAT:5 ZRX:5 ENJ:5 CHZ:6 LDO:4 APE:4
        AXS:3 GALA:6 IMX:4 INJ:2 RENDER:3 FET:4 ARB:5 OP:4 APT:3 SEI:5 TIA:4 STX:4 ICP:3 JASMY:7 MASK:3""",
    ),
    order_document=OrderDocument(
        # its ids are on https://docs.kraken.com/exchange/guides/general/clordid
        source="https://docs.kraken.com/api-reference/trading/add-order",
        read="2026-11",
        paths=("/0/private/AddOrder",),
        client_id="cl_ord_id",
        side=("type", "buy", "sell"),
        symbol="pair",
        amount="volume",
        price="price",
        immediate=("timeinforce", "IOC"),
        words={"ordertype": "limit"},
        others=frozenset({"nonce", "oflags", "deadline"}),
        # a UUID with or without hyphens, or a short text
        ids=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}|[!-~]{1,18}",
        shown_as="cl_ord_id",
        copy="https://github.com/api-evangelist/kraken/blob/main/json-schema/spot-rest-add-order-request-schema.json",
    ),
    # fciq: the fee in quote currency. ccxt's fetch_order takes a client order id for a `userref`, which is another one.
    # Its times are whole seconds, within which a page may end; an offset passes over them.
    order_quirks=OrderQuirks(
        {**IOC, "oflags": "fciq"}, is_immediate=True, earlier_fills=EarlierPage("ofs", "account rows")
    ),
    # its nonces need not be times, and must never go back
    signs_by_clock=False,
    has_own_codes_in_rows=True,
    # old assets have four letters: XXBT, ZUSD
    # codes begin with X or Z if they are old, and its LUNA is the old coin
    codes={code: code for code in COMMON_CODES if code not in ("BTC", "DOGE")}
    | {"XXBT": "BTC", "XBT": "BTC", "XETH": "ETH", "XLTC": "LTC", "XXDG": "DOGE", "XDG": "DOGE"}
    | {"XXRP": "XRP", "XXLM": "XLM", "XETC": "ETC"}
    | {"ZUSD": "USD", "ZEUR": "EUR", "ZGBP": "GBP", "ZJPY": "JPY"}
    | alike("USD", "EUR", "GBP", "JPY", "USDT", "USDC", "WBTC")
    | {"LUNA": "LUNC", "LUNA2": "LUNA", "UST": "USTC"},
    symbol_codes=SYMBOL_CODES,
    spelling=Spelling(
        codes_of(
            """ZUSD ZEUR ZGBP ZJPY ZCAD ZAUD USD EUR GBP JPY CAD AUD CHF USDT USDC USDG USDD USDR PYUSD RLUSD DAI
            EURQ EURR XXBT XBT XETH ETH SOL DOT"""
        )
    ),
    has_transfers=True,
    transfers=(
        TransferTerms(
            "kraken",
            "BTC",
            Decimal("0.00015"),
            Decimal("0.0005"),
            SATOSHI,
            HOUR,
            "abcdstable.com/academy/kraken-withdrawal-fe, 2026; six blocks of ten minutes",
        ),
        TransferTerms("kraken", "USD", Decimal(35), Decimal(50), CENT, BANK_DAY, ASSUMED),
    ),
)
