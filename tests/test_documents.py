"""The documents name files, functions, settings and keys that exist, and all settings and keys are documented."""

import ast
import re
import tomllib
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from exchanges.catalogue import EXCHANGES, all_facts, wire_of
from launch.config.configuration import Configuration
from market.decide.settings import Settings
from tests import house_rules

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
INDEX = DOCS / "adr" / "README.md"
PAGES = (ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "apps").glob("*.md")), INDEX)
DECISIONS = tuple(sorted((DOCS / "adr").glob("[0-9]*.md")))
STATUS = re.compile(
    r"# (\d+)\. (?P<title>.+)\n\nStatus: (?P<status>(accepted|superseded by \d{4}), \d{4}-\d\d-\d\d"
    r"(; amended by \d{4}(, \d{4})*)?)\n"
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {one["name"]: one["layers"] for one in PROJECT["tool"]["importlinter"]["contracts"] if "layers" in one}
ROOMS = tuple(PROJECT["tool"]["importlinter"]["root_packages"])
FOLDERS = (*ROOMS, "tests", "benchmarks", "docker", "deploy", "docs")
OF_OTHERS = ("ARBITRAGE_", "MATCH_")
"""Beginnings of names in capitals that no code defines: variables that users name, and a word of SQL."""


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS, ROOT / "CHANGELOG.md"], ids=name_of)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_path_exists(page: Path) -> None:
    named = re.findall(r"`([a-z]\w*/[\w./-]*)`", page.read_text())
    assert [path for path in named if path.split("/")[0] in FOLDERS and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("decision", DECISIONS, ids=name_of)
def test_a_decision_has_a_status_and_stands_with_it_in_the_index(decision: Path) -> None:
    number = decision.name[:4]
    found = STATUS.match(decision.read_text())
    assert found, f"begin with '# {int(number)}. TITLE', an empty line and 'Status: accepted, YYYY-MM-DD'"
    assert int(found[1]) == int(number)
    later = [one for one in re.findall(r"\b\d{4}\b(?!-)", found["status"]) if not list(DOCS.glob(f"adr/{one}-*.md"))]
    assert later == [], "the status names a decision that is not there"
    assert f"| [{number}]({decision.name}) | {found['title']} | {found['status']} |" in INDEX.read_text()


def test_constants_that_pages_and_docstrings_name_are_in_the_code() -> None:
    """A name that was changed in the code alone leads nowhere."""
    sources = {path: path.read_text() for room in (*ROOMS, "tests") for path in (ROOT / room).rglob("*.py")}
    known = {
        one
        for text in sources.values()
        for one in re.findall(r"\b[A-Z]+(?:_[A-Z0-9]+)+\b", re.sub(r"`[^`\n]*`", "", text))
    }
    named = {
        (name_of(path), one)
        for path, text in (sources | {page: page.read_text() for page in PAGES}).items()
        for one in re.findall(r"`([A-Z]+(?:_[A-Z0-9]+)+)`", text)
    }
    assert {(path, one) for path, one in named if one not in known and not one.startswith(OF_OTHERS)} == set()


def test_the_example_of_a_change_asks_for_the_version_that_it_sends() -> None:
    """A version in the text is wrong as soon as anybody has changed a setting."""
    page = (DOCS / "rest.md").read_text()
    assert "If-Match: $VERSION" in page
    assert not re.search(r'If-Match: "?\d', page)


def test_the_newest_version_of_the_changelog_is_the_products() -> None:
    unreleased, newest = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[:2]
    assert (unreleased, newest) == ("Unreleased", PROJECT["project"]["version"])
    images = yaml.safe_load((ROOT / "deploy/kubernetes/kustomization.yaml").read_text())["images"]
    assert [one["newTag"] for one in images if one["name"] == "arbitrage"] == [newest]


def test_a_commit_is_checked_with_the_commands_of_make_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    wanted = [line.strip().replace("$(BIN)/", ".venv/bin/") for line in recipe[1].splitlines()]
    assert [hook["entry"] for hook in hooks] == wanted
    assert all(hook["pass_filenames"] is False for hook in hooks), "only what changed would be looked at"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_module_exists(page: Path) -> None:
    named = re.findall(rf"(?:`|python -m )((?:{'|'.join((*ROOMS, 'tests', 'benchmarks'))})\.[\w.]+)", page.read_text())
    assert [name for name in named if name not in NO_MODULES and not is_module(name)] == []


NO_MODULES = {"exchanges.yaml", "exchanges.json", "session.logon", "arbitrage.toml"}
"""Files, and a call of Binance's."""


def is_module(name: str) -> bool:
    """Whether it is a package, a module, or what one has in it."""
    path = ROOT / name.replace(".", "/")
    files = (
        path / "__init__.py",
        path.with_suffix(".py"),
        path.parent.with_suffix(".py"),
        path.parents[1].with_suffix(".py"),
    )
    return any(file.exists() for file in files)


@cache
def defined_in(path: str) -> frozenset[str]:
    """Functions, classes, and methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {name for one in methods for name in (one.name, f"{node.name}.{one.name}")}
    return frozenset(found)


def test_the_walkthrough_names_functions_of_the_files_that_it_names() -> None:
    steps = re.findall(r"`([\w/]+\.py)`\s+`([A-Za-z_][\w.]*)`", (DOCS / "walkthrough.md").read_text())
    assert len(steps) > 20
    assert [(path, name) for path, name in steps if name not in defined_in(path)] == []


def rows(page: str) -> list[list[str]]:
    """Cells of the table rows that begin with a name in backticks."""
    lines = re.findall(r"^\| `.*\|$", (DOCS / page).read_text(), re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_setting_is_documented_with_its_default() -> None:
    documented = {row[0].strip(" `"): row[1] for row in rows("tuning.md")}
    fields = {name: field for name, field in Settings.model_fields.items() if name != "version"}
    assert set(documented) == set(fields)
    for name, field in fields.items():
        if isinstance(field.default, str):
            assert documented[name].startswith(f"`{field.default}`"), name
        elif field.get_default(call_default_factory=True) in ((), {}):
            assert documented[name] == "none", name
        elif not field.is_required():
            assert Decimal(documented[name].replace(",", "")) == Decimal(str(field.default)), name


def test_every_key_of_the_configuration_is_documented_with_its_default() -> None:
    page = (DOCS / "configuration.md").read_text()
    assert [name for name in Configuration.model_fields if not re.search(rf"\b{name}\b", page)] == []
    block = page.partition("```toml\n")[2].partition("```")[0]
    defaults = "\n".join(line for line in block.splitlines() if "# example" not in line)
    assert Configuration.model_validate(tomllib.loads(defaults)) == Configuration()


def test_the_table_of_shared_connections_has_what_feeds_do() -> None:
    section = (DOCS / "exchanges.md").read_text().partition("## Feeds of many markets")[2].partition("\n## ")[0]
    labels = {facts.label: facts.name for facts in all_facts()}
    documented = {
        labels.get(name, re.sub(r"\W", "", name).lower()): int(number)
        for names, number in re.findall(r"^\| ([\w ,]+) \| (\d+) \|", section, re.MULTILINE)
        for name in names.split(", ")
    }
    sharing = {name: wire_of(name).sharing for name in documented}
    assert documented == {name: shared.symbols for name, shared in sharing.items() if shared is not None}
    assert len(documented) == 8


def levels(layers: Iterable[str]) -> dict[str, int]:
    """Return module → its layer in a contract, 0 on top."""
    return {name.strip(): level for level, layer in enumerate(layers) for name in layer.split("|")}


def test_the_table_of_folders_is_complete_and_in_the_order_of_the_contracts() -> None:
    table = {
        row[0].strip(" `/"): re.findall(r"\w+", "".join(re.findall("`(.*?)`", row[1])))
        for row in (row for row in rows("architecture.md") if row[0].endswith("/`"))
    }
    assert set(table) == set(ROOMS)
    for room, chapters in table.items():
        folders = {path.parent.name for path in (ROOT / room).glob("*/__init__.py")}
        if room in ("exchanges", "simulators"):
            folders -= set(EXCHANGES)
        assert set(chapters) == folders - {"script"}, room
        level = levels(CONTRACTS.get(room, ()))
        known = [level[f"{room}.{chapter}"] for chapter in chapters if f"{room}.{chapter}" in level]
        assert all(above <= below for above, below in pairwise(known)), room


def test_a_room_is_packaged_typed_and_in_each_list() -> None:
    """One that is not packaged works here, where Python finds it, and nowhere else."""
    tools = PROJECT["tool"]
    assert set(ROOMS) == set(house_rules.ROOMS)
    assert {room for room in ROOMS if (ROOT / room / "py.typed").exists()} == set(ROOMS)
    assert tools["setuptools"]["packages"]["find"]["include"] == [f"{room}*" for room in ROOMS]
    assert tools["ruff"]["lint"]["isort"]["known-first-party"] == [*ROOMS, "tests"]
    assert sorted(levels(CONTRACTS["Rooms: who may import whom"])) == sorted(ROOMS)


def test_no_conflict_of_a_merge_is_left() -> None:
    """In a text within quotes, and in documents, no other tool sees one."""
    folders = [*ROOMS, "tests", "benchmarks", "docs", "deploy", "docker", "findings"]
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md", ".sh", ".yaml")
    ]
    conflict = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert len(files) > 1000
    assert [path for path in files if conflict.search(path.read_text())] == []
