"""Which markets are compared with which: one asset, in currencies that convert, on different exchanges. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from market.instruments.assets import ListedCodes, SessionCodes, not_compared_because
from market.instruments.markets import FxRoute, Market, fx_route


@dataclass(frozen=True, slots=True)
class ComparedMarket:
    """`reason`: why it is compared with none, in one sentence; None if it is."""

    market: Market
    route: FxRoute | None
    """What converts its currency; None if nothing has to, or nothing can."""
    others: tuple[str, ...] = ()
    """The exchanges that it is compared with."""
    reason: str | None = None


def compared_markets(
    listed: ListedCodes, markets: Sequence[Market], settlement: str, codes: SessionCodes | None = None
) -> tuple[ComparedMarket, ...]:
    """Compare all traded ones among `markets`, in their order. `listed` and `codes`: as `identity_fault` takes them."""
    rows = [_alone(listed, market, settlement, markets, codes) for market in markets if not market.is_fx]
    return tuple(_with_others(row, rows) for row in rows)


def _alone(
    listed: ListedCodes, market: Market, settlement: str, markets: Sequence[Market], codes: SessionCodes | None
) -> ComparedMarket:
    fault = not_compared_because(listed, market, codes=codes)
    if fault is not None:
        return ComparedMarket(market, None, reason=fault)
    try:
        return ComparedMarket(market, fx_route(market.quote_currency, settlement, tuple(markets)))
    except LookupError as error:
        return ComparedMarket(market, None, reason=str(error))


def _with_others(row: ComparedMarket, rows: Iterable[ComparedMarket]) -> ComparedMarket:
    if row.reason is not None:
        return row
    others = dict.fromkeys(
        other.market.exchange
        for other in rows
        if other.reason is None
        and other.market.base == row.market.base
        and other.market.exchange != row.market.exchange
    )
    if not others:
        return ComparedMarket(row.market, row.route, reason=f"no other exchange trades {row.market.base}")
    return ComparedMarket(row.market, row.route, tuple(others))
