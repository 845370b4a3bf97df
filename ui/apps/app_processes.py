"""The processes that the dashboard starts for stream apps, each a module with the words of its command."""

import sys
from pathlib import Path

TEXTS = "launch.apps.text_worker"
"""Checks texts."""
DRY_RUN = "launch.dry_runs.dry_run"


def configured(module: str, config: Path | None = None) -> tuple[str, ...]:
    """Return the command. `config`: the session's file; None: the default one of the working folder, as for the part
    that runs apps."""
    return (sys.executable, "-m", module, *(() if config is None else ("--config", str(config))))
