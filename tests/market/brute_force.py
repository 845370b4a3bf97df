"""What an amount costs and brings, and whether it is allowed, reckoned the plain way: each book filled for itself, in
fractions, no walk."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import count

from market.decide.book_walk import WalkTerms
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.instruments.orders import Side
from market.prices.opportunities import FxRate
from market.prices.quotes import Level


def settled(rate: FxRate | None, side: Side, amount: Fraction) -> Fraction:
    """Settlement currency that buying `amount` of the rate's currency takes, or that selling it brings."""
    if rate is None:
        return amount
    bid, ask = Fraction(rate.bid), Fraction(rate.ask)
    if side == "buy":
        return amount / bid if rate.inverted else amount * ask
    return amount / ask if rate.inverted else amount * bid


def notional_of(book: Sequence[Level], amount: Fraction) -> Fraction | None:
    """Return what filling `amount` moves of quote currency; None if the book does not last."""
    notional, left = Fraction(0), amount
    for level in book:
        part = min(left, Fraction(level.amount))
        notional += part * Fraction(level.price)
        left -= part
    return notional if left == 0 else None


def price_reached(book: Sequence[Level], amount: Fraction) -> Decimal:
    """Return the price of the last level that filling `amount` takes from."""
    shown = Fraction(0)
    for level in book:
        shown += Fraction(level.amount)
        if shown >= amount:
            return level.price
    raise LookupError(f"the book shows less than {amount}")


def cost_of(asks: Sequence[Level], terms: WalkTerms, amount: Fraction) -> Fraction | None:
    paid = notional_of(asks, amount)
    return None if paid is None else settled(terms.buy_rate, "buy", paid) * (1 + Fraction(terms.buy_fee))


def proceeds_of(bids: Sequence[Level], terms: WalkTerms, amount: Fraction) -> Fraction | None:
    got = notional_of(bids, amount * Fraction(terms.factor))
    return None if got is None else settled(terms.sell_rate, "sell", got) * (1 - Fraction(terms.sell_fee))


def profit_at(asks: Sequence[Level], bids: Sequence[Level], terms: WalkTerms, amount: Fraction) -> Fraction | None:
    """None if a book does not last."""
    cost, proceeds = cost_of(asks, terms, amount), proceeds_of(bids, terms, amount)
    return None if cost is None or proceeds is None else proceeds - cost


def corners(asks: Sequence[Level], bids: Sequence[Level], terms: WalkTerms) -> list[Fraction]:
    """Every amount at which a level ends: profit is a straight line between two of them, so one of them is the best."""
    ends = [Fraction(0)]
    for book, factor in ((asks, Fraction(1)), (bids, Fraction(terms.factor))):
        at = Fraction(0)
        for level in book:
            at += Fraction(level.amount)
            ends.append(at / factor)
    return sorted(set(ends))


def fee_sides(side: SizingSide) -> tuple[Fraction, Fraction]:
    """Return the fee as a fraction of the base, and of the quote currency."""
    in_base = side.market.fee_side == "base" or (side.market.fee_side == "received" and side.side == "buy")
    fee = Fraction(side.fee_rate)
    return (fee, Fraction(0)) if in_base else (Fraction(0), fee)


def terms_of(buy: SizingSide, sell: SizingSide) -> WalkTerms:
    """With a factor cut after 12 digits, since no exchange takes a fraction as an amount."""
    (buy_base, buy_quote), (sell_base, sell_quote) = fee_sides(buy), fee_sides(sell)
    factor = Decimal(int((1 - buy_base) / (1 + sell_base) * 10**12)).scaleb(-12)
    quote_fees = [Decimal(str(float(fee))) for fee in (buy_quote, sell_quote)]
    return WalkTerms(quote_fees[0], quote_fees[1], buy.rate, sell.rate, factor)


def allowed(
    buy: SizingSide, sell: SizingSide, settings: Settings, notional_cap: Decimal | None, lots: Fraction
) -> bool:
    """Whether every rule lets `lots` of base be bought, and what follows from it be sold."""
    terms = terms_of(buy, sell)
    sold = lots * Fraction(terms.factor)
    ask, bid = price_reached(buy.levels, lots), price_reached(sell.levels, sold)
    spent = settled(buy.rate, "buy", Fraction(ask))
    got = settled(sell.rate, "sell", Fraction(bid)) * Fraction(terms.factor) * (1 - Fraction(terms.sell_fee))
    own = settings.asset_thresholds.get(buy.market.base)
    least = Fraction(settings.min_net_bps if own is None else own)
    if got - spent * (1 + Fraction(terms.buy_fee)) < spent * least / 10_000:
        return False
    limit = Fraction(buy.limit(ask, settings.max_slippage_bps))
    best_bid = Fraction(sell.levels[0].price)
    notional = max(settled(buy.rate, "buy", limit), settled(sell.rate, "sell", best_bid)) * lots
    if notional > settings.max_notional or (notional_cap is not None and notional > notional_cap):
        return False
    if buy.free is not None and limit * (1 + Fraction(terms.buy_fee)) * lots > buy.free:
        return False
    return sell.free is None or sold * (1 + fee_sides(sell)[0]) <= sell.free


def taken(buy: SizingSide, sell: SizingSide, settings: Settings, lots: Fraction) -> bool:
    """Whether both exchanges take such orders, even at the lowest price that either may carry."""
    lowest = (buy.levels[0].price, sell.levels[-1].price)
    lot = Fraction(sell.market.lot_step)
    sold = lots * Fraction(terms_of(buy, sell).factor) // lot * lot
    return all(
        amount >= side.market.minimum_amount
        and amount * Fraction(side.limit(price, settings.max_slippage_bps)) >= side.market.minimum_notional
        for side, price, amount in zip((buy, sell), lowest, (lots, sold), strict=True)
    )


def every_lot(buy: SizingSide, sell: SizingSide) -> Iterator[Fraction]:
    """All amounts on both exchanges' lots that both books show."""
    step = next(
        Fraction(hundredths, 100)
        for hundredths in count(1)
        if all(Fraction(hundredths, 100) % Fraction(side.market.lot_step) == 0 for side in (buy, sell))
    )
    factor = Fraction(terms_of(buy, sell).factor)
    shown = min(
        sum(Fraction(level.amount) for level in buy.levels),
        sum(Fraction(level.amount) for level in sell.levels) / factor,
    )
    return (step * lots for lots in range(1, int(shown / step) + 1))
