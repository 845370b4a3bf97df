"""The results of a sweep as text and JSON: best sets, the effect of each parameter, the walk-forward split."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from backtest.report.figure_format import CANNOT_TELL, share_words
from backtest.sweep.deflated_sharpe import DeflatedSharpe, deflated_sharpe
from backtest.sweep.results import WHOLE, SetResult, best_first
from backtest.sweep.store import SweepDefinition
from backtest.sweep.walk_forward import Fold, Span, WalkForward, walk_forward
from market.money import ZERO, optional_text, text_of, total

SHOWN = 10
"""Sets in each table."""
MAX_VALUES = 12
"""Values of one parameter with a row each; more of them are shown in GROUPS of equal counts."""
GROUPS = 5
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Effect:
    """All sets with one value, or values of one range, of one parameter."""

    values: str
    sets: int
    mean_net: Decimal
    best_net: Decimal
    mean_drawdown: Decimal
    mean_trades: float


@dataclass(frozen=True, slots=True)
class SweepTable:
    """The data of `--show`. `results`: of the whole tick set, by number of the set."""

    definition: SweepDefinition
    currency: str
    results: tuple[SetResult, ...]
    missing: int
    """Sets whose chunk is not finished."""
    forward: WalkForward | None
    bars: str | None = None
    """A note on results from bars; None if they are from quotes."""

    @property
    def skipped(self) -> int:
        """Return sets with inconsistent settings."""
        return self.definition.grid.size - self.missing - len(self.results)

    @property
    def deflated(self) -> DeflatedSharpe | None:
        """Return whether the best set is more than luck; None before all sets are finished."""
        return None if self.missing else deflated_sharpe(self.results)

    @property
    def effects(self) -> dict[str, list[Effect]]:
        """Return parameter → the effect of its values, over all values of the others."""
        return {name: _effects(name, self.results) for name in self.definition.grid.names}


def table_of_sweep(
    definition: SweepDefinition, currency: str, found: Sequence[SetResult], missing: int, spans: Sequence[Span]
) -> SweepTable:
    """Return the table. `found`: of every span and of the whole; `spans` empty without a walk-forward split."""
    whole = tuple(result for result in found if result.span == WHOLE)
    forward = None
    if spans and whole and not missing:
        by_span = {span.number: [result for result in found if result.span == span.number] for span in spans}
        forward = walk_forward(spans, by_span)
    return SweepTable(definition, currency, whole, missing, forward)


def sweep_lines(table: SweepTable) -> list[str]:
    """Return the lines that `arbitrage sweep` prints."""
    lines = _head_lines(table)
    if not table.results:
        return lines
    mark = "" if table.bars is None else " (from bars)"
    for title, ordered in _rankings(table.results):
        lines += ["", f"{title}{mark}", *_set_lines(ordered[:SHOWN])]
    lines += _deflated_lines(table.deflated)
    for name, effects in table.effects.items():
        lines += ["", *_effect_lines(name, effects, is_of_bars=table.bars is not None)]
    if table.forward is not None:
        lines += ["", *_forward_lines(table.forward, table.currency)]
    return lines


def _head_lines(table: SweepTable) -> list[str]:
    grid = table.definition.grid
    lines = [f"sweep {table.definition.name}: {len(table.results):,} of {grid.size:,} sets, money in {table.currency}"]
    if table.bars is not None:
        lines.append(f"NOTE: {table.bars}")
    if table.missing:
        lines.append(f"not finished: {table.missing:,} sets are missing; run the same command again to continue")
    if table.skipped:
        lines.append(f"skipped: {table.skipped:,} sets with inconsistent settings")
    unbalanced = sum(not result.is_balanced for result in table.results)
    if unbalanced:
        lines.append(f"LEDGER NOT RECONCILED IN {unbalanced:,} SETS")
    return lines


def sweep_json(table: SweepTable) -> dict[str, object]:
    """Return the document of `--json`; money as decimal strings, times in microseconds UTC. Depends only on the
    results."""
    definition = table.definition
    document: dict[str, object] = {
        "name": definition.name,
        "tick_set": definition.tick_set.name,
        "fingerprint": definition.fingerprint,
        "currency": table.currency,
        "is_of_bars": table.bars is not None,
        "sets": definition.grid.size,
        "finished": len(table.results),
        "missing": table.missing,
        "skipped": table.skipped,
        "seed": definition.grid.seed,
        "best": [_set_json(result) for result in best_first(table.results)[:SHOWN]],
        "deflated_sharpe": _deflated_json(table.deflated),
        "effects": {name: [_effect_json(effect) for effect in found] for name, found in table.effects.items()},
        "walk_forward": None if table.forward is None else _forward_json(table.forward),
        "results": [_set_json(result) for result in table.results],
    }
    return document


def _rankings(results: Sequence[SetResult]) -> Iterable[tuple[str, list[SetResult]]]:
    yield "best by net profit", best_first(results)
    # a set that never trades has no drawdown, so only profitable sets are ranked
    profitable = [result for result in results if result.net > 0]
    if profitable:
        yield (
            "smallest max drawdown among profitable sets",
            sorted(profitable, key=lambda result: (result.drawdown, -result.net, result.number)),
        )
    yield "most trades", sorted(results, key=lambda result: (-result.trades, -result.net, result.number))


def _set_lines(results: Sequence[SetResult]) -> list[str]:
    has_cycles = any(result.cycles for result in results)
    trades = f"{'trades':>8}" + (f" {'cycles':>8}" if has_cycles else "")
    figures = f"{'net':>14} {'max drawdown':>12} {trades} {'return':>10} {'Sharpe':>8} {'missed profit':>14}"
    head = f"  {'set':>6} {figures}  parameters"
    return [
        head,
        *(
            f"  {result.number:>6} {result.net:>14.2f} {-result.drawdown:>z12.2f} {result.trades:>8}"
            f"{f' {result.cycles:>8}' if has_cycles else ''}"
            f" {_return(result):>10} {_sharpe(result):>8} {result.missed:>14.2f}  {_parameters(result)}"
            for result in results
        ),
    ]


def _return(result: SetResult) -> str:
    return "n/a" if result.return_on_capital is None else share_words(result.return_on_capital)


def _sharpe(result: SetResult) -> str:
    return "n/a" if result.sharpe is None else f"{result.sharpe:z.2f}"


def _parameters(result: SetResult) -> str:
    return " ".join(f"{name}={text_of(value)}" for name, value in result.point)


def _effects(name: str, results: Sequence[SetResult]) -> list[Effect]:
    by_value: dict[Decimal, list[SetResult]] = {}
    for result in results:
        by_value.setdefault(dict(result.point)[name], []).append(result)
    values = sorted(by_value)
    if len(values) <= MAX_VALUES:
        return [_effect(text_of(value), by_value[value]) for value in values]
    ordered = [(value, result) for value in values for result in by_value[value]]
    return [
        _effect(f"{text_of(group[0][0])} to {text_of(group[-1][0])}", [result for _, result in group])
        for group in _groups(ordered)
    ]


def _groups(ordered: Sequence[tuple[Decimal, SetResult]]) -> Iterable[Sequence[tuple[Decimal, SetResult]]]:
    edges = [len(ordered) * number // GROUPS for number in range(GROUPS + 1)]
    return (ordered[start:end] for start, end in pairwise(edges))


def _effect(values: str, results: Sequence[SetResult]) -> Effect:
    count = len(results)
    return Effect(
        values=values,
        sets=count,
        mean_net=_mean(result.net for result in results),
        best_net=max((result.net for result in results), default=ZERO),
        mean_drawdown=_mean(result.drawdown for result in results),
        mean_trades=sum(result.trades for result in results) / count,
    )


def _mean(amounts: Iterable[Decimal]) -> Decimal:
    found = list(amounts)
    return (total(found) / len(found)).quantize(CENT)


def _effect_lines(name: str, effects: list[Effect], *, is_of_bars: bool) -> list[str]:
    if is_of_bars and name.startswith(("latency_ms", "decision_ms")):
        return [f"{name}: {CANNOT_TELL} what latency below their spacing costs"]
    if len(effects) > 1 and len({(one.mean_net, one.best_net, one.mean_trades) for one in effects}) == 1:
        return [f"{name}: makes no difference"]
    head = f"  {'value':>24} {'sets':>6} {'mean net':>14} {'best net':>14} {'mean drawdown':>14} {'mean trades':>12}"
    return [
        f"{name}: over all values of the other parameters",
        head,
        *(
            f"  {one.values:>24} {one.sets:>6} {one.mean_net:>14.2f} {one.best_net:>14.2f} {-one.mean_drawdown:>z14.2f}"
            f" {one.mean_trades:>12.1f}"
            for one in effects
        ),
    ]


def _deflated_lines(found: DeflatedSharpe | None) -> list[str]:
    if found is None:
        return []
    luck = f"the best of {found.tries:,} tries would show by luck"
    return [
        "",
        f"deflated Sharpe ratio: set {found.set_number} is better than {luck} with probability {found.probability:.3f}",
    ]


def _deflated_json(found: DeflatedSharpe | None) -> dict[str, object] | None:
    if found is None:
        return None
    return {
        "set": found.set_number,
        "tries": found.tries,
        "of_luck": round(found.of_luck, 6),
        "probability": round(found.probability, 6),
    }


def _forward_lines(forward: WalkForward, currency: str) -> list[str]:
    folds = [
        f"  {fold.test.number:>6} {fold.chosen.net:>14.2f} {fold.tested.net:>14.2f}  set {fold.chosen.number}:"
        f" {_parameters(fold.chosen)}"
        for fold in forward.folds
    ]
    return [
        "walk-forward: each span is traded with the best set of the span before it",
        f"  {'span':>6} {'in sample':>14} {'out of sample':>14}  chosen",
        *folds,
        f"in sample {forward.in_sample:.2f} {currency}: the chosen sets on their training spans;"
        f" out of sample {forward.out_of_sample:.2f} {currency}: the same sets on the test spans, the figure to trust",
    ]


def _forward_json(forward: WalkForward) -> dict[str, object]:
    return {
        "in_sample": text_of(forward.in_sample),
        "out_of_sample": text_of(forward.out_of_sample),
        "folds": [_fold_json(fold) for fold in forward.folds],
    }


def _fold_json(fold: Fold) -> dict[str, object]:
    return {
        "training": [fold.training.start, fold.training.end],
        "test": [fold.test.start, fold.test.end],
        "set": fold.chosen.number,
        "parameters": {name: text_of(value) for name, value in fold.chosen.point},
        "in_sample": text_of(fold.chosen.net),
        "out_of_sample": text_of(fold.tested.net),
    }


def _set_json(result: SetResult) -> dict[str, object]:
    return {
        "set": result.number,
        "parameters": {name: text_of(value) for name, value in result.point},
        "opportunities": result.opportunities,
        "trades": result.trades,
        "cycles": result.cycles,
        "rejected": result.rejected,
        "pnl": {name: text_of(amount) for name, amount in result.profit.items()},
        "drawdown": text_of(result.drawdown),
        "missed": text_of(result.missed),
        "return_on_capital": optional_text(result.return_on_capital),
        "turnover": optional_text(result.turnover),
        "marked_gain": optional_text(result.marked_gain),
        "sharpe": None if result.sharpe is None else round(result.sharpe, 6),
        "sortino": None if result.sortino is None else round(result.sortino, 6),
        "balanced": result.is_balanced,
        "digest": result.digest,
    }


def _effect_json(effect: Effect) -> dict[str, object]:
    return {
        "values": effect.values,
        "sets": effect.sets,
        "mean_net": text_of(effect.mean_net),
        "best_net": text_of(effect.best_net),
        "mean_drawdown": text_of(effect.mean_drawdown),
        "mean_trades": effect.mean_trades,
    }
