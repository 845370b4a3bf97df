"""Rules of the house that no linter knows: one clock, short functions and files, broad excepts only outermost."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("market", "streams", "store", "exchanges", "pricefeeds", "cep", "bots", "backtest", "ui", "notices", "launch")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
READS_TIME = re.compile(r"\b(time\.(time|time_ns|monotonic|sleep)|datetime\.(now|utcnow)|asyncio\.sleep)\b")
OUTERMOST = {"launch/process.py"}
LONGEST_FUNCTION = 40
LONGEST_FILE = 300


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


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
    assert name_of(path) == "market/clock.py" or not READS_TIME.search(text)
    assert name_of(path) in OUTERMOST or broad == []


def test_the_rules_see_what_they_forbid() -> None:
    assert READS_TIME.search("now = time.time()")
    assert READS_TIME.search("await asyncio.sleep(1)")
    assert not READS_TIME.search("await clock.sleep(1)")
