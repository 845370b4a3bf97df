"""`arbitrage backup` and `arbitrage restore`."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from launch.commands.parser import Command
from launch.setup.data_dir import home_folder

INCLUDED = ("keys", "recordings", "sweeps", "ticks")

Echo = Callable[[str], None]


def add_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup, for example backup.tar.gz")
    parser.add_argument(
        "--include",
        choices=INCLUDED,
        action="append",
        default=[],
        help="take these in as well; may be repeated. keys: API keys and certificates, as plain text",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a file that is there")


def add_restore(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="what `arbitrage backup` wrote")


def backup_commands(echo: Echo) -> tuple[Command, ...]:
    return (
        Command(
            "backup",
            "copy the data folder into one file, running or not, and check it by restoring it",
            add_backup,
            partial(_backup, echo),
        ),
        Command(
            "restore", "put a backup into an empty data folder, and check it", add_restore, partial(_restore, echo)
        ),
    )


def _backup(echo: Echo, arguments: argparse.Namespace) -> int:
    from launch.backup.make import BackupOptions, run_backup

    options = BackupOptions(arguments.file, tuple(arguments.include), arguments.overwrite)
    return run_backup(home_folder(), options, echo)


def _restore(echo: Echo, arguments: argparse.Namespace) -> int:
    from launch.backup.restore import run_restore

    return run_restore(home_folder(), arguments.file, echo)
