"""Every app in `apps/`: its cases, that they show something, and that those on the product's streams can be hosted."""

import json
from pathlib import Path

import pytest

from cep.hosts.hosted_app import app_source
from cep.hosts.product_streams import parse_with_product_streams, read_streams
from launch.cli.main import run

FOLDER = Path(__file__).parents[2] / "apps"
APPS = sorted(FOLDER.glob("*.app"))
DOCS = Path(__file__).parents[2] / "docs" / "apps" / "running.md"


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.stem)
def test_its_cases_are_as_expected(app: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = app.with_suffix(".jsonl")
    assert run(["app", "test", str(app), str(cases)]) == 0
    assert "cases as expected" in capsys.readouterr().out
    rows = [len(json.loads(line)["expected"]["out"]) for line in cases.read_text().splitlines()]
    assert max(rows) > 0


@pytest.mark.parametrize("app", APPS, ids=lambda app: app.stem)
def test_it_is_named_as_its_file_and_in_the_docs(app: Path) -> None:
    text = app.read_text()
    assert f"@App:name('{app.stem}')" in text
    assert "@App:description(" in text
    assert f"`{app.stem}`" in DOCS.read_text()
    if read_streams(parse_with_product_streams(text)):
        assert app_source(text, "file").name == app.stem
