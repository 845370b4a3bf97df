"""Paths of Unix sockets in a data folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

OPEN_FOLDERS = Path("/proc/self/fd")


@contextmanager
def short_path(home: Path, name: str, open_folders: Path = OPEN_FOLDERS) -> Iterator[str]:
    """Give a socket of a folder a short path: the kernel takes 107 bytes for it, macOS's 103, and data folders may have
    longer paths. Without `open_folders` it leads through a link in a folder that only this user can enter."""
    if open_folders.exists():
        folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
        try:
            yield f"{open_folders}/{folder}/{name}"
        finally:
            os.close(folder)
        return
    # not the folder of the environment: macOS's has a long path
    with TemporaryDirectory(dir="/tmp") as made:
        link = Path(made, "home")
        link.symlink_to(home.resolve(), target_is_directory=True)
        yield str(link / name)
