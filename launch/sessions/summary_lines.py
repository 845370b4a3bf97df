"""The summary of a session as lines of text, with the words and digits of the pages. Pure."""

from collections.abc import Callable, Mapping

from exchanges.labels import exchange_name
from market.trade.arbitrages import PROFIT_PARTS as PARTS
from wording.labels import PROFIT_PARTS, reason_name, state_name
from wording.number_format import TENTH, money, number, worth

TITLE_WIDTH = 27
DECISIONS = {"expired": "expired before a decision"}
STEPS = {
    "detected_to_sent": "opportunity to sent",
    "filled_to_shown": "filled to shown",
    "filled_to_ended": "filled to ended",
}


REACH_LINES: Mapping[str, str] = {"within": "cycles within an exchange", "across": "cycles across exchanges"}


def summary_lines(summary: Mapping[str, object]) -> list[str]:
    """Return the lines; `summary`: the document of `--json`, which keeps every digit."""
    profit = _texts(summary["pnl"])
    currency = profit.get("currency", "")
    lines = [
        _line("quotes since ready", _counts(summary["quotes"], exchange_name)),
        _line("opportunities", _summed(summary["decisions"], decision_name)),
        *_cycles_found(summary.get("cycle_opportunities")),
        _line("episodes (price gaps)", _summed(summary["episodes"], decision_name)),
        _line("arbitrages by end state", _summed(summary["arbitrages"], state_name) + _single_legs(summary)),
        *_cycles(summary.get("arbitrages_by_legs")),
        *_reaches(summary.get("cycles_by_reach")),
        *_reasons(summary["rejections"], _texts(summary["rejected_profit"]), currency),
        _line("P&L attribution", _listed({PROFIT_PARTS[part]: money(profit[part], currency) for part in PARTS})),
    ]
    lines += _transfers(summary.get("transfers"))
    latencies = summary["latency_ms"]
    if isinstance(latencies, Mapping):
        lines += [_line(f"ms from tick to {stage}", _latencies(row)) for stage, row in latencies.items()]
    steps = summary.get("step_ms")
    if isinstance(steps, Mapping):
        lines += [_line(f"ms from {STEPS[step]}", _latencies(row)) for step, row in steps.items()]
    return [*lines, _verdict(summary)]


def _cycles(by_legs: object) -> list[str]:
    """Return a line for each number of legs of cycles that were traded."""
    rows = by_legs if isinstance(by_legs, Mapping) else {}
    return [
        _line(f"cycles of {legs} legs", _summed(states, state_name)) for legs, states in rows.items() if int(legs) > 2
    ]


def _reaches(by_reach: object) -> list[str]:
    """Return a line for those within an exchange, and one for those across several, where any were traded."""
    rows = by_reach if isinstance(by_reach, Mapping) else {}
    return [_line(REACH_LINES[reach], _summed(states, state_name)) for reach, states in rows.items() if states]


def _transfers(said: object) -> list[str]:
    """Return a line for transfers between exchanges, if any were decided on."""
    if not isinstance(said, Mapping) or not said["by_state"]:
        return []
    cost = worth(str(said["cost"]), str(said["currency"]))
    return [_line("transfers", f"{_summed(said['by_state'], state_name)}; cost {cost}, beside the P&L")]


def _cycles_found(found: object) -> list[str]:
    """Return a line for those that were found, if there are any."""
    return [_line("cycles found", f"{found:,}")] if isinstance(found, int) and found else []


def _verdict(summary: Mapping[str, object]) -> str:
    if summary["balanced"]:
        return "ledger reconciled"
    before, after = (_names(summary[when]) for when in ("balances_before", "balances_after"))
    unknown = ", ".join(sorted(exchange_name(name) for name in before ^ after))
    if summary["balance_differences"]:
        also = f"; the balances of {unknown} are unknown" if unknown else ""
        return f"LEDGER NOT RECONCILED: {summary['balance_differences']}{also}"
    return f"LEDGER NOT CHECKED: the balances of {unknown or 'all exchanges'} are unknown"


def _names(rows: object) -> set[str]:
    return {str(name) for name in rows} if isinstance(rows, Mapping) else set()


def _line(title: str, words: str) -> str:
    return f"{title:<{TITLE_WIDTH}} {words}"


def _counts(counts: object, name: Callable[[str], str]) -> str:
    found = counts.items() if isinstance(counts, Mapping) else ()
    return _listed({name(str(key)): f"{_whole(count):,}" for key, count in found})


def decision_name(outcome: str) -> str:
    return DECISIONS.get(outcome, state_name(outcome))


def _summed(counts: object, name: Callable[[str], str]) -> str:
    """Return the sum, and the parts that it is of."""
    parts = counts.values() if isinstance(counts, Mapping) else ()
    return f"{sum(map(_whole, parts)):,}: {_counts(counts, name)}" if parts else "none"


def _single_legs(summary: Mapping[str, object]) -> str:
    count = _whole(summary["single_legs"])
    return f"; a single leg completed or reversed in {count:,} (P&L part {PROFIT_PARTS['unwinding']})" if count else ""


def _reasons(rejections: object, missed: Mapping[str, str], currency: str) -> list[str]:
    """Return one line per reason, the most frequent first. Counts are of sightings, missed profit is of episodes."""
    counts = (
        {str(reason): _whole(count) for reason, count in rejections.items()} if isinstance(rejections, Mapping) else {}
    )
    reasons = sorted(counts.keys() | missed.keys(), key=lambda reason: (-counts.get(reason, 0), reason))
    if not reasons:
        return [_line("rejection reasons", "none")]
    width = max(len(reason_name(reason)) for reason in reasons)
    digits = max(len(f"{count:,}") for count in counts.values()) if counts else 1
    return ["rejection reasons"] + [
        f"  {reason_name(reason):<{width}}  {counts.get(reason, 0):>{digits},}"
        f"  missed profit {worth(missed.get(reason, '0'), currency)}"
        for reason in reasons
    ]


def _latencies(row: object) -> str:
    if not isinstance(row, Mapping):
        return "not measured"
    return _listed({str(share): number(float(value), TENTH) for share, value in row.items()})


def _listed(rows: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in rows.items()) or "none"


def _texts(rows: object) -> dict[str, str]:
    return {str(name): str(value) for name, value in rows.items()} if isinstance(rows, Mapping) else {}


def _whole(count: object) -> int:
    return count if isinstance(count, int) else 0
