"""A data folder within the data folder: of real trading, or of one region."""

from pathlib import Path

from launch.setup.data_dir import make_private
from ui.auth.api_keys import ensure_api_key


def make_nested_home(home: Path, own: Path, shared: tuple[Path, ...] = ()) -> None:
    """Create it; jars, the dashboard's API key and `shared` files of the outer one are there as links."""
    make_private(own)
    for path in (home / "jars", ensure_api_key(home), *shared):
        link = own / path.name
        if not (link.exists() or link.is_symlink()):  # to a file that is not there yet, for example
            link.symlink_to(path)
