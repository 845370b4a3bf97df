"""Rules of the house that no linter knows: one clock, one way to Decimals, short functions, few broad excepts."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("market", "session", "streams", "store", "exchanges", "simulators", "datasets", "pricefeeds", "cep", "bots"),
    *("backtest", "notices", "ui", "launch"),
)
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
READS_TIME = re.compile(r"\b(time\.(time|time_ns|monotonic|sleep)|datetime\.(now|utcnow)|asyncio\.sleep)\b")
OUTERMOST = {"launch/supervisor/process_main.py"}
MAKES_DECIMALS = "market/money.py"
UNBOUNDS = re.compile(r"set_int_max_str_digits|PYTHONINTMAXSTRDIGITS|int_max_str_digits")
"""Python itself refuses whole numbers of more than 4,300 digits; who switched that off would bring hours back."""
LONGEST_FUNCTION = 40
LONGEST_FILE = 450


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def unbounded_decimals(tree: ast.AST) -> list[int]:
    """Lines where something else than a number written there becomes a Decimal, by whatever name of it."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and makes_a_decimal(node.func)]
    return [call.lineno for call in calls if not all(map(is_written_there, call.args)) or call.keywords]


def makes_a_decimal(function: ast.expr) -> bool:
    name = ast.unparse(function).split(".")
    return name[-1] == "Decimal" or name[-1] in (
        "from_float",
        "from_number",
        "create_decimal",
        "create_decimal_from_float",
    )


def is_written_there(argument: ast.expr) -> bool:
    return all(
        isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        for node in ast.walk(argument)
    )


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_keeps_the_rules(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    too_long = [node.name for node in functions if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION]
    broad = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) == "Exception")
    ]
    assert too_long == []
    assert text.count("\n") <= LONGEST_FILE
    assert name_of(path) == "session/clock.py" or not READS_TIME.search(text)
    assert name_of(path) in OUTERMOST or broad == []
    assert name_of(path) == MAKES_DECIMALS or unbounded_decimals(tree) == []
    assert not UNBOUNDS.search(text)


def test_the_rules_see_what_they_forbid() -> None:
    assert READS_TIME.search("now = time.time()")
    assert READS_TIME.search("await asyncio.sleep(1)")
    assert not READS_TIME.search("await clock.sleep(1)")
    for line in ("Decimal(text)", "decimal.Decimal(str(x))", "Decimal.from_float(x)", "EXACT.create_decimal(x)"):
        assert unbounded_decimals(ast.parse(line)), line
    for line in (
        'Decimal("0.1")',
        "Decimal(10**9)",
        "Decimal(-1)",
        "number.to_decimal()",
        "list(map(decimal_of, rows))",
    ):
        assert not unbounded_decimals(ast.parse(line)), line
