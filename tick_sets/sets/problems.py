"""Problems that prevent a backtest of a tick set, each with its remedy. Pure."""

from collections.abc import Collection, Iterator

from exchanges.dated_codes import SUCCESSORS
from market.instruments.assets import may_count_as
from market.instruments.markets import Market, crosses_of, fx_route
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.tick_set import first_unconverted


def problems_of(manifest: Manifest) -> tuple[str, ...]:
    return tuple(_problems(manifest))


def nothing_to_compare(markets: Collection[Market], enabled: Collection[str] | None = None) -> str | None:
    """Return why no arbitrage can be found, None if one can: it needs one asset on two exchanges. `enabled`: the
    exchanges that are, None for all."""
    exchanges: dict[str, set[str]] = {}
    for market in markets:
        if not market.is_fx:
            exchanges.setdefault(market.base, set()).add(market.exchange)
    listed = ", ".join(f"{base} on {' and '.join(sorted(names))}" for base, names in sorted(exchanges.items()))
    if all(len(names) < 2 for names in exchanges.values()):
        return f"there is nothing to compare: it has {listed} alone; {_remedy(exchanges)}"
    if enabled is not None and all(len(names & set(enabled)) < 2 for names in exchanges.values()):
        named = ",".join(sorted(set().union(*exchanges.values())))
        return (
            f"there is nothing to compare: of {listed} no two are enabled; enable more, as in "
            f"--set-value enabled_exchanges={named}"
        )
    return None


def _remedy(bases: Collection[str]) -> str:
    for old, new in SUCCESSORS.items():
        if old in bases and new in bases:
            return f"{old} was exchanged one for one for {new}: to compare both say --alike {old}={new}"
    return "import the same asset of another exchange into it"


def _problems(manifest: Manifest) -> Iterator[str]:
    counted = first_unconverted(manifest.markets)
    if counted is not None:
        yield f"contracts of {counted.exchange} {counted.symbol} were taken for base amounts: import its files again"
    lacking = nothing_to_compare(manifest.markets)
    if lacking is not None:
        yield lacking
    crosses = crosses_of(manifest.markets, manifest.settlement_currency)
    for market in manifest.markets:
        if market.is_fx or market in crosses:
            continue
        currency, settlement = market.quote_currency, manifest.settlement_currency
        try:
            fx_route(currency, settlement, manifest.markets)
        except LookupError:
            alike = f", or let it count 1:1 with --alike {currency}={settlement}"
            yield (
                f"nothing converts the {currency} of {market.exchange} {market.symbol} to {settlement}: import rates "
                f"of {currency}/{settlement}{alike if may_count_as(currency, settlement) else ''}"
            )
