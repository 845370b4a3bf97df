"""The processes that the dashboard starts for stream apps and recordings, each a module with the words of its
command."""

import sys
from pathlib import Path

from ui.apps.dry_runs import DryRuns

TEXTS = "launch.apps.text_worker"
"""Checks texts."""
DRY_RUN = "launch.dry_runs.dry_run"
RECORDINGS = "launch.commands.recordings.recording_job"
SWEEPS = "launch.commands.recordings.sweep_job"
SWEEP_SECONDS = 3_600.0


def recording_jobs(home: Path) -> DryRuns:
    """Return the jobs of recordings: imports, and looks at tick sets."""
    command = (sys.executable, "-m", RECORDINGS)
    return DryRuns(home, command, "recording-jobs", "import it with `arbitrage import`")


def sweep_jobs(home: Path) -> DryRuns:
    """Return the sweeps that people asked for."""
    command = (sys.executable, "-m", SWEEPS)
    return DryRuns(home, command, "sweep-jobs", "try fewer values, or use `arbitrage sweep`", SWEEP_SECONDS)


def configured(module: str, config: Path | None = None) -> tuple[str, ...]:
    """Return the command. `config`: the session's file; None: the default one of the working folder, as for the part
    that runs apps."""
    return (sys.executable, "-m", module, *(() if config is None else ("--config", str(config))))
