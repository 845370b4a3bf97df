"""How sweeps are shown: best sets, what each parameter did, the walk-forward split."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from backtest.sweep.parameter_grids import Grid, axis_of, range_of
from backtest.sweep.results import SetResult
from backtest.sweep.store import SweepDefinition
from backtest.sweep.tables import SweepTable, sweep_json, sweep_lines, table_of_sweep
from backtest.sweep.walk_forward import spans_of
from tests.backtest.sweep_samples import parameters_of
from tests.backtest.test_walk_forward import result

GRID = Grid((axis_of("a=0,1"), axis_of("b=0:2:1")))
DEFINITION = SweepDefinition("mine", Path("/ticks/set"), "abc", GRID, parameters_of(), None, {})


def results(nets: list[str], span: int = -1) -> list[SetResult]:
    points = list(GRID.points())
    return [replace(result(number, span, net), point=points[number]) for number, net in enumerate(nets)]


def table(found: list[SetResult], missing: int = 0) -> SweepTable:
    return table_of_sweep(DEFINITION, "USD", found, missing, ())


NETS = ["1", "5", "-2", "4", "9", "0"]


def test_the_best_come_first() -> None:
    document = sweep_json(table(results(NETS)))
    best = document["best"]
    assert isinstance(best, list)
    assert [one["set"] for one in best] == [4, 1, 3, 0, 5, 2]
    assert best[0]["parameters"] == {"a": "1", "b": "1"}
    lines = sweep_lines(table(results(NETS)))
    assert lines[0] == "sweep mine: 6 of 6 sets, money in USD"
    assert lines[lines.index("best by net profit") + 2].split() == [
        *("4", "9.00", "0.00", "1", "n/a", "n/a", "0.00", "a=1", "b=1")
    ]
    assert document["is_of_bars"] is False


def test_results_from_bars_are_marked_in_every_ranking() -> None:
    found = results(NETS)
    marked = replace(table(found), bars="from bars, one each 60 s")
    lines = sweep_lines(marked)
    assert lines[1] == "NOTE: from bars, one each 60 s"
    assert [line for line in lines if line.startswith(("best by", "smallest", "most trades"))] == [
        "best by net profit (from bars)",
        "smallest max drawdown among profitable sets (from bars)",
        "most trades (from bars)",
    ]
    assert sweep_json(marked)["is_of_bars"] is True


def test_bars_report_nothing_of_what_latency_costs() -> None:
    found = [replace(one, point=(("latency_ms", Decimal(10 * one.number)),)) for one in results(NETS)]
    grid = Grid((axis_of("latency_ms=0,10,20,30,40,50"),))
    swept = table_of_sweep(replace(DEFINITION, grid=grid), "USD", found, 0, ())
    words = "latency_ms: unknown from bars what latency below their spacing costs"
    assert words in sweep_lines(replace(swept, bars="from bars"))
    assert words not in sweep_lines(swept)


def test_figures_of_a_set_stand_beside_its_net() -> None:
    one = replace(
        results(NETS)[0], missed=Decimal("12.5"), return_on_capital=Decimal("0.0123"), sharpe=1.234, turnover=Decimal(7)
    )
    swept = table([one])
    lines = sweep_lines(swept)
    words = lines[lines.index("best by net profit") + 2].split()
    assert words[4:8] == ["1.23", "%", "1.23", "12.50"]
    document = sweep_json(swept)["results"]
    assert isinstance(document, list)
    reported = document[0]
    assert (reported["missed"], reported["return_on_capital"], reported["turnover"], reported["sortino"]) == (
        "12.5",
        "0.0123",
        "7",
        None,
    )


def test_an_effect_is_over_all_that_the_others_were() -> None:
    effects = table(results(NETS)).effects
    assert [(one.values, one.sets, one.mean_net, one.best_net) for one in effects["a"]] == [
        ("0", 3, Decimal("1.33"), Decimal(5)),
        ("1", 3, Decimal("4.33"), Decimal(9)),
    ]
    assert [one.mean_net for one in effects["b"]] == [Decimal("2.50"), Decimal("7.00"), Decimal("-1.00")]


def test_many_values_are_shown_in_groups() -> None:
    grid = Grid((), (range_of("a=0:100"),), draws=50)
    found = [
        replace(result(number, -1, str(dict(point)["a"])), point=point) for number, point in enumerate(grid.points())
    ]
    effects = table_of_sweep(replace(DEFINITION, grid=grid), "USD", found, 0, ()).effects["a"]
    assert [one.sets for one in effects] == [10] * 5
    assert [one.mean_net for one in effects] == sorted(one.mean_net for one in effects)


def test_what_makes_no_difference_is_said_so() -> None:
    lines = sweep_lines(table(results(["3"] * 6)))
    assert "a: makes no difference" in lines


def test_what_is_missing_and_what_was_left_out_is_said() -> None:
    lines = sweep_lines(table(results(NETS[:3]), missing=2))
    assert "not finished: 2 sets are missing; run the same command again to continue" in lines
    assert "skipped: 1 sets with inconsistent settings" in lines
    assert sweep_lines(table([], missing=6))[0] == "sweep mine: 0 of 6 sets, money in USD"


def test_books_that_do_not_balance_are_said() -> None:
    found = results(NETS)
    lines = sweep_lines(table([replace(found[0], is_balanced=False), *found[1:]]))
    assert "LEDGER NOT RECONCILED IN 1 SETS" in lines


def test_the_walk_forward_split_is_shown_beside_what_was_chosen() -> None:
    spans = spans_of(0, 29, 2)
    found = [
        *results(NETS),
        *results(["1", "0", "0", "0", "0", "0"], span=0),
        *results(["-3", "2", "0", "0", "0", "0"], span=1),
        *results(["7", "-5", "0", "0", "0", "0"], span=2),
    ]
    shown = table_of_sweep(replace(DEFINITION, folds=2), "USD", found, 0, spans)
    assert sweep_lines(shown)[-1] == (
        "in sample 3.00 USD: the chosen sets on their training spans; out of sample -8.00 USD: the same sets "
        "on the test spans, "
        "the figure to trust"
    )
    forward = sweep_json(shown)["walk_forward"]
    assert isinstance(forward, dict)
    assert (forward["in_sample"], forward["out_of_sample"]) == ("3", "-8")
    assert [(fold["set"], fold["training"], fold["test"]) for fold in forward["folds"]] == [
        (0, [0, 10], [10, 20]),
        (1, [10, 20], [20, 30]),
    ]
    assert json.loads(json.dumps(sweep_json(shown))) == sweep_json(shown)


def test_a_split_that_is_not_finished_is_not_shown() -> None:
    spans = spans_of(0, 29, 2)
    assert table_of_sweep(replace(DEFINITION, folds=2), "USD", results(NETS), 1, spans).forward is None
