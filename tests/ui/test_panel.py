"""The live panel's own files, read as text: what a browser would need a whole page to show."""

import re
from pathlib import Path

ASSETS = Path(__file__).parents[2] / "ui" / "assets"


def test_every_column_has_a_heading_to_see() -> None:
    heads = re.findall(r"<th [^>]*>(.*?)</th>", (ASSETS / "panel.html").read_text())
    assert len(heads) > 40
    assert not [head for head in heads if not head or "unseen" in head]


def test_only_cells_that_bots_trade_at_have_a_frame() -> None:
    rules = re.findall(r"^(\S*\.cell\S*) \{([^}]*)\}", (ASSETS / "panel.css").read_text(), re.MULTILINE)
    framed = [name for name, rule in rules if "outline" in rule or "border:" in rule]
    assert framed == [".cell.open"]
