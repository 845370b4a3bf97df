"""The report of a replay, as lines and as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass

from backtest.profile_recordings import Recording
from backtest.report.trade_lines import bracketed, ends_of, profit_lines, trade_lines
from market.accounting.profit_groups import profit_of
from market.money import text_of
from market.trade.arbitrages import Arbitrage
from wording.labels import plain, reason_name


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """The results of CEP and the bots on a recording."""

    opportunities: int
    """Distinct ids."""
    arbitrages: tuple[Arbitrage, ...]
    rejections: Mapping[str, int]
    """Reason → opportunities rejected, counted ones included."""
    sent: Mapping[str, int]
    """Exchange → quotes that the replayer wrote to the log."""
    speed: float
    wall_seconds: float


def report_lines(recording: Recording, outcome: ReplayOutcome) -> list[str]:
    """Return the lines that `arbitrage replay` prints."""
    profile = recording.profile
    recorded_seconds = (recording.end_time - recording.start_time) / 1_000_000
    lines = [
        f"replay {profile.name}: {profile.title}",
        f"recorded {recorded_seconds:.0f} s, replayed {_speed(outcome.speed)} in {outcome.wall_seconds:.0f} s",
        f"quotes in       {sum(outcome.sent.values())}  ({_counts(outcome.sent)})",
        f"quotes rejected {sum(recording.rejected.values())}{bracketed(recording.rejected, plain)}",
        f"opportunities   {outcome.opportunities}",
        *trade_lines(outcome.arbitrages),
        f"rejections        {sum(outcome.rejections.values())}{bracketed(outcome.rejections, reason_name)}",
    ]
    if recording.outside:
        lines.insert(4, f"left out        {recording.outside}  (FX quotes at times without a traded quote)")
    profit = profit_of(outcome.arbitrages, profile.settlement_currency)
    lines += profit_lines(profit)
    lines += ["assumed:", *(f"  - {assumption}" for assumption in profile.all_assumptions)]
    return lines


def report_json(recording: Recording, outcome: ReplayOutcome) -> dict[str, object]:
    """Return the document of `--json`; money as decimal strings, times in microseconds UTC."""
    profile = recording.profile
    profit = profit_of(outcome.arbitrages, profile.settlement_currency)
    return {
        "profile": profile.name,
        "title": profile.title,
        "files": [str(path) for path in recording.files],
        "assumptions": list(profile.all_assumptions),
        "recording_start": recording.start_time,
        "recording_end": recording.end_time,
        "speed": outcome.speed,
        "wall_seconds": round(outcome.wall_seconds, 3),
        "quotes_in": sum(outcome.sent.values()),
        "quotes_by_exchange": dict(outcome.sent),
        "quotes_rejected": sum(recording.rejected.values()),
        "rejected_by_reason": dict(recording.rejected),
        "fx_quotes_left_out": recording.outside,
        "opportunities": outcome.opportunities,
        "trades": sum(arbitrage.is_filled for arbitrage in outcome.arbitrages),
        "arbitrages_by_end": ends_of(outcome.arbitrages),
        "rejections": sum(outcome.rejections.values()),
        "rejections_by_reason": dict(outcome.rejections),
        "currency": profit.currency,
        "profit": {part: text_of(amount) for part, amount in profit.parts.items()},
    }


def _speed(speed: float) -> str:
    return "at recorded speed" if speed == 1 else f"{speed:g} times faster"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
