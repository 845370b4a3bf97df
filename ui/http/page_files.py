"""The folder of the pages' files."""

from pathlib import Path

ASSETS = Path(__file__).parents[1] / "assets"
