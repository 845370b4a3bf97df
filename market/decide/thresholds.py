"""The minimum net spread of one direction: the general one, or those of its asset and of its pair of exchanges, lower
if the trade brings inventory back; and that of a cycle. Pure.

Names of pairs: `kraken/bitflyer` is both directions, `bitflyer>kraken` is buying on bitflyer and selling on kraken.
Names of cycles: a cycle's id, its legs in order (`kraken:BTC/USD:buy>kraken:ETH/BTC:buy>kraken:ETH/USD:sell`), or an
exchange, which stands for all cycles within it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from market.instruments.cycles import FEWEST_LEGS, MOST_LEGS, Cycle
from market.money import BPS, BoundedDecimal

Number = TypeVar("Number")

BOTH, ONE = "/", ">"


@dataclass(frozen=True, slots=True)
class Imbalance:
    """What of an asset should lie on the exchange that buys, and lies on the one that sells: a trade between them does
    what a transfer would do."""

    most: BoundedDecimal
    """Base that a trade brings back at most. More than 0."""
    transfer_fee: BoundedDecimal | None
    """Of so much, in base; None: it cannot be sent, or nobody knows what that costs."""

    @property
    def transfer_bps(self) -> float:
        """Return what a transfer costs, of the amount; 0 if there can be none."""
        return 0.0 if self.transfer_fee is None else float(self.transfer_fee / self.most * BPS)


def lowered_threshold(threshold: float, imbalance: Imbalance | None, below_bps: float) -> float:
    """Return the net spread, bps, from which a trade is made that brings this back: `below_bps` under the threshold
    in force, but it never costs more than a transfer would. The threshold itself if there is nothing to bring back."""
    if imbalance is None or below_bps <= 0:
        return threshold
    return min(threshold, max(threshold - below_bps, -imbalance.transfer_bps))


def net_threshold(
    general: float, by_asset: Mapping[str, float], by_pair: Mapping[str, float], base: str, buy: str, sell: str
) -> float:
    """Return the net spread, bps, from which `base` is bought on the exchange `buy` and sold on `sell`: the highest of
    those that the two mappings have for it, else the general one."""
    own = own_threshold(by_asset, by_pair, base, buy, sell) if by_asset or by_pair else None
    return general if own is None else own


def own_threshold(
    by_asset: Mapping[str, float], by_pair: Mapping[str, float], base: str, buy: str, sell: str
) -> float | None:
    """Return the highest of those that the two mappings have for the direction; None if the general one counts."""
    names = (f"{buy}{ONE}{sell}", f"{buy}{BOTH}{sell}", f"{sell}{BOTH}{buy}")
    own = [by_pair[name] for name in names if name in by_pair]
    if base in by_asset:
        own.append(by_asset[base])
    return max(own, default=None)


def direction(buy: str, sell: str) -> str:
    """Return the name of one direction of a pair."""
    return f"{buy}{ONE}{sell}"


def exchanges_of_pair(name: str) -> tuple[str, str]:
    """Return both exchanges of a pair's name. Raises ValueError."""
    for sign in (ONE, BOTH):
        first, found, second = name.partition(sign)
        if found and first and second and first != second and not {ONE, BOTH} & {*first, *second}:
            return first, second
    raise ValueError(
        f"{name[:80]!r} is no pair of exchanges; write a{BOTH}b for both directions, or a{ONE}b for buying on a and "
        "selling on b"
    )


def cycle_threshold(
    general: float, by_cycle: Mapping[str, float], by_asset: Mapping[str, float], cycle: Cycle
) -> tuple[float, str]:
    """Return the net spread, bps, from which a cycle is traded, and whose it is, the most specific: the cycle's own,
    that of cycles within its exchange, the highest of its assets, the general one."""
    own = of_cycle(by_cycle, cycle)
    if own is not None:
        return own
    of_assets = [(by_asset[leg.gives], leg.gives) for leg in cycle.legs if leg.gives in by_asset]
    if of_assets:
        value, asset = max(of_assets)
        return value, f"asset {asset}"
    return general, "general"


def of_cycle(by_cycle: Mapping[str, Number], cycle: Cycle) -> tuple[Number, str] | None:
    """Return what the mapping has for a cycle, and whose it is; None if it has nothing."""
    if cycle.cycle_id in by_cycle:
        return by_cycle[cycle.cycle_id], "cycle"
    if cycle.reach == "within" and cycle.exchanges[0] in by_cycle:
        return by_cycle[cycle.exchanges[0]], f"within {cycle.exchanges[0]}"
    return None


def exchanges_of_cycle(name: str) -> tuple[str, ...]:
    """Return the exchanges of a cycle's name, each once. Raises ValueError if it can be the name of no cycle."""
    legs = name.split(ONE)
    if len(legs) == 1 and name and not {":", BOTH} & {*name}:
        return (name,)
    if FEWEST_LEGS <= len(legs) <= MOST_LEGS and all(_is_leg(leg) for leg in legs):
        return tuple(dict.fromkeys(leg.partition(":")[0] for leg in legs))
    raise ValueError(
        f"{name[:80]!r} is no cycle; write its legs as `arbitrage markets` lists them "
        "(kraken:BTC/USD:buy>kraken:ETH/BTC:buy>kraken:ETH/USD:sell), or an exchange for all cycles within it"
    )


def _is_leg(leg: str) -> bool:
    exchange, _, rest = leg.partition(":")
    symbol, _, side = rest.rpartition(":")
    return bool(exchange) and BOTH in symbol and side in ("buy", "sell")
