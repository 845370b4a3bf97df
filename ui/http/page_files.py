"""Where the files lie that pages are made of."""

from pathlib import Path

ASSETS = Path(__file__).parents[1] / "assets"
