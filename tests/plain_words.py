"""Words of our own that this house has given up, each with the field's; `python -m tests.plain_words` finds them.

Looked for in the product's code, its page scripts, README.md and docs; not in records of decisions, nor in
CHANGELOG.md, whose table says what was renamed.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.house_rules import ROOMS, ROOT

OLD_TO_NEW = {
    r"blows?": "injected fault",
    r"ordeals?": "chaos run",
    r"misbehav\w+": "fault injection",
    r"re-?enact\w*": "raw replay",
    r"derived? again": "verify",
    r"hear and say|hears? and says?": "frames in, ticks out",
    r"forwent|forgone|forgoes": "missed profit",
    r"books balance": "ledger reconciled",
    r"brought": "realised P&L, or what it earned",
    r"profit in parts": "P&L attribution",
    r"deepest fall": "maximum drawdown",
    r"gross seen": "theoretical gross",
    r"wish(es)?": "request",
    r"begins nothing new": "reduce-only",
    r"half.reserved": "awaiting second leg",
    r"sees its orders through": "draining",
    r"standing by": "standby",
    r"expired unanswered": "expired",
    r"(never|always) (dis)?believed": "quarantine ceiling, floor",
    r"detection, row by row": "real-time query",
    r"has read to": "offset",
    r"rows taken": "processed",
    r"last sign(?! of a market)": "heartbeat",
    r"read anew": "resynced",
    r"anew": "again, from the start",
    r"unlike rest": "REST mismatch",
    r"settings bridge": "settings publisher",
    r"no arbitrage fits": "no matches",
    r"told": "reported, recorded, informed",
    r"other people's files": "third-party data",
}
OLD = {re.compile(rf"(?<![a-z])(?:{old})(?![a-z])", re.IGNORECASE): new for old, new in OLD_TO_NEW.items()}
"""Also in names, between underscores."""
IN_A_NAME = re.compile("(?<=[a-z])(?=[A-Z])")
RECORDS = "docs/adr/"


def texts(root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Name and content of every file that is looked at."""
    found = [root / "README.md", *(root / "docs").rglob("*.md")]
    for room in ROOMS:
        found += [path for kind in ("*.py", "*.js", "*.html") for path in (root / room).rglob(kind)]
    for path in sorted(found):
        name = path.relative_to(root).as_posix()
        if not name.startswith(RECORDS) and "vendor" not in path.parts:
            yield name, path.read_text()


def old_words(text: str) -> Iterator[tuple[int, str]]:
    """Line, and what to say instead."""
    text = IN_A_NAME.sub("_", text)
    for old, new in OLD.items():
        for found in old.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, f"{found[0]!r}: the field says {new}"


def main() -> int:
    found = [f"{name}:{line}: {what}\n" for name, text in texts() for line, what in old_words(text)]
    sys.stdout.writelines(found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
