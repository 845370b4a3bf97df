"""Runs the code of a notebook, cell by cell in one namespace: `python -m tests.arbitrage.run_notebook FILE`.

What a kernel adds (pictures in the page, magic commands) the notebooks do not need.
"""

import json
import sys
from pathlib import Path

from matplotlib import use


def cells(path: Path) -> list[str]:
    """Return the source of each code cell."""
    found = json.loads(path.read_text())["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def main(words: list[str]) -> None:
    path = Path(words[0])
    use("Agg")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for number, source in enumerate(cells(path), 1):
        exec(compile(source, f"{path.name}, cell {number}", "exec"), namespace)


if __name__ == "__main__":
    main(sys.argv[1:])
