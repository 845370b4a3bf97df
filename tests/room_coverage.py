"""Prints how much of each room its tests ran: `coverage json -q -o - | python -m tests.room_coverage`."""

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

Lines = tuple[int, int]
"""Lines that were run, and all there are to run."""
DEEP = "cep/apps"
"""Rooms within it are counted apart."""


def lines_by_room(files: Mapping[str, Lines]) -> dict[str, Lines]:
    """Return the sums of each room, by name, from those of each file."""
    sums: defaultdict[str, Lines] = defaultdict(lambda: (0, 0))
    for path, (run, known) in files.items():
        room = "/".join(Path(path).parts[: 3 if path.startswith(f"{DEEP}/") else 1])
        sums[room] = sums[room][0] + run, sums[room][1] + known
    return dict(sorted(sums.items()))


def table(rooms: Mapping[str, Lines]) -> str:
    """Return a line for each room, and one for all."""
    total = sum(run for run, _ in rooms.values()), sum(known for _, known in rooms.values())
    return "".join(
        f"{name:<24}{run:>7,} of {known:>7,} lines {run / known:>7.1%}\n"
        for name, (run, known) in {**rooms, "all": total}.items()
        if known
    )


def main(report: str) -> None:
    """`report`: JSON, as coverage writes it."""
    counted = {path: one["summary"] for path, one in json.loads(report)["files"].items()}
    files = {path: (one["covered_lines"], one["num_statements"]) for path, one in counted.items()}
    sys.stdout.write(table(lines_by_room(files)))


if __name__ == "__main__":
    main(sys.stdin.read())
