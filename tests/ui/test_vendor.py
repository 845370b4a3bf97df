import hashlib
import re
from pathlib import Path

import ui

FOLDER = Path(ui.__file__).parent
VENDOR = FOLDER / "vendor"


def test_what_is_vendored_is_what_was_published() -> None:
    lines = [line.split() for line in (VENDOR / "SHA256SUMS").read_text().splitlines()]
    listed = {name: digest for digest, name in lines}
    found = {str(path.relative_to(VENDOR)): path for path in VENDOR.rglob("*") if path.parent != VENDOR}
    present = {name: path for name, path in found.items() if path.is_file()}
    assert {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in present.items()} == listed
    assert listed["uplot/uPlot.iife.min.js"].startswith("19c8d4c6ad88929a")


def test_our_own_scripts_name_no_other_host() -> None:
    texts = {path.name: path.read_text() for path in (FOLDER / "assets").iterdir()}
    assert len(texts) >= 10
    assert not [name for name, text in texts.items() if re.search(r"https?://", text)]
    assert not any("innerHTML" in text for text in texts.values())
