"""A shortage that stands says what sizing would say of each opportunity that it covers."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from market.decide.settings import Settings
from market.decide.sizing import SizingSide, size, walk_terms
from market.decide.standing_shortage import StandingShortage, standing_shortage
from market.prices.quotes import Level
from market.prices.shown_sides import ShownSide, shown_side
from tests.market.samples import EUR_MARKET, EUR_RATE, USD_MARKET, levels, settings_of

FEE = Decimal("0.001")
BUY = replace(USD_MARKET, minimum_notional=Decimal(10), tick_size=Decimal("0.01"))
SELL = replace(BUY, exchange="beta", lot_step=Decimal("0.0005"), minimum_amount=Decimal("0.001"))


def sides(ask: str, bid: str, quote: str | None, base: str | None) -> tuple[SizingSide, SizingSide]:
    free = (None if amount is None else Decimal(amount) for amount in (quote, base))
    books = levels((ask, "1")), levels((bid, "1"))
    buy, sell = (
        SizingSide(side, market, book, FEE, None, known)  # type: ignore[arg-type]  # of two words
        for side, market, book, known in zip(("buy", "sell"), (BUY, SELL), books, free, strict=True)
    )
    return buy, sell


def learnt(
    buy: SizingSide, sell: SizingSide, settings: Settings, cap: Decimal | None = None
) -> StandingShortage | None:
    return standing_shortage(buy, sell, settings, cap, walk_terms(buy, sell, settings))


def shown(side: SizingSide) -> ShownSide:
    best, prices = side.levels[0], [float(level.price) for level in side.levels]
    return shown_side(side.side, float(best.price), float(best.amount), prices, is_first=True)


def book(draw: st.DrawFn, best: int, sign: int) -> tuple[Level, ...]:
    """Return up to three levels of a price in cents, each worse than the one before."""
    steps = draw(st.lists(st.integers(1, 400), max_size=2))
    amounts = draw(st.lists(st.integers(1, 60), min_size=3, max_size=3))
    prices = [best + sign * sum(steps[:number]) for number in range(len(steps) + 1)]
    texts = [(str(Decimal(price) / 100), str(Decimal(amount) / 10_000)) for price, amount in zip(prices, amounts)]  # noqa: B905
    return levels(*texts)


@st.composite
def cases(draw: st.DrawFn) -> tuple[SizingSide, SizingSide, tuple[Level, ...], tuple[Level, ...], Settings]:
    """Return what was refused, other books of the same pair, and settings."""
    ask = draw(st.integers(9_000_00, 11_000_00))
    quote, base = draw(st.sampled_from([("3", None), (None, "0.0004"), ("9.9", "0.0007"), ("0", "5"), ("50", "0")]))
    buy, sell = sides(str(Decimal(ask) / 100), str(Decimal(ask + draw(st.integers(0, 9_000))) / 100), quote, base)
    asks = book(draw, ask + draw(st.integers(-20_000, 20_000)), 1)
    bids = book(draw, ask + draw(st.integers(-20_000, 30_000)), -1)
    changes: dict[str, object] = {
        "min_net_bps": draw(st.sampled_from([0.0, 0.5, 20.0])),
        "max_slippage_bps": draw(st.sampled_from([0.0, 5.0, 80.0])),
        "max_notional": draw(st.sampled_from([Decimal(5), Decimal(12), Decimal(1_000)])),
    }
    return buy, sell, asks, bids, settings_of(**changes, emit_net_bps=0.0)


@given(cases(), st.sampled_from([None, Decimal(11), Decimal(400)]))
def test_what_it_covers_is_a_shortage(
    case: tuple[SizingSide, SizingSide, tuple[Level, ...], tuple[Level, ...], Settings], cap: Decimal | None
) -> None:
    buy, sell, asks, bids, settings = case
    standing = learnt(buy, sell, settings, cap)
    assume(standing is not None)
    assert standing is not None
    later = replace(buy, levels=asks), replace(sell, levels=bids)
    reason = standing.reason(shown(later[0]), shown(later[1]))
    if reason is not None:
        assert size(*later, settings, cap) == reason


def test_a_dry_account_is_short_within_a_range_of_prices() -> None:
    buy, sell = sides("10000", "10050", "3", None)
    standing = learnt(buy, sell, settings_of())
    assert standing is not None
    for ask, bid, amount, holds in (
        ("10001", "10049", "0.5", True),
        ("9950", "10060", "0.5", True),
        ("9800", "10060", "0.5", False),  # outside
        ("10001", "10002", "0.5", False),  # does not pay
        ("10001", "10049", "0.001", False),  # the book shows too little
    ):
        one = replace(buy, levels=levels((ask, amount))), replace(sell, levels=levels((bid, "0.5")))
        assert standing.holds(shown(one[0]), shown(one[1])) is holds


def test_what_is_not_short_of_a_balance_alone_stands_nowhere() -> None:
    assert learnt(*sides("10000", "10050", "500", "0.5"), settings_of()) is None
    assert learnt(*sides("10000", "10050", "3", None), settings_of(max_notional=Decimal(5))) is None
    buy, sell = sides("10000", "10050", "3", None)
    assert learnt(buy, replace(sell, market=EUR_MARKET, rate=EUR_RATE), settings_of()) is None
