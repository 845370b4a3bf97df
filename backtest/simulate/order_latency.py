"""How long an order travels in a backtest, and which orders the exchange rejects: drawn by seed and order, so that
neither the order of events nor the number of workers changes it."""

from random import Random

from backtest.parameters import Latency


def latency_microseconds(latency: Latency, seed: int, client_order_id: str) -> int:
    """Return microseconds from the bot's decision to the match."""
    if not latency.samples_ms:
        return round(latency.constant_ms * 1_000)
    return round(_drawn(seed, "latency", client_order_id).choice(latency.samples_ms) * 1_000)


def is_rejected(share: float, seed: int, client_order_id: str) -> bool:
    """Return whether this is one of the `share` of orders that fail."""
    return share > 0 and _drawn(seed, "rejected", client_order_id).random() < share


def _drawn(seed: int, what: str, client_order_id: str) -> Random:
    # not for secrets: the same seed must give the same numbers
    return Random(f"{seed}:{what}:{client_order_id}")  # noqa: S311
