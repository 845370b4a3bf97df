"""The folder of the pages' files, and which of them a script needs."""

import re
from collections.abc import Iterable
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "assets"
_imported = re.compile(r'(?:from|import) "\./([\w.]+)"').findall


def module_chain(scripts: Iterable[str], folder: Path = ASSETS) -> tuple[str, ...]:
    """Return the modules of `folder` that these scripts and their imports import, the scripts first. A name that is no
    file of the folder imports nothing."""
    chain = list(scripts)
    for name in chain:
        text = (folder / name).read_text() if (folder / name).exists() else ""
        chain += [imported for imported in dict.fromkeys(_imported(text)) if imported not in chain]
    return tuple(chain)
