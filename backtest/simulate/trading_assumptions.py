"""The assumptions of a backtest that only trading reveals, as text for its report."""

from collections.abc import Sequence

from backtest.parameters import Parameters
from backtest.simulate.seen_spreads import SpreadStatistics
from backtest.simulate.simulated_account import SimulatedAccount


def all_assumptions(
    parameters: Parameters,
    accounts: Sequence[SimulatedAccount],
    spreads: SpreadStatistics,
    missed: int,
    *,
    has_history: bool,
) -> tuple[str, ...]:
    """Return the assumptions in the order in which they matter."""
    settings = parameters.settings
    lines = [_matched(accounts)]
    if not has_history and settings.min_share_above_10s > 0:
        lines.append("no spread windows were given, so min_share_above_10s rejected every opportunity")
    if not has_history and settings.quarantine_deviations > 0 and spreads.best_net_bps > settings.quarantine_floor_bps:
        lines.append(
            "no spread windows were given: the quarantine judged by its ceiling alone, not by a pair's history"
        )
    if missed:
        lines.append(f"{missed} opportunities had expired by the time of the decision")
    return tuple(lines)


def _matched(accounts: Sequence[SimulatedAccount]) -> str:
    on_depth = sum(account.matched_on_depth for account in accounts)
    on_best = sum(account.matched_on_best for account in accounts)
    return f"{on_depth} orders met recorded depth, {on_best} the displayed best level alone"
