"""The minimum net spread of one direction: the general one, or those of its asset and of its pair of exchanges. Pure.

Names of pairs: `kraken/bitflyer` is both directions, `bitflyer>kraken` is buying on bitflyer and selling on kraken.
"""

from collections.abc import Mapping

BOTH, ONE = "/", ">"


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
