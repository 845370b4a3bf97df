"""Rules of the house that no linter knows; `python -m tests.house_rules` names every place that breaks one.

One clock, one way to Decimals, short functions and files, few broad excepts, names that are found at once: no
two modules share folder and name, but for the errors of each room and the folders of exchanges; no two public classes
share a name.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from exchanges.catalogue import EXCHANGES

ROOT = Path(__file__).parents[1]
ROOMS = (
    *("market", "runtime", "wording", "session", "streams", "store", "exchanges", "simulators", "tick_sets"),
    *("pricefeeds", "cep", "bots", "backtest", "notices", "ui", "remote", "launch", "arbitrage"),
)
READS_TIME = re.compile(r"\b(time\.(time|time_ns|monotonic|sleep)|datetime\.(now|utcnow)|asyncio\.sleep)\b")
CLOCK = "runtime/clock.py"
OUTERMOST = {
    "launch/supervisor/process_main.py",
    "launch/published/worker_process.py",
    "cep/apps/functions/python_functions.py",
}
"""And places that call code of the operator, which may raise anything."""
MAKES_DECIMALS = {"market/money.py", "cep/apps/language/decimals.py"}
"""Money's, and that of the app engine, a library, with the same bounds."""
UNBOUNDS = re.compile(r"set_int_max_str_digits|PYTHONINTMAXSTRDIGITS|int_max_str_digits")
"""Python itself rejects whole numbers of more than 4,300 digits; who switched that off would bring hours back."""
LONGEST_FUNCTION = 40
LONGEST_FILE = 450
MOST_FILES = 24
"""In one folder. About fifteen are read at a glance; a family of like ones may be longer."""
DEEPEST = 3
"""Folders below the root."""
FAMILIES = {"__init__", "errors"}
"""Names of several modules: the errors of each room."""

Found = tuple[Path, int, str]
"""Where a rule is broken, and what is wrong there."""


@dataclass(frozen=True)
class Module:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.as_posix()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def all_nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def nodes(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        return (node for node in self.all_nodes if isinstance(node, kinds))


def modules(root: Path = ROOT) -> list[Module]:
    """All of the product."""
    paths = sorted(path for room in ROOMS for path in (root / room).rglob("*.py"))
    return [Module(path.relative_to(root), path.read_text()) for path in paths]


def too_long(module: Module) -> Iterator[Found]:
    for node in module.nodes(ast.FunctionDef, ast.AsyncFunctionDef):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION:
            yield module.path, node.lineno, f"{node.name} is longer than {LONGEST_FUNCTION} lines"
    if module.text.count("\n") > LONGEST_FILE:
        yield module.path, LONGEST_FILE, f"longer than {LONGEST_FILE} lines"


def broad_excepts(module: Module) -> Iterator[Found]:
    if module.name in OUTERMOST:
        return
    for node in module.nodes(ast.ExceptHandler):
        assert isinstance(node, ast.ExceptHandler)
        if node.type is None or ast.unparse(node.type) == "Exception":
            yield module.path, node.lineno, "catches everything; name what can be raised"


def clocks(module: Module) -> Iterator[Found]:
    if module.name != CLOCK:
        for found in READS_TIME.finditer(module.text):
            yield module.path, line_of(module, found), f"{found[0]}: only {CLOCK} reads time and sleeps"


def unbounded_decimals(module: Module) -> Iterator[Found]:
    """Something else than a number written there becomes a Decimal, by whatever name of it; or digits unlimited."""
    named = " and ".join(sorted(MAKES_DECIMALS))
    if module.name not in MAKES_DECIMALS:
        for node in module.nodes(ast.Call):
            assert isinstance(node, ast.Call)
            if makes_a_decimal(node.func) and (not all(map(is_written_there, node.args)) or node.keywords):
                yield module.path, node.lineno, f"only {named} make Decimals of what comes from outside"
    for found in UNBOUNDS.finditer(module.text):
        yield module.path, line_of(module, found), "Python's bound of digits stays"


def makes_a_decimal(function: ast.expr) -> bool:
    made = ("Decimal", "from_float", "from_number", "create_decimal", "create_decimal_from_float")
    # to write each call out again would take most of the time of all rules
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in made


def is_written_there(argument: ast.expr) -> bool:
    return all(
        isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop)
        for node in ast.walk(argument)
    )


def line_of(module: Module, found: re.Match[str]) -> int:
    return module.text.count("\n", 0, found.start()) + 1


def twice_named(all_modules: list[Module]) -> Iterator[Found]:
    """Modules, and public classes, that another has the name of."""
    first: dict[str, Path] = {}
    for module in all_modules:
        for name, line in names(module):
            if name in first:
                yield module.path, line, f"{first[name]} has a {name} as well"
            first.setdefault(name, module.path)


def names(module: Module) -> Iterator[tuple[str, int]]:
    """Return what nobody else may be called, each with its line."""
    folder = module.path.parent.name
    # folders of several rooms, with files of the same names in each
    if module.path.stem not in FAMILIES and folder not in EXCHANGES:
        yield f"module {folder}/{module.path.stem}", 1
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield f"class {node.name}", node.lineno


def crowded(all_modules: list[Module]) -> Iterator[Found]:
    """Folders that nobody reads at a glance, or that lie too deep."""
    folders = defaultdict(list)
    for module in all_modules:
        folders[module.path.parent].append(module.path)
    for folder, paths in folders.items():
        if len(paths) > MOST_FILES:
            yield folder, 0, f"{len(paths)} files; at most {MOST_FILES}"
        if len(folder.parts) > DEEPEST:
            yield folder, 0, f"deeper than {DEEPEST} folders"


RULES = (too_long, broad_excepts, clocks, unbounded_decimals)
RULES_OF_ALL = (twice_named, crowded)


def broken(all_modules: list[Module]) -> list[Found]:
    """Every place that breaks a rule."""
    one_by_one = [found for module in all_modules for rule in RULES for found in rule(module)]
    return one_by_one + [found for rule in RULES_OF_ALL for found in rule(all_modules)]


def main() -> int:
    found = broken(modules())
    for path, line, wrong in found:
        sys.stdout.write(f"{path}:{line}: {wrong}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
