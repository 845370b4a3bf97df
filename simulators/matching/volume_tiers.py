"""Fees by 30-day volume, after each exchange's published schedule; the test account's volume is assumed and stays."""

from dataclasses import dataclass
from decimal import Decimal

from market.money import decimal_of

_BPS = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Tier:
    """Fee rates from a 30-day `volume` on (in the schedule's own currency), as fractions of the amount charged."""

    volume: Decimal
    maker: Decimal
    taker: Decimal


# (volume, maker bps, taker bps). Modelled on the published schedules, shortened; today's real ones may differ.
_SCHEDULES: dict[str, tuple[tuple[int, str, str], ...]] = {
    "coinbaseexchange": (
        (0, "40", "60"),
        (10_000, "25", "40"),
        (100_000, "10", "20"),
        (1_000_000, "8", "18"),
        (15_000_000, "6", "16"),
        (75_000_000, "3", "12"),
        (250_000_000, "0", "10"),
        (400_000_000, "0", "5"),
    ),
    "bitstamp": (
        (0, "30", "40"),
        (10_000, "20", "30"),
        (100_000, "10", "20"),
        (1_500_000, "6", "16"),
        (5_000_000, "3", "12"),
        (20_000_000, "2", "10"),
        (100_000_000, "0", "6"),
    ),
    # bitFlyer charges makers and takers alike
    "bitflyer": (
        (0, "15", "15"),
        (100_000, "14", "14"),
        (500_000, "12", "12"),
        (2_000_000, "10", "10"),
        (10_000_000, "7", "7"),
        (100_000_000, "2", "2"),
        (500_000_000, "1", "1"),
    ),
    "kraken": (
        (0, "25", "40"),
        (10_000, "20", "35"),
        (100_000, "12", "22"),
        (1_000_000, "4", "14"),
        (5_000_000, "2", "12"),
        (10_000_000, "0", "10"),
        (100_000_000, "0", "8"),
    ),
    "binance": (
        (0, "10", "10"),
        (1_000_000, "9", "10"),
        (5_000_000, "8", "10"),
        (20_000_000, "4.2", "6"),
    ),
}
_ASSUMED_VOLUMES = {
    "coinbaseexchange": 250_000_000,
    "bitstamp": 5_000_000,
    "bitflyer": 2_000_000,
    "kraken": 10_000_000,
    "binance": 1_000_000,
}


def tiers_of(exchange: str) -> tuple[Tier, ...]:
    """Return the tiers, lowest volume first. Raises KeyError if no such exchange is simulated."""
    rows = _SCHEDULES[exchange]
    return tuple(
        Tier(decimal_of(volume), decimal_of(maker) * _BPS, decimal_of(taker) * _BPS) for volume, maker, taker in rows
    )


def tier_at(exchange: str, volume: Decimal) -> Tier:
    """Return the tier that an account of that volume is in. Raises KeyError if no such exchange is simulated."""
    return [tier for tier in tiers_of(exchange) if tier.volume <= volume][-1]


def assumed_volume(exchange: str) -> Decimal:
    """Return the 30-day volume of the test account. Raises KeyError if no such exchange is simulated."""
    return decimal_of(_ASSUMED_VOLUMES[exchange])
