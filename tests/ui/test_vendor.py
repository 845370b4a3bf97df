import hashlib
import re
from pathlib import Path

import pytest

import ui

FOLDER = Path(ui.__file__).parent
FOR_TESTS = Path(__file__).parents[1] / "vendor"


@pytest.mark.parametrize(
    ("vendor", "name", "begins"),
    [
        (FOLDER / "vendor", "uplot/uPlot.iife.min.js", "19c8d4c6ad88929a"),
        (FOLDER / "vendor", "codemirror/codemirror.js", "a7aa70f76f730ea4"),
        (FOLDER / "vendor", "lightweight-charts/lightweight-charts.standalone.production.mjs", "1bb1ee79f9d4dd17"),
        (FOR_TESTS, "axe-core/axe.min.js", "29348999450cdf28"),
    ],
    ids=["pages", "editor", "candles", "tests"],
)
def test_what_is_vendored_is_what_was_published(vendor: Path, name: str, begins: str) -> None:
    lines = [line.split() for line in (vendor / "SHA256SUMS").read_text().splitlines()]
    listed = {file: digest for digest, file in lines}
    found = {str(path.relative_to(vendor)): path for path in vendor.rglob("*") if path.parent != vendor}
    present = {file: path for file, path in found.items() if path.is_file()}
    assert {file: hashlib.sha256(path.read_bytes()).hexdigest() for file, path in present.items()} == listed
    assert listed[name].startswith(begins)


def test_our_own_scripts_name_no_other_host() -> None:
    texts = {path.name: path.read_text() for path in (FOLDER / "assets").iterdir()}
    assert len(texts) >= 10
    # the name of a vocabulary, which nobody asks for
    others = {name: text.replace('"http://www.w3.org/2000/svg"', "") for name, text in texts.items()}
    assert not [name for name, text in others.items() if re.search(r"https?://", text)]
    assert not any("innerHTML" in text for text in texts.values())
