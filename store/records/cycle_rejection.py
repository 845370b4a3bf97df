"""A cycle that was found and not traded, with the check that refused it in figures."""

from dataclasses import dataclass

from market.decide.check_figures import FigureUnit


@dataclass(frozen=True, slots=True)
class CycleRejection:
    """The first of its cycle and reason in one minute, and how many there were. `value` was compared with `limit`;
    None: the check has none."""

    rejection_id: str
    cycle_id: str
    exchanges: tuple[str, ...]
    """Each once, in the order of the legs."""
    reason: str
    net_bps: float
    value: str | None
    limit: str | None
    unit: FigureUnit
    rejected_at: int
    """Wall time, microseconds."""
    count: int = 1
