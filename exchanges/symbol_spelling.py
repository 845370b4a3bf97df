"""How exchanges write the symbols of their spot markets: which code comes first, and what they quote in.

Facts alone, by exchange, in its own codes: from its list of symbols if no other source is named, as of 2026-11. An
exchange that is not listed writes the base first.
"""

from collections.abc import Mapping

from exchanges.catalogue import facts_of
from exchanges.ports.facts import Spelling, codes_of

_OTHERS: Mapping[str, Spelling] = {
    "binanceus": Spelling(codes_of("USD USDT USDC BUSD DAI BTC ETH BNB")),
    "binanceusdm": Spelling(codes_of("USDT USDC BUSD BTC")),
    "binancecoinm": Spelling(codes_of("USD")),
    "bitfinex": Spelling(codes_of("USD UST EUR GBP JPY BTC ETH EUT XAUT MIM CNHT TRY EOS XCH")),
    "gemini": Spelling(codes_of("USD USDT GUSD RLUSD USDC EUR GBP SGD BTC ETH BCH LTC FIL DAI")),
    "htx": Spelling(codes_of("USDT USDC USDD HUSD TUSD BTC ETH HT TRX EUR GBP TRY BRL UAH")),
    "bitget": Spelling(codes_of("USDT USDC USDE BTC ETH EUR BRL BGB")),
    "mexc": Spelling(codes_of("USDT USDC USDE USDF USD1 TUSD BTC ETH EUR BRL MX")),
    "upbit": Spelling(codes_of("KRW BTC USDT SGD IDR THB"), "quote"),
    # docs.poloniex.com: USDT_BTC in the system until July 2022, BTC_USDT since
    "poloniex": Spelling(first="either"),
    # version 1 of its interface wrote USDT-BTC, version 3 BTC-USDT
    "bittrex": Spelling(first="either"),
    # KRW-BTC since version 2 of its interface, BTC_KRW before
    "bithumb": Spelling(first="either"),
}

USUAL_QUOTES = codes_of("USD USDT USDC FDUSD BUSD TUSD GUSD EUR GBP JPY KRW BTC ETH BNB")
"""What an exchange that is not listed may quote in."""

STABLE_COINS = frozenset(
    codes_of(
        """BUSD TUSD FDUSD GUSD HUSD PYUSD RLUSD USDP USDD USDE USDF USDG USDQ USDR USDS USD1 USTC UST DAI PAX MIM VAI
        EURT EURC EURI EURQ EURR EURS XSGD IDRT BIDR BVND BKRW CNHT"""
    )
)
"""Coins that stand for a currency, beside those that are assets here: they may be priced in one another."""

QUOTED_BEFORE = tuple(
    frozenset(codes_of(text))
    for text in ("USD EUR GBP JPY KRW SGD IDR THB", "USDT USDC USDD TUSD", "BTC", "TRX", "ETH", "XMR", "BNB")
)
"""If both orders are in use: of two codes the one in the earlier set is the quote; of one set, nobody can say."""

WELL_KNOWN = frozenset(
    codes_of(
        """1INCH ACH AGIX AGLD ALICE ALPHA AMP ANKR ANT API3 AR ARPA ASTR AUCTION AUDIO BADGER BAL BAND BEAM BICO BLUR
        BNB BNT BONK BSV BTT C98 CAKE CELO CELR CFX CHR CKB COTI CTSI CVC CVX DASH DCR DENT DGB DYDX EGLD EIGEN ENA ENS
        EOS ETHFI EUL FLM FLOKI FLOW FLR FTM FXS GAL GLM GMT GMX GNO GNT GODS GTC HIGH HNT HOOK HOT HT ICX ID IOST IOTA
        JOE JTO JUP KAS KAVA KEEP KLAY KNC KSM LIT LPT LQTY LRC LSK MAGIC MATIC METIS MINA MKR MNT MTL NANO NEO NEXO NKN
        NMR NOT NU OCEAN OGN OMG ONDO ONE ONT ORDI OXT PAXG PENDLE PEPE PERP POL POLY POWR PYTH QNT QTUM RAD RAY REEF
        REN REP REQ RLC RNDR RONIN ROSE RPL RSR RUNE RVN S SATS SC SHIB SKL SLP SPELL SRM SSV STG STORJ STRK SUPER SXP
        SYN T TAO THETA TON TRB TRU TRX TURBO TWT UMA VET VTHO W WAVES WAXP WIF WLD WOO XEC XEM XMR XTZ XVG XYO YGG ZEC
        ZEN ZIL ZK ZRO"""
    )
)
"""Codes of coins that many exchanges list, beside those that are assets here. They tell the readings of a symbol
without a separator apart, and say nothing of what the coin is."""


def spelling_of(exchange: str) -> Spelling:
    facts = facts_of(exchange)
    return _OTHERS.get(exchange, Spelling()) if facts is None else facts.spelling
