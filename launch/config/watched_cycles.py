"""The cycles that the configuration asks for: of a session, and what `arbitrage markets` says of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from launch.config.configuration import Configuration
from launch.config.cycles import check_known, cycle_terms
from launch.errors import CannotStartError
from market.instruments.cycles import Cycle, CycleTerms, WatchedCycles, session_cycles, watched_cycles
from market.instruments.markets import Market
from session.session import Session


@dataclass(frozen=True, slots=True)
class ShownCycles:
    """The cycles of one asset or exchange; None: of all."""

    asset: str | None = None
    exchange: str | None = None

    def has(self, cycle: Cycle) -> bool:
        currencies = {leg.gives for leg in cycle.legs}
        return (self.asset is None or self.asset in currencies) and (
            self.exchange is None or self.exchange in cycle.exchanges
        )


def chosen_cycles(config: Configuration, markets: Collection[Market], settlement: str) -> CycleTerms | None:
    """Return what a session of these markets looks for; None if there is no such cycle. Raises CannotStartError if
    `[cycles]` names an exchange that is not there, or the log would have several orders."""
    if config.cycles is None:
        return None
    exchanges = tuple(dict.fromkeys(market.exchange for market in markets))
    check_known(config.cycles, exchanges, config.file)
    terms = cycle_terms(config.cycles, exchanges)
    if not session_cycles(markets, terms, settlement):
        return None
    if config.partitions > 1:
        raise CannotStartError(
            f"{config.file}: [cycles] needs one order of all quotes; set partitions = 1, or leave [cycles] out."
        )
    return terms


def cycle_notes(config: Configuration, session: Session) -> tuple[str, ...]:
    """Return what a session has to say of `[cycles]`."""
    if config.cycles is None:
        return ()
    count = len(session.watched_cycles())
    if count and not session.trades_cycles:
        return (
            f"{config.file}: [cycles] watches {count} cycles and trades none of them: with money only pairs of "
            "exchanges are traded",
        )
    if count:
        return (f"{config.file}: [cycles] watches {count} cycles; `arbitrage markets` lists them",)
    return (f"{config.file}: [cycles] watches no cycle here; `arbitrage markets` says why",)


def regional_cycle_notes(config: Configuration) -> tuple[str, ...]:
    """Return what a session of several regions, which watches none, has to say of `[cycles]`."""
    if config.cycles is None:
        return ()
    return (f"{config.file}: [cycles] is for sessions without regions; this one trades pairs of exchanges",)


def cycle_lines(
    config: Configuration, markets: Collection[Market], settlement: str, fees: Collection[str], shown: ShownCycles
) -> Iterator[str]:
    """Return a line for each cycle, and one for each reason why there are no others; none without `[cycles]`. Raises
    CannotStartError if it names an exchange that is not there."""
    exchanges = tuple(dict.fromkeys(market.exchange for market in markets))
    if config.cycles is None:
        return
    check_known(config.cycles, exchanges, config.file)
    terms = cycle_terms(config.cycles, exchanges)
    if terms is None:
        return
    watched = watched_cycles(markets, terms, settlement, fees, _held(config, markets))
    cycles = [cycle for cycle in watched.cycles if shown.has(cycle)]
    yield f"cycles of at most {terms.max_legs} legs: {len(cycles)}"
    yield from _listed(cycles)
    yield from (f"  not: {reason}" for reason in _shown_reasons(watched, shown))


def _listed(cycles: Iterable[Cycle]) -> Iterator[str]:
    for cycle in cycles:
        yield f"  {len(cycle.legs)} legs from {cycle.currency}: {cycle.words}  [{cycle.cycle_id}]"


def _shown_reasons(watched: WatchedCycles, shown: ShownCycles) -> Iterable[str]:
    named = [name for name in (shown.asset, shown.exchange) if name is not None]
    return [reason for reason in watched.reasons if all(name in reason for name in named)]


def _held(config: Configuration, markets: Iterable[Market]) -> Mapping[str, Collection[str]]:
    """Return the currencies that each exchange's account holds: those that the configuration gives it, else those of
    its markets, as every new account on paper has them."""
    held: dict[str, set[str]] = {}
    for market in markets:
        held.setdefault(market.exchange, set()).update((market.base, market.quote_currency))
    given = {name: {code for code, amount in row.items() if amount} for name, row in config.paper.balances.items()}
    return {name: given.get(name, codes) for name, codes in held.items()}
