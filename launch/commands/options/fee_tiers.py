"""Fee tiers on the command line: `kraken=0:26,50000:24` is bps per side from each 30-day volume on."""

from backtest.parameters import FeeTier
from launch.commands.options.arguments import HIGHEST_FEE_BPS, LOWEST_FEE_BPS
from launch.errors import CannotStartError
from market.money import BPS, decimal_of

EXAMPLE = "kraken=0:26,50000:24"


def fee_tiers_of(texts: tuple[str, ...]) -> dict[str, tuple[FeeTier, ...]]:
    """Return exchange → its tiers, by volume. Raises CannotStartError in one sentence."""
    tiers: dict[str, tuple[FeeTier, ...]] = {}
    for text in texts:
        exchange, mark, steps = text.partition("=")
        if not (exchange and mark and steps):
            raise CannotStartError(f"--fee-tiers {text}: is not of the form {EXAMPLE}.")
        if exchange in tiers:
            raise CannotStartError(f"--fee-tiers {text}: {exchange} is named twice; give all of its tiers together.")
        tiers[exchange] = tuple(sorted((_tier(step, text) for step in steps.split(",")), key=lambda tier: tier.volume))
        volumes = [tier.volume for tier in tiers[exchange]]
        if len(set(volumes)) < len(volumes):
            raise CannotStartError(f"--fee-tiers {text}: repeats a volume.")
    return tiers


def _tier(step: str, text: str) -> FeeTier:
    volume, mark, bps = step.partition(":")
    try:
        tier = FeeTier(decimal_of(volume), decimal_of(bps) / BPS)
    except ValueError:
        raise CannotStartError(
            f"--fee-tiers {text}: {step!r} is not of the form volume:bps, as in {EXAMPLE}."
        ) from None
    if not mark or tier.volume < 0 or not LOWEST_FEE_BPS <= tier.rate * BPS <= HIGHEST_FEE_BPS:
        raise CannotStartError(
            f"--fee-tiers {text}: {step!r} needs a volume of 0 or more and {LOWEST_FEE_BPS} to {HIGHEST_FEE_BPS} bps."
        )
    return tier
