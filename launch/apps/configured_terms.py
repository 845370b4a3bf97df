"""What apps may use in a running session, read by each process that checks or runs them, from one file."""

import argparse
import os
from pathlib import Path

from cep.apps.functions.operator_terms import OperatorTerms
from launch.config.apps import operator_terms
from launch.config.configuration import read_configuration


def configured_terms(path: Path | None) -> OperatorTerms:
    """Return the terms of the file, under the environment's; None: of `arbitrage.toml`, if it is there. Raises
    CannotStartError."""
    config = read_configuration(path, os.environ)
    return operator_terms(config.apps, config.plain_text_hosts)


def process_words() -> argparse.ArgumentParser:
    """Return what reads the words of a process that the dashboard starts for apps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    return parser
